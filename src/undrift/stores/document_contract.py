"""The contract of a store about documents of agent frameworks. Pure: protocols, no I/O."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from undrift.stores.base import Document, DocumentPath

__all__ = ["DocumentChange", "DocumentReading", "DocumentStore"]

T = TypeVar("T")


class DocumentReading(Protocol):
    """Reads the documents of one session, in their newest versions."""

    def find(self, kind: str, path: DocumentPath) -> Document | None:
        """Return the document at a path. None means: there is none."""
        ...

    def under(
        self, kind: str, prefix: DocumentPath = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose paths begin with a prefix, ordered by path.

        Args:
            prefix: The beginning of the path, or the whole path.
            last: The number of documents, from the end.
            with_content: True: their bytes are read as well.
        """
        ...

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of all documents of a kind; two equal sets mean equal documents."""
        ...


class DocumentChange(DocumentReading, Protocol):
    """One change in progress; its reads already include its writes."""

    def put(self, kind: str, document: Document) -> None:
        """Write a document at its path; an equal document is not written again. Raises InputError: no JSON record."""
        ...

    def close(self, documents: Iterable[Document]) -> None:
        """Remove documents that this change has read; their versions are kept."""
        ...


class DocumentStore(Protocol):
    """Documents that agent frameworks store under a session, in every version."""

    def documents(self, session_id: str) -> AbstractContextManager[DocumentReading]:
        """Lock a session's documents for reading; other threads may have to wait."""
        ...

    def document_owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind, sorted."""
        ...

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Change a session's documents in one operation, all or nothing; return the result of `act`.

        `act` reads and writes; if it raises, nothing was written and its error is raised. It may be called more than once.
        """
        ...
