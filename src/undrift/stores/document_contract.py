"""What a store promises about documents of agent frameworks. Pure: protocols, no I/O."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from undrift.stores.base import Document, DocumentPath

__all__ = ["DocumentChange", "DocumentReading", "DocumentStore"]

T = TypeVar("T")


class DocumentReading(Protocol):
    """The documents of one session, as they are now."""

    def find(self, kind: str, path: DocumentPath) -> Document | None:
        """Return the document under a path, or None."""
        ...

    def under(
        self, kind: str, prefix: DocumentPath = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose path begins with a prefix, ordered by path.

        Args:
            kind: Of which kind.
            prefix: Of the path; the path itself is one.
            last: Only so many of them, from the end.
            with_content: Whether their bytes are read.
        """
        ...

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of all documents of a kind: two equal sets are the same documents."""
        ...


class DocumentChange(DocumentReading, Protocol):
    """One change while it is made: what it reads is what it changes."""

    def put(self, kind: str, document: Document) -> None:
        """Write a document under its path; the same again is a no-op. Raises InputError for what JSON cannot hold."""
        ...

    def close(self, gone: Iterable[Document]) -> None:
        """Take documents away that this change has read; their versions are kept."""
        ...


class DocumentStore(Protocol):
    """Documents that agent frameworks keep under a session, in every version."""

    def documents(self, session_id: str) -> AbstractContextManager[DocumentReading]:
        """Give the documents of a session to read; other threads may have to wait until that is done."""
        ...

    def document_owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind, in their order."""
        ...

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Make one change of a session's documents, all or nothing, as one operation; return what `act` returns.

        `act` reads and writes; what it raises is raised, and then nothing was written. It may be called more than once.
        """
        ...
