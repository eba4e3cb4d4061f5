"""Decisions about entries: each is made one time, and applied again on every later turn.

Law: runs inside a transaction that the caller opened; a decision names an original of its own session.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from undrift.errors import StoreCorrupt, StoreError
from undrift.stores import figures, rows, segments
from undrift.stores.table import Table, Writing
from undrift.values.detail import Detail
from undrift.values.window import Decision

__all__ = [
    "DECISION_COLUMNS",
    "DECISION_SESSION",
    "TABLE",
    "decision_from",
    "decision_row",
    "halves",
    "joined",
    "many_decisions",
]

DECISION_COLUMNS = f"""number, record_sha256, CAST(session_id AS BLOB), CAST(entry_id AS BLOB), CAST(kind AS BLOB),
    CAST(reason AS BLOB), tokens_saved, CAST(ref AS BLOB), CAST(detail AS BLOB), {figures.COLUMN}"""
"""The columns of the table `decisions`, which must have this name in the statement."""
DECISION_SESSION = 2
"""The session's index in the columns."""
_ADD_DECISION = f"""INSERT INTO decisions(session_id, entry_id, kind, reason, tokens_saved, ref, record_sha256, detail,
    place, figures_number, from_seq) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(session_id, entry_id, {figures.PLACE}) WHERE to_seq IS NULL
    DO NOTHING RETURNING number"""
_SAME_DECISION = """SELECT 1 FROM decisions
    WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL AND record_sha256 = ?"""
_OWN_ORIGINAL = f"SELECT 1 FROM originals o WHERE o.ref = ?1 AND {segments.OF_SESSION.format('?2')}"  # noqa: S608
_REMOVED = """SELECT o.number FROM decisions d CROSS JOIN originals o
    WHERE d.number BETWEEN ? AND ? AND d.from_seq = ? AND d.kind = 'pruned'
    AND o.session_id = d.session_id AND o.entry_id = d.entry_id AND o.source = 'buffer' AND o.to_seq IS NULL"""
"""CROSS JOIN: the new decisions first, each looked up in the index of the entries in buffers."""

_ROWS = b',"rows":['
"""The beginning of the part of a detail that no other decision has, and that uses much memory when decoded."""
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


def decision_row(session_id: str, decision: Decision) -> rows.Row:
    """Return the values of a new decision: session_id, entry_id, kind, reason, tokens_saved, ref, record_sha256, detail."""
    ref = decision.ref or None
    detail = rows.dump(decision.detail, "decision about %r: detail", decision.entry_id, encode=rows.ENCODE_SORTED)
    saved = decision.tokens_saved
    rows.check_integers("decision about %r: ", decision.entry_id, tokens_saved=saved)
    texts = (session_id, decision.entry_id, decision.kind, decision.reason)
    digest = rows.digest(*map(rows.raw, texts), saved, rows.raw(ref) if ref else None, detail)
    return *map(rows.key, texts), saved, rows.key(ref) if ref else None, digest, detail


def decision_from(row: rows.Row) -> Decision:
    """Read a decision from a row with the `DECISION_COLUMNS`. Raises StoreCorrupt."""
    return _decision(figures.whole(row), rows.text_from, rows.load)


def many_decisions() -> Callable[[rows.Row], Decision]:
    """Read decisions from many rows; equal texts and details are stored in memory only one time."""
    texts: dict[bytes, str] = {}
    whole = joined()

    def text(value: bytes) -> str:
        return texts.get(value) or texts.setdefault(value, rows.text_from(value))

    return lambda row: _decision(figures.whole(row), text, lambda value: whole(*halves(value)))


def halves(detail: bytes) -> tuple[bytes, bytes]:
    """Split a detail before the rows that stay of a result, else before the last two names.

    The figures of a plan come first, and many decisions share them.
    """
    head = detail.partition(_ROWS)[0] if _ROWS in detail else detail.rsplit(b",", 2)[0]
    return head, detail[len(head) :]


def joined() -> Callable[[bytes, bytes], Mapping[str, Any]]:
    """Return a function from the `halves` of a detail to the detail; it decodes equal halves once."""
    parts: dict[bytes, dict[str, Any]] = {}

    def detail(head: bytes, rest: bytes) -> Mapping[str, Any]:
        end = b"{" + rest[1:]
        try:
            common = parts.get(head) or parts.setdefault(head, _DECODE(head + b"}"))
            own = parts.get(end) or _DECODE(end)
        except msgspec.DecodeError:  # the comma is inside of a value, or missing
            own = common = {"": None}
        if not common.keys().isdisjoint(own):
            whole: Mapping[str, Any] = rows.load(head + rest)
            return whole
        return Detail(common, end if rest.startswith(_ROWS) else parts.setdefault(end, own))

    return detail


def _decision(row: rows.Row, text: Callable[[bytes], str], detail: Callable[[bytes], Mapping[str, Any]]) -> Decision:
    number, digest, _, entry_id, kind, reason, tokens_saved, ref, given = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"decision {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        kind_: Any = text(kind)
        entry, name = rows.text_from(entry_id), rows.text_from(ref or b"")
        return Decision(entry, kind_, text(reason), tokens_saved, name, detail(given))
    except rows.FORGED as error:
        raise StoreCorrupt(f"decision {number} was not written by undrift: {error}; {rows.REMEDY}") from error


def _prepared(session_id: str, decisions: Sequence[Decision]) -> list[figures.Share]:
    made = [decision_row(session_id, one) for one in decisions]
    return figures.shares(made, [one.detail for one in decisions])


def _write(writing: Writing, decisions: Sequence[figures.Share]) -> None:
    """Insert decisions; originals that they remove from a buffer become searchable with the operation."""
    connection, own, seq = writing.connection, writing.refs, writing.seq
    for row, _, _ in decisions:
        session_id, entry_id, ref = row[0], row[1], row[5]
        if ref is not None and ref not in own and not connection.execute(_OWN_ORIGINAL, (ref, session_id)).fetchall():
            raise StoreError(
                f"decision about {entry_id!r}: the session has no original {ref!r}; nothing was written. "
                "Commit the original with the decision, or before it"
            )
    numbers = figures.store(writing, decisions)
    new = [(*one.row, one.place, number, seq) for one, number in zip(decisions, numbers, strict=True)]
    added: list[Any] = connection.executemany(_ADD_DECISION, new).fetchall()
    if len(added) < len(decisions):
        figures.tidy(writing, decisions[0].row[0])
        for row, _, _ in decisions:
            if not connection.execute(_SAME_DECISION, (row[0], row[1], row[6])).fetchall():
                raise StoreError(
                    f"entry {row[1]!r}: another decision about it is stored; nothing was written. "
                    "A decision is made once and applied again on every later turn"
                )
    if added:
        (first,), (last,) = min(added), max(added)
        writing.indexed |= {number for (number,) in connection.execute(_REMOVED, (first, last, seq))}


TABLE = Table(
    "decisions",
    DECISION_COLUMNS,
    decision_from,
    changes=(Decision,),
    prepare=_prepared,
    write=_write,
    key=f"t.entry_id || ' ' || coalesce(json_extract(t.detail, '$.at'), {figures.AT}, '')",
    rewinds=True,
)
