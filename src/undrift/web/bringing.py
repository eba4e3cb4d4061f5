"""The actions on a block that left: bring it back, pin it, undo either, and destroy it.

Law: each is a method of the session, or a line in the file that the hooks read. A purge is asked for by the reference a second time, and
names what still holds the words.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from undrift.core.text.refs import ref_of
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import InputError
from undrift.hooks.brought import MOST_CHARACTERS, BroughtText, keep_brought
from undrift.session.session import Session
from undrift.settings.model_table import lookup
from undrift.values.clock import now_ms
from undrift.values.window import ContextEntry, Original
from undrift.web.brought_back import PIN_TYPE, HookTexts, pinned_text
from undrift.web.entries import entries_of
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["bring_back", "bring_undo", "pin", "purge", "purge_look"]

_WHAT_CHARACTERS = 160
_NO_HOOK_OF_MESSAGES = (
    "{client} lets no hook say something with a message, so a block that it compacted away cannot be brought back here; "
    "`undrift recall --find WORDS` prints it, and `undrift wrap {client}` starts it behind the gateway, which can"
)
_NO_HOOKS = (
    "undrift's hooks have not run in this session, so nothing can say this text to the agent: `undrift install {client}`, then "
    "send a message in it"
)


def bring_back(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Put a block into the next prompt. `given`: ``key``, ``session_id``, ``ref`` and ``by``, as a row has them."""
    one, session_id, ref = _named(source, given)
    if given.get("by") == "client":
        return _say_by_hooks(source, one, session_id, ref, stays=False)
    with _session(source, one, session_id) as session:
        return {"undo": session.bring_back(ref, model=one.model), "by": "undrift"}


def pin(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a block in each window from the next prompt on. `given`: as for `bring_back`."""
    one, session_id, ref = _named(source, given)
    if given.get("by") == "client":
        return _say_by_hooks(source, one, session_id, ref, stays=True)
    with _session(source, one, session_id) as session:
        entry = session.original(ref).entry
        _check_room(source, one, session, entry)
        return {"undo": session.pin(PIN_TYPE, pinned_text(entry)), "by": "undrift"}


def bring_undo(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Undo a pin, or what is brought back. `given`: as for `bring_back`; ``ref`` is what that returned as ``undo``."""
    one, session_id, ref = _named(source, given)
    if given.get("by") == "client":
        hooks = HookTexts(source, one)
        if hooks.folder is None:
            raise InputError(_NO_HOOKS.format(client=one.client))
        if not any(text.ref == ref for text in hooks.texts):
            raise InputError("this was undone already; load the page again")
        keep_brought(hooks.folder, lambda texts: [text for text in texts if text.ref != ref])
        return {"was_sent": any(text.said_ms for text in hooks.texts if text.ref == ref)}
    with _session(source, one, session_id) as session:
        session.unpin(ref)
    return {"was_sent": None}


def purge_look(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what a purge of a block would destroy, and what it cannot reach. `query`: ``key``, ``session_id``, ``ref``."""
    one, session_id, ref = _named(source, query)
    with _session(source, one, session_id) as session:
        entry = session.original(ref).entry
    return {
        "ref": ref,
        "what": label(entry.what, _WHAT_CHARACTERS),
        "tokens": entry.token_count,
        "recording": label(str(one.path), 400),
        "others": len(_repeats(source, one, entry)),
    }


def purge(source: PageSource, given: Mapping[str, Any]) -> dict[str, Any]:
    """Destroy a block's original for good. `given`: as for `purge_look`, and ``confirm``: the reference once more.

    A text that was brought back goes too. Returns what was removed, and where the words still are.
    """
    one, session_id, ref = _named(source, given)
    if given.get("confirm") != ref:
        raise InputError("a purge is final: confirm it with the reference of the block")
    copies = _backs(source, one, session_id, ref)
    with _session(source, one, session_id) as session:
        pinned = ref_of(session_id, f"pin:{ref_of(PIN_TYPE, pinned_text(session.original(ref).entry))}")
        copies += [pinned] if pinned in {pin.ref for pin in _pins(source, one, session_id)} else []
        done = session.purge(ref)
        for copy in copies:
            session.purge(copy)
    hooks = HookTexts(source, one)
    if hooks.folder is not None and any(text.ref == ref for text in hooks.texts):
        keep_brought(hooks.folder, lambda texts: [text for text in texts if text.ref != ref])
    backs = {f"original {copy}" for copy in copies}
    return {**asdict(replace(done, copies=tuple(c for c in done.copies if c not in backs))), "recording": str(one.path)}


def _backs(source: PageSource, one: WatchedSession, session_id: str, ref: str) -> list[str]:
    return [pin.ref for pin in _pins(source, one, session_id) if pin.entry.meta("of") == ref]


def _pins(source: PageSource, one: WatchedSession, session_id: str) -> tuple[Original, ...]:
    with source.store(source.place_of(one)) as store:
        return () if store is None else store.pins(session_id)


def _check_room(source: PageSource, one: WatchedSession, session: Session, entry: ContextEntry) -> None:
    """Raise InputError if the session's pins would take more than a third of its budget: nothing can remove them."""
    settings = session.settings
    budget_tokens = settings.budget_for(lookup(one.model or None, source.models).window_tokens)
    pins = sum(pin.entry.token_count for pin in _pins(source, one, session.id) if not pin.entry.meta("made_of"))
    if pins + entry.token_count > budget_tokens / 3:
        raise InputError(
            f"pins would take {pins + entry.token_count:,} tokens, more than a third of the budget of {budget_tokens:,}: bring it back "
            "once instead, or undo another pin"
        )


def _repeats(source: PageSource, one: WatchedSession, entry: ContextEntry) -> list[ContextEntry]:
    return [other for other in entries_of(source, one) if other.content == entry.content]


def _named(source: PageSource, given: Mapping[str, Any]) -> tuple[WatchedSession, str, str]:
    """Return the session, our id of it, and the reference that a request names. Raises InputError: it names none."""
    key, session_id, ref = given.get("key"), given.get("session_id"), given.get("ref")
    if not (isinstance(key, str) and isinstance(session_id, str) and isinstance(ref, str) and ref):
        raise InputError("key, session_id and ref must be the texts of a row; load the page again")
    one = source.session(key)
    if not one.is_named(session_id):
        raise InputError("this is not an id of the session; load the page again")
    return one, session_id, ref


@contextmanager
def _session(source: PageSource, one: WatchedSession, session_id: str) -> Iterator[Session]:
    place = source.place_of(one)
    with source.store(place) as store:
        if store is None or session_id not in one.ids_in(store):
            raise InputError("undrift keeps nothing of this session, so there is nothing to do it with")
    with source.opened(session_id, place) as session:
        yield session


def _say_by_hooks(source: PageSource, one: WatchedSession, session_id: str, ref: str, *, stays: bool) -> dict[str, Any]:
    """Let the hooks say a block of the recording with the next message."""
    hooks = HookTexts(source, one)
    if hooks.folder is None:
        why = _NO_HOOKS if one.client in ("", "claude") else _NO_HOOK_OF_MESSAGES
        raise InputError(why.format(client=one.client or "claude"))
    entry = next((e for e in entries_of(source, one) if ref_of(session_id, e.id) == ref), None)
    if entry is None:
        raise InputError("the recording does not hold this block any more; load the page again")
    text = mask(entry.content[: 2 * MOST_CHARACTERS]).text[:MOST_CHARACTERS]
    made = BroughtText(ref, label(mask(entry.what).text, _WHAT_CHARACTERS), text, now_ms(), stays=stays)
    keep_brought(hooks.folder, lambda texts: [*(text for text in texts if text.ref != ref), made])
    return {"undo": ref, "by": "client"}
