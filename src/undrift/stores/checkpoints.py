"""Checkpoints of decisions: many of a session in one record, so that a restart need not read each one from its own row.

Law: derived. A checkpoint counts only while each row that it was made of is active and has the same SHA-256. The
rows replace one that is missing, damaged or foreign. It holds no text, and no decision with one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import apsw
import msgspec

from undrift.errors import StoreCorrupt
from undrift.stores import readings, rows
from undrift.stores.decisions import DECISION_COLUMNS, decision_from, halves, joined
from undrift.stores.figures import whole
from undrift.stores.table import Writing
from undrift.values.readings import StretchReading
from undrift.values.window import Decision

__all__ = ["KEY", "extend", "kept"]

KEY = "decisions 1"
"""It tells them apart from readings of bytes. The number rises whenever the shape of a record changes."""
_LEAST = 512
_MOST = 2_048  # in one record: a commit does not wait for more
_KINDS = "('pruned', 'trimmed')"
_LAST = "SELECT length FROM readings WHERE session_id = ? AND key = ? ORDER BY number DESC LIMIT 1"
_NEW = f"""SELECT {{}} FROM decisions
    WHERE session_id = ?1 AND from_seq >= coalesce((SELECT from_seq FROM decisions WHERE number = ?2), 0)
    AND number > ?2 AND to_seq IS NULL AND kind IN {_KINDS} ORDER BY number LIMIT {{}}"""  # noqa: S608
_KEPT = f"""SELECT {readings.READING_COLUMNS} FROM readings
    WHERE session_id = ? AND key = ? ORDER BY number"""  # noqa: S608


class _Record(msgspec.Struct):
    """Decisions, column by column; the columns are equally long.

    Args:
        numbers: Of the rows.
        reasons: Places in `texts`.
        heads: Places in `texts` of the first half of each detail; the second half is among `ends`.
    """

    numbers: list[int]
    entries: list[str]
    kinds: list[Literal["pruned", "trimmed"]]
    reasons: list[int]
    tokens_saved: list[int]
    refs: list[str]
    heads: list[int]
    ends: list[int]
    texts: list[str]

    @classmethod
    def of(cls, found: Sequence[rows.Row]) -> "_Record":
        """Return the record of some rows. Raises StoreCorrupt: one does not match its SHA-256."""
        places: dict[str, int] = {}
        made = cls([], [], [], [], [], [], [], [], [])
        for row in found:
            one = decision_from(row)
            head, end = halves(whole(row)[-1])
            made.numbers.append(row[0])
            made.entries.append(one.entry_id)
            made.kinds.append(one.kind)  # type: ignore[arg-type]
            made.tokens_saved.append(one.tokens_saved)
            made.refs.append(one.ref)
            for column, text in (
                (made.reasons, one.reason),
                (made.heads, rows.text_from(head)),
                (made.ends, rows.text_from(end)),
            ):
                column.append(places.setdefault(text, len(places)))
        made.texts = [*places]
        return made

    def decisions(self) -> list[Decision]:
        """Return the decisions; what is wrong raises one of `_FORGED`."""
        raw, detail = [*map(rows.raw, self.texts)], joined()
        both = [*zip(self.heads, self.ends, strict=True)]
        details = {pair: detail(raw[pair[0]], raw[pair[1]]) for pair in {*both}}  # fewer objects: many have equal ones
        reasons = map(self.texts.__getitem__, self.reasons)
        columns = (self.entries, self.kinds, reasons, self.tokens_saved, self.refs, map(details.__getitem__, both))
        return [Decision(*row) for row in zip(*columns, strict=True)]


_DECODE = msgspec.json.Decoder(_Record).decode
_FORGED = (*rows.FORGED, IndexError, StoreCorrupt)


def extend(writing: Writing) -> None:
    """Write a checkpoint where enough decisions of the session stand in none."""
    connection, session = writing.connection, rows.key(writing.session_id)
    lasts: list[Any] = connection.execute(_LAST, (session, KEY)).fetchall()
    place = (session, lasts[0][0] if lasts else 0)
    if len(connection.execute(_NEW.format("number", _LEAST), place).fetchall()) < _LEAST:
        return
    found: list[Any] = connection.execute(_NEW.format(DECISION_COLUMNS, _MOST), place).fetchall()
    try:
        record = msgspec.json.encode(_Record.of(found))
    except (StoreCorrupt, UnicodeEncodeError):  # these stay in their rows; the next checkpoint starts behind them
        record = b""
    digest = _digest([row[1] for row in found])
    readings.add(writing, [StretchReading(KEY, "", digest, found[-1][0], record)])


def kept(connection: apsw.Connection, session_id: str, listed: Mapping[int, bytes]) -> dict[bytes, Decision]:
    """Return the decisions of a session's checkpoints, each under its SHA-256.

    `listed`: the SHA-256 of each active decision under its number.
    """
    found: dict[bytes, Decision] = {}
    for row in connection.execute(_KEPT, (rows.key(session_id), KEY)):
        try:
            one = readings.reading_from(row)
            record = _DECODE(one.record)
            digests = [listed[number] for number in record.numbers]
            if one.sha256 == _digest(digests):
                found.update(zip(digests, record.decisions(), strict=True))
        except (*_FORGED, KeyError):  # after a rewinding a row is no longer active
            continue
    return found


def _digest(digests: Sequence[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()
