"""The contract of a store about documents of agent frameworks. Pure: protocols, no I/O."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from undrift.stores.base import Document, DocumentPath

__all__ = ["DocumentChange", "DocumentReading", "DocumentStore"]

T = TypeVar("T")


class DocumentReading(Protocol):
    """The documents of one session, in their newest versions."""

    def find(self, kind: str, path: DocumentPath) -> Document | None:
        """Return the document under a path, or None."""
        ...

    def under(
        self, kind: str, prefix: DocumentPath = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose path begins with a prefix, ordered by path.

        Args:
            prefix: The beginning of the path, or the whole path.
            last: The number of documents, from the end.
            with_content: True: their bytes are read as well.
        """
        ...

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of all documents of a kind: equal sets mean the same documents."""
        ...


class DocumentChange(DocumentReading, Protocol):
    """One change in progress: it reads the same state that it changes."""

    def put(self, kind: str, document: Document) -> None:
        """Write a document under its path; the same again is a no-op. Raises InputError if JSON cannot hold the record."""
        ...

    def close(self, documents: Iterable[Document]) -> None:
        """Remove documents that this change has read; their versions are kept."""
        ...


class DocumentStore(Protocol):
    """Documents that agent frameworks keep under a session, in every version."""

    def documents(self, session_id: str) -> AbstractContextManager[DocumentReading]:
        """Lend the documents of a session for reading; other threads may have to wait until that is done."""
        ...

    def document_owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind, sorted."""
        ...

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Make one change of a session's documents, all or nothing, as one operation; return what `act` returns.

        `act` reads and writes; if it raises, nothing was written and its error is raised. It may be called more than once.
        """
        ...
