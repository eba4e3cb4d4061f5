"""Documents of a session: read as they are, changed in a draft."""

import json
from collections.abc import Iterable
from dataclasses import replace

from tests.stores.dictionary.records import Home, Session, as_json
from undrift.stores.base import Document

__all__ = ["DictionaryDocuments"]

_Path = tuple[str, ...]


class DictionaryDocuments:
    """The documents of one session.

    Args:
        session: Its records; those of a draft may be changed.
        home: Gives the numbers of new versions.
    """

    def __init__(self, session: Session, home: Home) -> None:
        self._documents = session.now.documents
        self._home = home

    def find(self, kind: str, path: _Path) -> Document | None:
        return self._documents.get((kind, tuple(path)))

    def under(
        self, kind: str, prefix: _Path = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        found = [
            one if with_content else replace(one, content=b"")
            for (of_kind, path), one in self._documents.items()
            if of_kind == kind and path[: len(prefix)] == tuple(prefix)
        ]
        found.sort(key=lambda one: json.dumps(list(one.path), separators=(",", ":")))
        return found if last is None else found[max(0, len(found) - last) :]

    def numbers(self, kind: str) -> set[int]:
        return {one.number for one in self.under(kind)}

    def put(self, kind: str, document: Document) -> None:
        where = (kind, tuple(document.path))
        new = Document(where[1], as_json(document.record, f"document {where}"), bytes(document.content))
        now = self._documents.get(where)
        if now is None or replace(now, number=0) != new:
            self._documents[where] = replace(new, number=self._home.number())

    def close(self, documents: Iterable[Document]) -> None:
        numbers = {one.number for one in documents}
        for where in [where for where, one in self._documents.items() if one.number in numbers]:
            del self._documents[where]
