"""The traces of a destroyed text on disk: searches every file of a home for pieces of the text.

Law: changes nothing. A piece that a record still holds is a copy, which the purge did not name; a piece without a record
is a trace. SQLite opens every file that is read here: closing a descriptor of our own would drop this process's locks.
"""

import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from undrift.stores.segments import segments_in

__all__ = ["Piece", "copies", "files", "held", "held_packed", "packed_copies", "pieces"]

_MOST_PIECES = 256
_OF_ONE_TEXT = 8
_PIECE_CHARACTERS = 32
_LEAST_CHARACTERS = 6
"""A shorter text is in every file by chance."""
_NAMES_OF_ONE_TEXT = 4
_WORD = re.compile(r"\w{10,}+")
_DIGIT = re.compile(r"\d")
_LOOKED_AT_CHARACTERS = 10_000
_BLOCK_BYTES = 8 << 20
_OVERLAP_BYTES = 1 << 10
_MOST_COPIES = 20
_SQLITE, _NO_LOG = b"SQLite format 3\0", b"\1\1"
_HEAD_BYTES = 20
"""The begin of a database: the kind of file, and at its end whether a log is used. A copy uses none."""
_RECORDS = {
    "original": ("originals", "CAST(ref AS BLOB)", "content"),
    "pinned or noted text": ("decisions", "CAST(entry_id AS BLOB)", "CAST(detail AS BLOB)"),
    "task": ("tasks", "CAST(task_id AS BLOB)", "CAST(record AS BLOB)"),
    "memory": ("memories", "CAST(memory_id AS BLOB)", "CAST(record AS BLOB)"),
    "document": ("documents", "CAST(name AS BLOB)", "content"),
    "fact": ("facts", "CAST(fact_id AS BLOB)", "CAST(record AS BLOB)"),
    "run record": ("run_records", "CAST(name AS BLOB)", "CAST(record AS BLOB)"),
    "operation": ("operations", "CAST(seq AS BLOB)", "CAST(payload AS BLOB)"),
}


class Piece(NamedTuple):
    """A part of a text, in each form that it may have on disk: plain, and as JSON in ASCII."""

    forms: tuple[bytes, ...]


def pieces(texts: Iterable[bytes]) -> tuple[Piece, ...]:
    """Return some parts of each text, spread over it, because the pages of a database split long texts.

    If there are very many texts, some in the middle are left out.
    """
    found: list[Piece] = []
    every = 1
    for number, text in enumerate(texts):
        if number % every:
            continue
        found += dict.fromkeys(_of(text.decode("utf-8", "replace")))
        if len(found) > _MOST_PIECES:
            found, every = found[::2], every * 2
    return tuple(dict.fromkeys(found))


def files(roots: Iterable[Path], without: Collection[str] = ()) -> dict[Path, int]:
    """Return the size of each file in folders, or of a file itself; links, and files with some names, are skipped."""
    found: dict[Path, int] = {}
    for root in roots:
        for folder, _, names in [(str(root.parent), [], [root.name])] if root.is_file() else os.walk(str(root)):
            for name in names:
                path = Path(folder, name)
                # An index of a log's pages has no content, and its locks would fall with the descriptor.
                if not name.endswith("-shm") and name not in without:
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode):
                        found[path] = status.st_size
    return found


def held(path: Path, wanted: Sequence[Piece]) -> set[Piece]:
    """Return the pieces that a file contains; none if it cannot be read."""
    found: set[Piece] = set()
    with suppress(apsw.Error, OSError):
        for block in _blocks(path):
            found |= {piece for piece in wanted if piece not in found and any(form in block for form in piece.forms)}
        return found
    return set()


def held_packed(path: Path, wanted: Sequence[Piece]) -> set[Piece]:
    """Return the pieces that a copy of a store contains, such as a backup: its texts are compressed."""
    with suppress(apsw.Error, OSError):
        head = next(_blocks(path), b"")[:_HEAD_BYTES]
        if not head.startswith(_SQLITE) or head[-2:] != _NO_LOG:
            return set()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
        with closing(apsw.Connection(str(path), flags=flags)) as connection:
            return set(packed_copies(connection, wanted))
    return set()


def copies(connection: apsw.Connection, wanted: Iterable[Piece]) -> dict[Piece, list[str]]:
    """Return the pieces that stored records still contain, each with the names of some of these records."""
    found: dict[Piece, list[str]] = {}
    for piece in wanted:
        for kind, (table, name, column) in _RECORDS.items():
            condition = " OR ".join(f"instr({column}, ?)" for _ in piece.forms)
            rows: Iterable[Any] = connection.execute(
                f"SELECT DISTINCT {name} FROM {table} WHERE {condition} LIMIT {_MOST_COPIES}",  # noqa: S608
                piece.forms,
            )
            for (one,) in rows:
                found.setdefault(piece, []).append(f"{kind} {bytes(one).decode('utf-8', 'replace')[:64]}")
    return found


def packed_copies(connection: apsw.Connection, wanted: Iterable[Piece]) -> dict[Piece, list[str]]:
    """Return the pieces that packed originals still contain, each with the names of some of these originals."""
    found: dict[Piece, list[str]] = {}
    pieces = list(wanted)
    for segment in segments_in(connection):
        near = [one for one in pieces if len(found.get(one, ())) < _MOST_COPIES and _is_in(one, segment.raw)]
        for original in segment.originals() if near else ():
            for piece in near:
                if _is_in(piece, original.content):
                    found.setdefault(piece, []).append(f"original {original.ref[:64]}")
    return found


def _is_in(piece: Piece, text: bytes) -> bool:
    return any(form in text for form in piece.forms)


def _of(text: str) -> Iterator[Piece]:
    text = text.strip()
    if len(text) < _LEAST_CHARACTERS:
        return
    room = len(text) - _PIECE_CHARACTERS
    starts = [0] if room <= 0 else sorted({room * one // (_OF_ONE_TEXT - 1) for one in range(_OF_ONE_TEXT)})
    for start in starts:
        part = text[start : start + _PIECE_CHARACTERS]
        if len(set(part.strip())) >= _LEAST_CHARACTERS:  # a row of dashes is in many files
            yield _piece(part)
    names = chain.from_iterable(map(_names, _WORD.findall(text[:_LOOKED_AT_CHARACTERS])))
    yield from map(_piece, list(dict.fromkeys(names))[:_NAMES_OF_ONE_TEXT])


def _names(word: str) -> Iterator[str]:
    """Yield pieces of a word around its digits: most secrets look like that."""
    while (digit := _DIGIT.search(word)) and len(name := word[(start := max(0, digit.start() - 20)) :][:48]) >= 10:
        yield name
        word = word[start + len(name) :]


def _piece(part: str) -> Piece:
    plain, quoted = part.encode(), json.dumps(part)[1:-1].encode()
    return Piece((plain,) if plain == quoted else (plain, quoted))


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's content in blocks that overlap."""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        size_bytes, offset = file.xFileSize(), 0
        while offset < size_bytes:
            yield file.xRead(min(_BLOCK_BYTES, size_bytes - offset), offset)
            offset += _BLOCK_BYTES - _OVERLAP_BYTES
    finally:
        file.xClose()
