"""The resources that a client can read by address: sessions, tasks, notes and originals.

Law: a recorded text stands in a frame that says it is data; names of tools and ids in a list are cleaned, texts are not
listed at all.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from undrift.errors import InputError, RecallError, StoreCorrupt
from undrift.mcp.framing import as_data, one_line, safe_json
from undrift.mcp.place import ServedHome
from undrift.mcp.recalling import described, find
from undrift.mcp.values import Json, ResourcePage, ToolArguments, Unknown

if TYPE_CHECKING:
    from undrift.stores.contract import Store

__all__ = ["HomeResources"]

_SESSIONS = "undrift://sessions"
_SESSION = "undrift://session/"
_ORIGINAL = "undrift://original/"
_TASKS, _NOTES = "/tasks", "/scratchpad"
_PAGE = 100
_MOST_SESSIONS = 200
_LONGEST_NAME = 80
_LONGEST_ADDRESS = 4_096


class HomeResources:
    """The `undrift.mcp.values.Resources` of one home."""

    def __init__(self, place: ServedHome) -> None:
        self._place = place

    def page(self, cursor: str, call: ToolArguments) -> ResourcePage:
        """Return the sessions, the session's tasks and notes, then its originals, newest first."""
        if cursor and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            raise InputError("this cursor is none of ours: list again without one")
        start = int(cursor or 0)
        session_id = self._place.session_id(call.session)
        address = _SESSION + quote(session_id, safe="", errors="surrogatepass")
        own: list[Json] = [
            _listed(_SESSIONS, "sessions", "The sessions of this home.", "application/json"),
            _listed(address + _TASKS, "tasks", "The tasks of this session.", "text/plain"),
            _listed(address + _NOTES, "scratchpad", "The notes of this session, active_context.md.", "text/plain"),
        ]
        refs, left = self._left(session_id, start, call)
        following = str(start + _PAGE) if start + _PAGE < refs else ""
        return ResourcePage((*([] if start else own), *left), following)

    def templates(self) -> Sequence[Json]:
        """Return the URI templates of the addresses."""
        text = "text/plain"
        return (
            _template(f"{_SESSION}{{session}}{_TASKS}", "tasks", "The tasks of a session.", text),
            _template(f"{_SESSION}{{session}}{_NOTES}", "scratchpad", "The notes of a session.", text),
            _template(f"{_ORIGINAL}{{ref}}", "original", "The original of what left a window, whole.", text),
        )

    def read(self, uri: str, call: ToolArguments) -> Sequence[Json]:
        """Return the contents at an address."""
        if len(uri) > _LONGEST_ADDRESS:
            raise _unknown(uri)
        if uri == _SESSIONS:
            return [_json(uri, self._sessions(call))]
        if uri.startswith(_ORIGINAL):
            return [self._original(uri, call)]
        path = uri.removeprefix(_SESSION)
        for suffix, read in ((_TASKS, self._tasks), (_NOTES, self._notes)):
            if uri.startswith(_SESSION) and path.endswith(suffix) and "/" not in path.removesuffix(suffix):
                session_id = unquote(path.removesuffix(suffix), errors="replace")
                self._check(uri, session_id, call)
                return [read(uri, session_id)]
        raise _unknown(uri)

    def _left(self, session_id: str, start: int, call: ToolArguments) -> tuple[int, list[Json]]:
        """Return the number of the session's originals, and the originals of one page."""
        if not self._place.has_store():
            return 0, []
        with self._place.store() as store:
            decided = reversed(store.decided(session_id))
            refs = list(dict.fromkeys(one.ref for one in decided if one.ref))
            page = refs[start : start + _PAGE]
            listed = []
            for done, ref in enumerate(page):
                call.step(done, len(page), "originals listed")
                listed.append(_left_window(store, ref))
            return len(refs), listed

    def _check(self, uri: str, session_id: str, call: ToolArguments) -> None:
        """Refuse an unknown session, or any session except the named one."""
        own = self._place.session_id(call.session)
        if session_id == own:
            return
        if not self._place.is_bound(call.session) and any(
            row.session_id == session_id for row in self._place.sessions()
        ):
            return
        raise _unknown(uri)

    def _sessions(self, call: ToolArguments) -> Any:
        own, is_bound = self._place.session_id(call.session), self._place.is_bound(call.session)
        rows = [row for row in self._place.sessions() if row.session_id == own or not is_bound]
        return [
            {
                "session": row.session_id,
                "operations": row.operations,
                "originals": row.originals,
                "first_at_ms": row.first_at_ms,
                "last_at_ms": row.last_at_ms,
            }
            for row in rows[:_MOST_SESSIONS]
        ]

    def _original(self, uri: str, call: ToolArguments) -> Json:
        ref = unquote(uri.removeprefix(_ORIGINAL), errors="replace")
        try:
            found = find(self._place, ref, call)
        except RecallError as error:
            raise Unknown(str(error)) from error
        if found.text is None:
            raise _unknown(uri)
        return _text(uri, as_data(found.text, found.name))

    def _tasks(self, uri: str, session_id: str) -> Json:
        if not self._place.has_store():
            return _json(uri, [])
        from undrift.tasks.archive import Archive

        with self._place.store() as store:
            archive = Archive(store, session_id)
            tasks = [
                {
                    "id": task.id,
                    "status": task.status,
                    "content": task.content,
                    "summary": task.annotated_summary,
                    "refs": [one.ref for one in archive.decisions(task.id)],
                }
                for task in archive.tasks.by_id.values()
            ]
        data = json.dumps(safe_json(tasks), ensure_ascii=False, indent=1)
        return _text(uri, as_data(data, f"the tasks of session {one_line(session_id, _LONGEST_NAME)}, as JSON"))

    def _notes(self, uri: str, session_id: str) -> Json:
        with self._place.session(session_id) as session:
            text = session.scratchpad.read()
        name = f"active_context.md of session {one_line(session_id, _LONGEST_NAME)}"
        return _text(uri, as_data(text, name))


def _left_window(store: "Store", ref: str) -> Json:
    try:
        what = described(store.original(ref))
    except StoreCorrupt:
        what = "damaged on disk"
    return _listed(_ORIGINAL + ref, ref, f"Removed from the window: {what}.", "text/plain")


def _unknown(uri: str) -> Unknown:
    return Unknown(f"there is no resource {one_line(uri, _LONGEST_NAME)}: list the resources and their templates")


def _listed(uri: str, name: str, description: str, mime_type: str) -> Json:
    return {"uri": uri, "name": name, "description": description, "mimeType": mime_type}


def _template(uri: str, name: str, description: str, mime_type: str) -> Json:
    return {"uriTemplate": uri, "name": name, "description": description, "mimeType": mime_type}


def _text(uri: str, text: str) -> Json:
    return {"uri": uri, "mimeType": "text/plain", "text": text}


def _json(uri: str, value: Any) -> Json:
    text = json.dumps(safe_json(value), ensure_ascii=False, indent=1)
    return {"uri": uri, "mimeType": "application/json", "text": text}
