"""The session of a request that comes without its id, found by the content of the conversation.

Law: an answer selects the session whose decisions, pins and originals apply, and nothing else. Two conversations are
joined only by content that both cannot have by chance. The store holds hashes of that content, never a text.

See docs/adr/0014-which-session.md.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from undrift.core.text.refs import message_id
from undrift.errors import StoreError, WireError
from undrift.stores.base import KnownMark, Mark, MarkKind
from undrift.stores.contract import Store
from undrift.window.request import Request
from undrift.wire import raw
from undrift.wire.form import Form, View

__all__ = ["How", "Recognised", "TAIL", "chain", "given_id", "note", "recognise"]

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
_PLAIN = re.compile(r"[A-Za-z0-9._@-]{1,128}")


@dataclass(frozen=True, slots=True)
class Recognised:
    """The session that a request belongs to, and how it was found.

    Args:
        session_id: For `Session.open`: ``FORM:ID`` if the client sent an id, else ``auto-`` and 16 hexadecimal digits.
        newest_id: Chain id of the newest item; empty if the history was not looked at.
        fault: Why the store could not take note of this request; empty: it could. The answer holds nevertheless.
    """

    session_id: str
    how: How
    newest_id: str = ""
    fault: str = ""


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
        session_id, how, is_noted = _found(store, form, request, ids, attempt)
        try:
            if is_noted or _noted(store, form, request, (session_id, how), ids[-1]):
                return Recognised(session_id, how, ids[-1])
        except StoreError as error:
            return Recognised(session_id, how, ids[-1], str(error))
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
        store.add_marks(session_id, _marks(form, "turn", newest_id, known))


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


def _found(store: Store, form: Form, request: Request, ids: Sequence[str], attempt: int) -> tuple[str, How, bool]:
    """Return the session, how it was found, and whether the session knows this whole request."""
    newest = _chain_mark(form, ids[-1])
    births: list[KnownMark] = []
    end, start = len(ids), max(0, len(ids) - TAIL)  # the end of the last request is nearly always in this tail
    while end:
        texts = [_chain_mark(form, id_) for id_ in reversed(ids[start:end])]
        known = store.find_marks(texts)
        turns = {one.mark.text: one for one in known if one.mark.kind == "turn"}
        if turn := next((turns[text] for text in texts if text in turns), None):
            return turn.session_id, "known", turn.mark.text == newest
        by_text = {one.mark.text: one for one in known if one.mark.kind == "birth"}
        births += [by_text[text] for text in texts if text in by_text]
        end, start = start, max(0, start - _CHUNK)
    for birth in births:
        if not birth.has_turns:
            return birth.session_id, "beginning", birth.mark.text == newest
    if (session_id := _by_answers(store, form, request)) is not None:
        return session_id, "continued", False
    namesakes = births[0].sessions if births and births[0].mark.text == newest else 0
    return _derived(form, ids[-1], str(namesakes + attempt)), "new", False


def _by_answers(store: Store, form: Form, request: Request) -> str | None:
    """Return the only session that has seen answers of this history. None means: no session, or several."""
    texts = dict.fromkeys(text for one in _items(form, request, len(request.given)) for text in _answers(form, *one))
    known = store.find_marks(list(texts)[-_CHUNK:]) if texts else ()
    owners = {one.session_id for one in known if one.mark.kind == "answer" and one.sessions == 1}
    return owners.pop() if len(owners) == 1 else None


def _noted(store: Store, form: Form, request: Request, found: tuple[str, How], newest_id: str) -> bool:
    session_id, how = found
    marks = _marks(form, "birth" if how == "new" else "turn", newest_id, _items(form, request, TAIL))
    return store.add_marks(session_id, marks, is_claim=how in ("beginning", "new"))


def _marks(form: Form, kind: MarkKind, newest_id: str, tail: Iterable[tuple[bytes, View]]) -> list[Mark]:
    answers = dict.fromkeys(text for one in tail for text in _answers(form, *one))
    return [*(Mark(text, "answer") for text in answers), Mark(_chain_mark(form, newest_id), kind)]


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


def _chain_mark(form: Form, chain_id: str) -> str:
    return _hash(form.NAME, "chain", chain_id)


def _derived(form: Form, *of: str) -> str:
    return f"auto-{_hash(form.NAME, 'session', *of)[:16]}"


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]
