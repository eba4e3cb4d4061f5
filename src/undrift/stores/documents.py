"""Documents of agent frameworks: files of a memory tool, items of a store, checkpoints of a graph, each in every version.

Law: knows its own table alone, and of a document only its path and its bytes; runs inside a transaction that the caller
opened. A version is never changed: a change closes it and adds another.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.table import Table

__all__ = [
    "DOCUMENT_COLUMNS",
    "DOCUMENT_SESSION",
    "Document",
    "DocumentChange",
    "DocumentReading",
    "Path",
    "below",
    "close",
    "create",
    "document_content",
    "document_from",
    "document_row",
    "find",
    "numbers",
    "owners",
    "put",
    "under",
]

DOCUMENT_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), CAST(name AS BLOB), sha256,
    CAST(record AS BLOB)"""
DOCUMENT_SESSION = 2
"""Where the session stands in the columns."""

Path = tuple[str, ...]
"""Any texts, the empty one included; documents are listed by what their paths begin with."""

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


@dataclass(frozen=True, slots=True)
class Document:
    """One document as it is now.

    Args:
        path: Where it is, among those of its session and kind.
        record: JSON values that are read without the content.
        content: Its bytes; empty where they were not asked for.
        number: Of this version; a newer one has a greater number.
    """

    path: Path
    record: Mapping[str, Any]
    content: bytes = b""
    number: int = 0


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def find(connection: apsw.Connection, session_id: str, kind: str, path: Sequence[str]) -> Document | None:
    """Return the document under a path, or None.

    Raises:
        StoreCorrupt: It does not match its SHA-256, or an index leads astray.
    """
    found: list[rows.Row] = connection.execute(_ONE, (rows.key(session_id), kind, _name(path))).fetchall()
    return next((_document(row, session_id) for row in found), None)


def under(
    connection: apsw.Connection,
    session_id: str,
    kind: str,
    prefix: Sequence[str] = (),
    *,
    last: int | None = None,
    with_content: bool = True,
) -> list[Document]:
    """Return the documents whose path begins with a prefix, ordered by path.

    Args:
        connection: Of the store.
        session_id: Whose.
        kind: Of which kind.
        prefix: Of the path; the path itself is one.
        last: Only so many of them, from the end.
        with_content: Whether their bytes are read.

    Raises:
        StoreCorrupt: One does not match its SHA-256, or an index leads astray.
    """
    sql, values = _WHOLE if with_content else _HEADS, [rows.key(session_id), kind]
    if prefix:
        sql, values = sql + _UNDER, [*values, *below(prefix)]
    else:
        sql += _ALL
    found: list[rows.Row] = (
        connection.execute(sql, values) if last is None else connection.execute(sql + _LAST, [*values, last])
    ).fetchall()
    return [_document(row, session_id) for row in (found if last is None else reversed(found))]


def below(path: Sequence[str]) -> tuple[str, str, str]:
    """Return the name of a path, and the names between which those stand that begin with it."""
    name = _name(path)
    return name, f"{name[:-1]},", f"{name[:-1]}-"  # "-" follows "," in ASCII


def owners(connection: apsw.Connection, kind: str) -> list[str]:
    """Return the sessions that have documents of a kind, in their order."""
    found: Iterable[Any] = connection.execute(_OWNERS, (kind,))
    return sorted(bytes(one).decode("utf-8", "surrogatepass") for (one,) in found)


def numbers(connection: apsw.Connection, session_id: str, kind: str) -> set[int]:
    """Return the numbers of all documents of a session and kind: two equal sets are the same documents."""
    found: Iterable[Any] = connection.execute(_NUMBERS, (rows.key(session_id), kind))
    return {number for (number,) in found}


def put(connection: apsw.Connection, session_id: str, kind: str, document: Document, seq: int) -> None:
    """Write a document under its path; what stood there is closed, and the same once more is a no-op.

    Raises:
        InputError: Its record holds what JSON cannot.
        StoreCorrupt: What stands there does not match its SHA-256.
    """
    row = document_row(session_id, kind, _name(document.path), document.record, document.content)
    found: list[rows.Row] = connection.execute(_HEADS + _OF + " AND name = ?", row[:3]).fetchall()
    for one in found:
        number, *_ = document_from(one)  # what was damaged is not written over
        if one[1] == row[4]:
            return
        connection.execute(_CLOSE, (seq, number))
    connection.execute(_ADD, (*row, seq))


def close(connection: apsw.Connection, documents: Iterable[Document], seq: int) -> None:
    """Take documents away that were read in this transaction; their versions stay on disk."""
    connection.executemany(_CLOSE, [(seq, document.number) for document in documents])


class DocumentReading:
    """The documents of one session, as they are now."""

    def __init__(self, connection: apsw.Connection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    def find(self, kind: str, path: Path) -> Document | None:
        """Return the document under a path, or None."""
        return find(self._connection, self._session_id, kind, path)

    def under(
        self, kind: str, prefix: Path = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose path begins with a prefix; see `under`."""
        return under(self._connection, self._session_id, kind, prefix, last=last, with_content=with_content)

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of the documents of a kind: two equal sets are the same documents."""
        return numbers(self._connection, self._session_id, kind)


class DocumentChange(DocumentReading):
    """One change while it is made: what it reads is what it changes."""

    def __init__(self, connection: apsw.Connection, session_id: str, seq: int) -> None:
        super().__init__(connection, session_id)
        self._seq = seq

    def put(self, kind: str, document: Document) -> None:
        """Write a document under its path."""
        put(self._connection, self._session_id, kind, document, self._seq)

    def close(self, gone: Iterable[Document]) -> None:
        """Take documents away that this change has read."""
        close(self._connection, gone, self._seq)


def _name(path: Sequence[str]) -> str:
    return json.dumps(list(path), separators=(",", ":"))


def _document(row: rows.Row, session_id: str) -> Document:
    if row[DOCUMENT_SESSION] != rows.raw(session_id):
        raise StoreCorrupt(f"documents of {session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}")
    number, name, record = document_from(row)
    content = document_content(row) if len(row) > _HEAD_COLUMNS else b""
    return Document(tuple(json.loads(name)), record, content, number)


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
    """Return the content of a document, which stands behind `DOCUMENT_COLUMNS`, or raise StoreCorrupt."""
    content = row[7]
    if not isinstance(content, bytes) or hashlib.sha256(content).digest() != row[5]:
        raise StoreCorrupt(f"the content of document {row[0]} does not match its SHA-256; {rows.REMEDY}")
    return content


def _whole(row: rows.Row) -> object:
    return document_from(row), document_content(row)


TABLE = Table("documents", f"{DOCUMENT_COLUMNS}, content", _whole, key="t.kind || ' ' || t.name", rewinds=True)
