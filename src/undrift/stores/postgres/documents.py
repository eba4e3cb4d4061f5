"""Documents of agent frameworks on the server: read from a session's state, and changed in one operation."""

import json
from collections.abc import Iterable, Iterator

from undrift.stores import rows
from undrift.stores.base import Document, DocumentPath
from undrift.stores.documents import document_content, document_from, document_row
from undrift.stores.postgres.events import Kind, LoggedEvent, event_of
from undrift.stores.postgres.session_state import Record, SessionState

__all__ = ["ServerDocuments"]


class ServerDocuments:
    """`DocumentChange` over one session; what it writes are events for the next operation."""

    def __init__(self, state: SessionState) -> None:
        self.events: list[LoggedEvent] = []
        self._state = state
        self._new: dict[tuple[bytes, ...], Record] = {}

    def find(self, kind: str, path: DocumentPath) -> Document | None:
        found = self._now((rows.raw(kind), rows.raw(_name(path))))
        return None if found is None else _document(found)

    def under(
        self, kind: str, prefix: DocumentPath = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        of_kind = self._all(rows.raw(kind))
        within = [one for one in of_kind if tuple(json.loads(one.event.key[1]))[: len(prefix)] == tuple(prefix)]
        within.sort(key=lambda one: one.event.key[1])
        chosen = within if last is None else within[max(0, len(within) - max(last, 0)) :]
        return [_document(one, with_content=with_content) for one in chosen]

    def numbers(self, kind: str) -> set[int]:
        return {one.number for one in self._all(rows.raw(kind))}

    def put(self, kind: str, document: Document) -> None:
        name = _name(document.path)
        row = document_row(self._state.name, kind, name, document.record, document.content)
        event = event_of(Kind.DOCUMENT, (kind, name), row)
        now = self._now(event.key)
        if now is not None:
            document_from(now.row)  # a damaged version is not overwritten
        if now is None or event.row is None or now.digest != event.row[4]:
            self._add(event)

    def close(self, documents: Iterable[Document]) -> None:
        numbers = {one.number for one in documents}
        for record in [one for one in self._every() if one.number in numbers]:
            self._add(LoggedEvent(Kind.DOCUMENT, record.event.key, None))

    def _add(self, event: LoggedEvent) -> None:
        number = ((self._state.last_seq + 1) << 20) + len(self.events)
        self.events.append(event)
        self._new[event.key] = Record(number, 0, event)

    def _now(self, key: tuple[bytes, ...]) -> Record | None:
        if key not in self._new:
            return self._state.find(Kind.DOCUMENT, *key)
        new = self._new[key]
        return None if new.event.row is None else new

    def _all(self, kind: bytes) -> Iterator[Record]:
        return (one for one in self._every() if one.event.key[0] == kind)

    def _every(self) -> Iterator[Record]:
        for record in self._state.active(Kind.DOCUMENT):
            if record.event.key not in self._new:
                yield record
        yield from (one for one in self._new.values() if one.event.row is not None)


def _document(record: Record, *, with_content: bool = True) -> Document:
    row = record.row
    number, name, fields = document_from(row)
    content = document_content(row) if with_content else b""
    return Document(tuple(json.loads(name)), fields, content, number)


def _name(path: DocumentPath) -> str:
    return json.dumps(list(path), separators=(",", ":"))
