"""The session of a request that comes without its id, found by the content of the conversation.

Law: an answer selects the session whose decisions, pins and originals apply, and nothing else. Two conversations are
joined only by content that both cannot have by chance. The store holds hashes of that content, never a text.

See docs/adr/0014-which-session.md.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

from undrift.core.text.refs import message_id
from undrift.errors import StoreError, WireError
from undrift.stores.base import KnownMark, Mark, MarkKind
from undrift.stores.contract import Store
from undrift.window.request import Request
from undrift.wire import raw
from undrift.wire.form import Form, View

__all__ = ["How", "Recognised", "TAIL", "chain", "given_id", "note", "note_answer", "recognise"]

How = Literal["given", "known", "beginning", "continued", "new"]
"""How a session was found.

- ``given``: the client sent the id.
- ``known``: a later request of the session ended in this history.
- ``beginning``: its first request ended in this history, and the session has no later one.
- ``continued``: the history holds answers of the model that only that session has seen.
- ``new``: none of these.
"""

TAIL = 32
"""Items at the end of a history whose answers are noted with each request: more than any client resends as one turn."""

_CHUNK = 512  # marks looked up at once, newest first
_SHORTEST_CALL_ID = 8  # a shorter id is a number or a placeholder, and other conversations have it as well
_SHORTEST_ANSWER = 120  # characters: "Ok." and "Hello! How can I help you today?" are said in every conversation
_PLAIN = re.compile(r"[A-Za-z0-9._@-]{1,128}")


@dataclass(frozen=True, slots=True)
class Recognised:
    """The session that a request belongs to, and how it was found.

    Args:
        session_id: For `Session.open`: ``FORM:ID`` if the client sent an id, else ``auto-`` and 16 hexadecimal digits.
        newest_id: Chain id of the newest item; empty if the history was not looked at.
        fault: Why the store could not take note of this request; empty: it could. The answer holds nevertheless.
        is_dressed: Whether the client has changed the newest message of an earlier request since it was sent.
    """

    session_id: str
    how: How
    newest_id: str = ""
    fault: str = ""
    is_dressed: bool = False


@dataclass(frozen=True, slots=True)
class _Owner:
    """A session, and the place in the history that shows it.

    Args:
        at: Number of the newest item that the session is known to have, or that has one of its answers.
        is_noted: Whether the session knows this whole request.
    """

    session_id: str
    how: How
    at: int
    is_noted: bool = False
    is_dressed: bool = False


def recognise(store: Store, form: Form, request: Request) -> Recognised:
    """Find the session of a request, and store marks of the request so that the next one is found.

    A request whose history is held by the provider (``previous_response_id``) is known by that field alone.

    `request`: with its whole history. Raises WireError: the history has the wrong shape. Raises StoreError: the
    store cannot be read.
    """
    if (given := given_id(form, request.fields)) is not None:
        return Recognised(given, "given")
    if (held := form.delta(request.fields)) is not None:
        return Recognised(_derived(form, "held", raw.encode(request.fields.get(held), held, ordered=True).hex()), "new")
    if not request.raws:
        request.open()
    ids = chain(form, request)
    for attempt in count():
        found = _found(store, form, request, ids, attempt)
        known = Recognised(found.session_id, found.how, ids[-1], is_dressed=found.is_dressed)
        try:
            if found.is_noted or _noted(store, form, request, found, ids):
                return known
        except StoreError as error:
            return replace(known, fault=str(error))
        # Another conversation with the same beginning was faster: that session is no longer at its beginning.
    raise AssertionError  # counting does not end


def note(store: Store, session_id: str, form: Form, newest_id: str, tail: Iterable[tuple[bytes, View]]) -> None:
    """Store marks of a later request; the session and its history are known.

    A side conversation without an answer is skipped: it could be the beginning of another session.

    `newest_id`: chain id of the newest item. `tail`: the last `TAIL` items, each with its `Form.digest` and
    `Form.read`. Raises StoreError: nothing was noted; older marks still lead to the session.
    """
    known = list(tail)
    if any(view.role == "assistant" for _, view in known):
        store.add_marks(session_id, [*_answer_marks(form, known), Mark(_chain_mark(form, newest_id), "turn")])


def note_answer(store: Store, session_id: str, form: Form, before_id: str, text: str) -> None:
    """Store a mark of the answer to a session's first request.

    A client may have dressed the newest message of that request: then neither the request nor a call shows the session.
    But the answer and everything before that message do.

    `before_id`: chain id of the item before the newest one; empty without any. Raises StoreError: nothing was noted.
    """
    if len(text.strip()) >= _SHORTEST_ANSWER:
        store.add_marks(session_id, [Mark(_reply_mark(form, before_id, text), "answer")])


def chain(form: Form, request: Request) -> list[str]:
    """Return the chain id of each item of an opened request, as a session's decisions name them (ADR 0009).

    Raises WireError: an item is no object.
    """
    ids: list[str] = []
    for number in range(len(request.given)):
        item = request.load(number)
        if not isinstance(item, Mapping):
            path = f"{form.HISTORY}[{number}]"
            raise WireError(f"must be an object, not {type(item).__name__}", path=path)
        ids.append(message_id(ids[-1] if ids else "", form.digest(item)))
    return ids


def given_id(form: Form, fields: Mapping[str, Any]) -> str | None:
    """Return the session that the client names in the body, or None. It is safe as text and differs from derived ids."""
    given = form.session_id(fields)
    if not given:
        return None
    return f"{form.NAME}:{given}" if _PLAIN.fullmatch(given) else f"{form.NAME}#{_hash(form.NAME, 'given', given)}"


def _found(store: Store, form: Form, request: Request, ids: Sequence[str], attempt: int) -> _Owner:
    """Return the session, how it was found, and where the history shows it."""
    last = len(ids) - 1
    births: list[tuple[KnownMark, int]] = []
    dressed: _Owner | None = None
    for known, at in _points(store, form, ids):
        if known.mark.kind == "turn":
            return _Owner(known.session_id, "known", at, is_noted=at == last)
        if known.mark.kind == "birth":
            births.append((known, at))
        elif known.mark.kind == "before" and known.sessions == 1 and at + 2 < last and not births:
            dressed = _Owner(known.session_id, "known", at, is_dressed=True)
            break
    for birth, at in births:
        if not birth.has_turns:
            return _Owner(birth.session_id, "beginning", at, is_noted=at == last)
    if dressed is None and (answered := _by_answers(store, form, request)) is not None:
        return _Owner(answered, "continued", last)
    replied = _by_reply(store, form, request, ids)
    if newest := max(filter(None, (dressed, replied)), key=lambda found: found.at, default=None):
        return newest
    namesakes = births[0][0].sessions if births and births[0][1] == last else 0
    return _Owner(_derived(form, ids[-1], str(namesakes + attempt)), "new", last)


def _points(store: Store, form: Form, ids: Sequence[str]) -> Iterator[tuple[KnownMark, int]]:
    """Yield the known points of a history, the newest first, each with the number of its item."""
    end, start = len(ids), max(0, len(ids) - TAIL)  # the end of the last request is nearly always in this tail
    while end:
        places = {_chain_mark(form, ids[number]): number for number in range(start, end)}
        known = [(one, places[one.mark.text]) for one in store.find_marks(list(places))]
        yield from sorted(known, key=lambda found: (found[1], found[0].mark.kind), reverse=True)
        end, start = start, max(0, start - _CHUNK)


def _by_answers(store: Store, form: Form, request: Request) -> str | None:
    """Return the only session that has seen answers of this history. None means: no session, or several."""
    texts = dict.fromkeys(text for one in _items(form, request, len(request.given)) for text in _answers(form, *one))
    known = store.find_marks(list(texts)[-_CHUNK:]) if texts else ()
    owners = {one.session_id for one in known if one.mark.kind == "answer" and one.sessions == 1}
    return owners.pop() if len(owners) == 1 else None


def _by_reply(store: Store, form: Form, request: Request, ids: Sequence[str]) -> _Owner | None:
    """Return the only session that got an answer of this history to its first request. See `note_answer`."""
    places: dict[str, int] = {}
    start = max(0, len(ids) - TAIL)
    for number, (_, view) in enumerate(_items(form, request, TAIL), start):
        text = "".join(block.text for block in view.blocks if block.kind == "text")
        if view.role == "assistant" and number < len(ids) - 1 and len(text.strip()) >= _SHORTEST_ANSWER:
            # the client took off a message of its own, or changed the message that was answered
            for before in (number - 1, number - 2):
                places[_reply_mark(form, ids[before] if before >= 0 else "", text)] = number
    known = [one for one in (store.find_marks(list(places)) if places else ()) if one.mark.kind == "answer"]
    newest = max(known, key=lambda one: places[one.mark.text], default=None)
    if newest is None or newest.sessions != 1:
        return None
    return _Owner(newest.session_id, "continued", places[newest.mark.text], is_dressed=True)


def _noted(store: Store, form: Form, request: Request, found: _Owner, ids: Sequence[str]) -> bool:
    kind: MarkKind = "birth" if found.how == "new" else "turn"
    marks = [*_answer_marks(form, _items(form, request, TAIL)), Mark(_chain_mark(form, ids[-1]), kind)]
    if found.is_dressed:  # what is sent after the newest message will be found behind the item before it
        marks.append(Mark(_chain_mark(form, ids[-2]), "before"))
    return store.add_marks(found.session_id, marks, is_claim=found.how in ("beginning", "new"))


def _answer_marks(form: Form, tail: Iterable[tuple[bytes, View]]) -> list[Mark]:
    return [Mark(text, "answer") for text in dict.fromkeys(text for one in tail for text in _answers(form, *one))]


def _items(form: Form, request: Request, most: int) -> Iterator[tuple[bytes, View]]:
    """Yield the last items, read, each with its digest."""
    for number in range(max(0, len(request.given) - most), len(request.given)):
        item = request.load(number)
        yield form.digest(item), form.read(item, f"{form.HISTORY}[{number}]")


def _answers(form: Form, digest: bytes, view: View) -> Iterator[str]:
    """Yield the parts of an item that identify its conversation: calls with their ids, or a whole signed item.

    Arguments count as well as the id, because some servers start their ids again in each conversation.
    """
    if view.role != "assistant":
        return
    calls = [b for b in view.blocks if b.kind == "call" and b.call_id and len(b.call_id) >= _SHORTEST_CALL_ID]
    for call in calls:
        yield _hash(form.NAME, "call", call.call_id or "", call.tool_name or "", call.text)
    if not calls and any(block.is_signed for block in view.blocks):
        yield _hash(form.NAME, "signed", digest.hex())


def _reply_mark(form: Form, before_id: str, text: str) -> str:
    """Return the mark of an answer behind a history, without the message that it answers."""
    return _hash(form.NAME, "reply", before_id, text.strip())


def _chain_mark(form: Form, chain_id: str) -> str:
    return _hash(form.NAME, "chain", chain_id)


def _derived(form: Form, *of: str) -> str:
    return f"auto-{_hash(form.NAME, 'session', *of)[:16]}"


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]
