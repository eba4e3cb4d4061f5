"""Documents of agent frameworks: files of a memory tool, items of a store, checkpoints of a graph, each in every version.

Law: knows only its own table, and only the path and the bytes of a document; runs inside a transaction that the caller
opened. A version is never changed: a change closes it and adds another.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Document, DocumentPath
from undrift.stores.table import Table

__all__ = [
    "DOCUMENT_COLUMNS",
    "DOCUMENT_SESSION",
    "StoredDocuments",
    "below",
    "create",
    "document_content",
    "document_from",
    "document_row",
    "owners",
]

DOCUMENT_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), CAST(name AS BLOB), sha256,
    CAST(record AS BLOB)"""
DOCUMENT_SESSION = 2
"""The session's index in the columns."""

_CREATE = """
CREATE TABLE documents(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,  -- the path as a JSON array in ASCII, so that paths with one beginning stand together
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    sha256 BLOB NOT NULL,
    record_sha256 BLOB NOT NULL,
    record TEXT NOT NULL,
    content BLOB NOT NULL  -- last, so that nothing else is read across it
);
CREATE UNIQUE INDEX documents_now ON documents(session_id, kind, name) WHERE to_seq IS NULL;
CREATE INDEX documents_of_kind ON documents(kind, session_id) WHERE to_seq IS NULL;
CREATE INDEX documents_since ON documents(session_id, from_seq);
"""
_HEADS = f"SELECT {DOCUMENT_COLUMNS} FROM documents"  # noqa: S608 - constants of ours, as below
_WHOLE = f"SELECT {DOCUMENT_COLUMNS}, content FROM documents"  # noqa: S608
_HEAD_COLUMNS = 7
_OF = " WHERE session_id = ? AND kind = ? AND to_seq IS NULL"
_ONE = f"{_WHOLE}{_OF} AND name = ?"
_ALL = f"{_OF} ORDER BY name"
_UNDER = f"{_OF} AND (name = ? OR (name > ? AND name < ?)) ORDER BY name"
_LAST = " DESC LIMIT ?"
_OWNERS = "SELECT DISTINCT CAST(session_id AS BLOB) FROM documents WHERE kind = ? AND to_seq IS NULL"
_NUMBERS = f"SELECT number FROM documents{_OF}"  # noqa: S608
_CLOSE = "UPDATE documents SET to_seq = ? WHERE number = ?"
_ADD = """INSERT INTO documents(session_id, kind, name, sha256, record_sha256, record, content, from_seq)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?)"""


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def below(path: Sequence[str]) -> tuple[str, str, str]:
    """Return a path's name, and the lower and upper bounds of all paths that begin with it."""
    name = _name(path)
    return name, f"{name[:-1]},", f"{name[:-1]}-"  # "-" follows "," in ASCII


def owners(connection: apsw.Connection, kind: str) -> list[str]:
    """Return the sessions that have documents of a kind, sorted."""
    found: Iterable[Any] = connection.execute(_OWNERS, (kind,))
    return sorted(bytes(one).decode("utf-8", "surrogatepass") for (one,) in found)


class StoredDocuments:
    """The documents of one session: readable at any time, writable inside an operation.

    Args:
        connection: A connection to the store; in a transaction if there is an operation.
        seq: The operation that changes them.
    """

    def __init__(self, connection: apsw.Connection, session_id: str, seq: int = 0) -> None:
        self._connection = connection
        self._session_id = session_id
        self._session = rows.key(session_id)
        self._seq = seq

    def find(self, kind: str, path: DocumentPath) -> Document | None:
        """Return the document at a path. None means: there is none. Raises StoreCorrupt: the index is wrong."""
        return next(self._read(_ONE, self._session, kind, _name(path)), None)

    def under(
        self, kind: str, prefix: DocumentPath = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose path begins with a prefix; see `DocumentReading.under`."""
        sql = (_WHOLE if with_content else _HEADS) + (_UNDER if prefix else _ALL)
        values = (self._session, kind, *(below(prefix) if prefix else ()))
        if last is None:
            return list(self._read(sql, *values))
        return list(self._read(sql + _LAST, *values, last))[::-1]

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of the documents of a kind: equal sets mean the same documents."""
        found: Iterable[Any] = self._connection.execute(_NUMBERS, (self._session, kind))
        return {number for (number,) in found}

    def put(self, kind: str, document: Document) -> None:
        """Write a document at its path and end the old version; an equal document is not written again."""
        row = document_row(self._session_id, kind, _name(document.path), document.record, document.content)
        found: list[rows.Row] = self._connection.execute(_HEADS + _OF + " AND name = ?", row[:3]).fetchall()
        for stored in found:
            number, *_ = document_from(stored)  # a damaged version is not overwritten
            if stored[1] == row[4]:
                return
            self._connection.execute(_CLOSE, (self._seq, number))
        self._connection.execute(_ADD, (*row, self._seq))

    def close(self, documents: Iterable[Document]) -> None:
        """Remove documents that this change has read; their versions stay on disk."""
        self._connection.executemany(_CLOSE, [(self._seq, document.number) for document in documents])

    def _read(self, sql: str, *values: Any) -> Iterator[Document]:
        found: list[rows.Row] = self._connection.execute(sql, values).fetchall()
        for row in found:
            if row[DOCUMENT_SESSION] != rows.raw(self._session_id):
                raise StoreCorrupt(
                    f"documents of {self._session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}"
                )
            number, name, record = document_from(row)
            content = document_content(row) if len(row) > _HEAD_COLUMNS else b""
            yield Document(tuple(json.loads(name)), record, content, number)


def _name(path: Sequence[str]) -> str:
    return json.dumps(list(path), separators=(",", ":"))


def document_row(session_id: str, kind: str, name: str, record: Mapping[str, Any], content: bytes) -> rows.Row:
    """Return the values of a version of a document: session_id, kind, name, sha256, record_sha256, record, content."""
    text = rows.dump(record, "document %r", name, encode=rows.ENCODE_SORTED)
    sha256 = hashlib.sha256(content).digest()
    texts = (session_id, kind, name)
    return *map(rows.key, texts), sha256, rows.digest(*map(rows.raw, texts), sha256, text), text, content


def document_from(row: rows.Row) -> tuple[int, str, Mapping[str, Any]]:
    """Return the number, the name and the record of a document, or raise StoreCorrupt; see `document_content`."""
    number, digest, _, _, name, _, record = row[:7]
    if digest != rows.digest(*row[2:7]):
        raise StoreCorrupt(f"document {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        return number, rows.text_from(name), rows.load(record)
    except rows.FORGED as error:
        raise StoreCorrupt(f"document {number} was not written by undrift: {error}; {rows.REMEDY}") from error


def document_content(row: rows.Row) -> bytes:
    """Return the content of a document, the column after `DOCUMENT_COLUMNS`, or raise StoreCorrupt."""
    content = row[7]
    if not isinstance(content, bytes) or hashlib.sha256(content).digest() != row[5]:
        raise StoreCorrupt(f"the content of document {row[0]} does not match its SHA-256; {rows.REMEDY}")
    return content


def _whole(row: rows.Row) -> object:
    return document_from(row), document_content(row)


TABLE = Table("documents", f"{DOCUMENT_COLUMNS}, content", _whole, key="t.kind || ' ' || t.name", rewinds=True)
