"""The figures that the decisions of one prune share: stored once for each operation, not in each decision.

Law: a decision that is read is the one that was written, to the byte; its SHA-256 is of all of it, the shared part
included. A decision that shares nothing stands in its own row alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.stores import rows
from undrift.stores.table import Table, Writing

__all__ = ["AT", "COLUMN", "PLACE", "Share", "TABLE", "create", "shares", "store", "tidy", "whole"]

_CREATE = """
CREATE TABLE figures(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    record TEXT NOT NULL  -- JSON: values of each decision's detail, and the beginning and the end of its reason
);
CREATE INDEX figures_of_session ON figures(session_id);
ALTER TABLE decisions ADD COLUMN figures_number INTEGER;  -- NULL: the row itself holds everything
ALTER TABLE decisions ADD COLUMN place BLOB;  -- with figures: the first half of their "at"
DROP INDEX decisions_in_force;
CREATE UNIQUE INDEX decisions_in_force ON decisions(session_id, entry_id, {place}) WHERE to_seq IS NULL;
"""
PLACE = "coalesce(unhex(substr(json_extract(detail, '$.at'), 1, 16)), json_extract(detail, '$.at'), place, '')"
"""SQL: the history for which a decision was made, as the index of the active decisions has it. 64 bits tell two apart."""
COLUMN = "(SELECT CAST(f.record AS BLOB) FROM figures f WHERE f.number = decisions.figures_number)"
"""SQL: the shared part of a row of decisions, for `whole`; NULL for a row without one."""
AT = "(SELECT json_extract(f.record, '$.detail.at') FROM figures f WHERE f.number = t.figures_number)"
"""SQL: the shared "at" of decision `t`."""

_ADD = "INSERT INTO figures(session_id, from_seq, record) VALUES(?, ?, ?) RETURNING number"
_UNUSED = """DELETE FROM figures WHERE from_seq = ?1 AND session_id = ?2 AND NOT EXISTS (
    SELECT 1 FROM decisions d WHERE d.session_id = ?2 AND d.from_seq = ?1 AND d.figures_number = figures.number)"""
_LEAST = 2  # decisions: a row of figures is longer than what it saves for one
_OF_A_PRUNE = "total_tokens"  # in the detail of each decision of a prune, and of no other
_AT = "at"
_HISTORY = re.compile(r"[0-9a-f]{32}")
_DIGITS = re.compile(r"[0-9.,]+")
_REASON, _DETAIL = 3, 7
"""Places in the row of a new decision, see `decision_row`."""


class Share(NamedTuple):
    """A new decision as it is written: its row, and the part that it shares with others, as JSON; empty without one."""

    row: rows.Row
    place: bytes | None = None
    shared: str = ""


def create(connection: apsw.Connection) -> None:
    """Make the table and the columns that lead to it; decisions that are there keep their own figures."""
    connection.execute(_CREATE.format(place=PLACE))


def shares(whole_rows: Sequence[rows.Row], details: Iterable[Mapping[str, Any]]) -> list[Share]:
    """Move the parts that decisions share out of their rows.

    `details`: the detail of each.
    """
    found = [Share(row) for row in whole_rows]
    groups: dict[tuple[Any, ...], list[tuple[int, Mapping[str, Any]]]] = {}
    for number, detail in enumerate(details):
        at, reason = detail.get(_AT), whole_rows[number][_REASON]
        if _OF_A_PRUNE in detail and isinstance(at, str) and _HISTORY.fullmatch(at) and isinstance(reason, str):
            groups.setdefault((at, _DIGITS.sub("0", reason), *sorted(detail)), []).append((number, detail))
    for group in groups.values():
        if len(group) >= _LEAST:
            for number, one in _shared([(number, whole_rows[number], detail) for number, detail in group]):
                found[number] = one
    return found


def store(writing: Writing, given: Sequence[Share]) -> list[int | None]:
    """Store the shared parts of new decisions; return the number of each decision's part."""
    numbers: dict[str, int | None] = {"": None}
    for one in given:
        if one.shared not in numbers:
            found: list[Any] = writing.connection.execute(_ADD, (one.row[0], writing.seq, one.shared)).fetchall()
            ((numbers[one.shared],),) = found
    return [numbers[one.shared] for one in given]


def tidy(writing: Writing, session: str | bytes) -> None:
    """Remove shared parts of this operation that no decision needs, because the decisions were stored before."""
    writing.connection.execute(_UNUSED, (writing.seq, session))


def whole(row: rows.Row) -> rows.Row:
    """Return a row of decisions as if it held everything itself; it ends with its detail.

    A part that is not ours makes a row that does not match its SHA-256. `row`: its last value is that of `COLUMN`.
    """
    *own, shared = row
    if shared is None:
        return tuple(own)
    try:
        common = rows.load(shared)
        before, after = common["reason"]
        own[5] = b"%b%b%b" % (rows.raw(before), own[5], rows.raw(after))
        own[8] = rows.raw(rows.ENCODE_SORTED({**common["detail"], **rows.load(own[8])}))
    except (*rows.FORGED, LookupError):
        own[8] = b""
    return tuple(own)


def _shared(group: Sequence[tuple[int, rows.Row, Mapping[str, Any]]]) -> Iterable[tuple[int, Share]]:
    """Yield the decisions of one group without what all of them have."""
    first = group[0][2]
    common = {name for name in first if all(_are_same(detail[name], first[name]) for _, _, detail in group)}
    reasons = [row[_REASON] for _, row, _ in group]
    before = _beginning(reasons)
    after = _beginning([reason[len(before) :][::-1] for reason in reasons])[::-1]
    record = {"detail": {name: first[name] for name in common}, "reason": [before, after]}
    shared = rows.ENCODE_SORTED(record)
    for number, row, detail in group:
        reason = row[_REASON][len(before) : len(row[_REASON]) - len(after)]
        own = rows.ENCODE_SORTED({name: value for name, value in detail.items() if name not in common})
        lean = (*row[:_REASON], reason, *row[_REASON + 1 : _DETAIL], own)
        yield number, Share(lean, bytes.fromhex(first[_AT][:16]), shared)


def _beginning(texts: Sequence[str]) -> str:
    """Return the characters with which all texts begin."""
    first, last = min(texts), max(texts)
    size = next(
        (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )
    return first[:size]


def _are_same(one: Any, other: Any) -> bool:
    """Tell whether two values are written alike; 1, 1.0 and True are equal, and are not."""
    return one is other or (one == other and rows.ENCODE_SORTED(one) == rows.ENCODE_SORTED(other))


TABLE = Table("figures")
