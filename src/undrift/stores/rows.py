"""Records to rows and back: bytes that survive anything, and a SHA-256 over every record. Pure.

SQLite has no checksum of its own: of 400 flipped bits 267 gave a wrong answer without an error (RELIABILITY 1.2). So a
row is read as bytes, compared with its hash, and only then decoded.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from undrift.errors import InputError, StoreCorrupt
from undrift.stores.base import Operation
from undrift.types import ContextEntry, Decision, MaskedSpan, Original

__all__ = [
    "DECISION_COLUMNS",
    "DECISION_SESSION",
    "OPERATION_COLUMNS",
    "OPERATION_SESSION",
    "ORIGINAL_COLUMNS",
    "ORIGINAL_SESSION",
    "REMEDY",
    "Row",
    "StoredOriginal",
    "decision_from",
    "decision_row",
    "key",
    "operation_from",
    "operation_row",
    "original_from",
    "original_row",
    "raw",
]

Row = tuple[Any, ...]

REMEDY = (
    "it is not given out, everything else still is. `undrift doctor` lists what is damaged, "
    "`undrift restore-backup` puts a backup in the store's place"
)

OPERATION_COLUMNS = "seq, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), at_ms, CAST(payload AS BLOB)"
DECISION_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(entry_id AS BLOB), CAST(kind AS BLOB),
    CAST(reason AS BLOB), tokens_saved, CAST(ref AS BLOB), CAST(detail AS BLOB)"""
ORIGINAL_COLUMNS = """number, record_sha256, CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(source AS BLOB),
    CAST(entry_id AS BLOB), CAST(type AS BLOB), token_count, timestamp, entry_seq, sha256, CAST(metadata AS BLOB),
    CAST(masked AS BLOB), content"""
"""What `operation_from`, `decision_from` and `original_from` take: everything that is hashed, text as bytes."""

OPERATION_SESSION, DECISION_SESSION, ORIGINAL_SESSION = 2, 2, 3
"""Where the session stands in them."""


class StoredOriginal(NamedTuple):
    """An original and the store's own number of it."""

    number: int
    original: Original


def raw(text: str) -> bytes:
    """Return the bytes of a string; lone surrogates, which JSON can carry, survive."""
    return text.encode("utf-8", "surrogatepass")


def key(text: str) -> str | bytes:
    """Return what stands for a string in the database: itself, or its bytes where SQLite could not hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return raw(text)
    return text


def operation_row(session_id: str, kind: str, at_ms: int, payload: Mapping[str, Any] | None) -> Row:
    """Return the values of a new operation, in the order session_id, kind, at_ms, record_sha256, payload."""
    text = _dump(payload, "payload")
    at_ms = _integer(at_ms, "at_ms")
    return key(session_id), key(kind), at_ms, _digest(raw(session_id), raw(kind), at_ms, text), text


def operation_from(row: Row) -> Operation:
    """Return an operation, or raise StoreCorrupt."""
    seq, digest, _, kind, at_ms, payload = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"operation {seq} does not match its SHA-256; {REMEDY}")
    return Operation(seq, _text(kind), at_ms, _load(payload))


def decision_row(session_id: str, decision: Decision) -> Row:
    """Return the values of a new decision: session_id, entry_id, kind, reason, tokens_saved, ref, record_sha256, detail."""
    ref = decision.ref or None
    detail = _dump(decision.detail, f"decision about {decision.entry_id!r}: detail", sort=True)
    saved = _integer(decision.tokens_saved, f"decision about {decision.entry_id!r}: tokens_saved")
    texts = (session_id, decision.entry_id, decision.kind, decision.reason)
    digest = _digest(*map(raw, texts), saved, raw(ref) if ref else None, detail)
    return *map(key, texts), saved, key(ref) if ref else None, digest, detail


def decision_from(row: Row) -> Decision:
    """Return a decision, or raise StoreCorrupt."""
    number, digest, _, entry_id, kind, reason, tokens_saved, ref, detail = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"decision {number} does not match its SHA-256; {REMEDY}")
    return Decision(
        _text(entry_id), cast(Any, _text(kind)), _text(reason), tokens_saved, _text(ref or b""), _load(detail)
    )


def original_row(original: Original) -> Row:
    """Return the values of a new original: the columns of the table from ref to content, without from_seq and to_seq."""
    entry = original.entry
    content = raw(entry.content)
    sha256 = hashlib.sha256(content).digest()
    metadata = _dump(entry.metadata, f"entry {entry.id!r}: metadata")
    spans = [(span.name, span.start, span.length) for span in original.masked]
    masked = _dump(spans, f"entry {entry.id!r}: masked") if spans else None
    texts = (original.ref, original.session_id, original.source, entry.id, entry.type)
    numbers = tuple(
        _integer(getattr(entry, name), f"entry {entry.id!r}: {name}") for name in ("token_count", "timestamp", "seq")
    )
    digest = _digest(*map(raw, texts), *numbers, sha256, metadata, masked)
    return *map(key, texts), *numbers, sha256, digest, metadata, masked, content


def original_from(row: Row) -> StoredOriginal:
    """Return an original, or raise StoreCorrupt; the message names its reference."""
    number, digest, ref, session_id, source, entry_id, kind = row[:7]
    tokens, timestamp, seq, sha256, metadata, masked, content = row[7:]
    if not isinstance(content, bytes) or hashlib.sha256(content).digest() != sha256 or digest != _digest(*row[2:-1]):
        raise StoreCorrupt(
            f"original {_shown(ref)} does not match its SHA-256: what the disk holds is not what was stored; {REMEDY}"
        )
    spans = tuple(MaskedSpan(*span) for span in _load(masked) or ())
    entry = ContextEntry(
        _text(entry_id), cast(Any, _text(kind)), _text(content), tokens, timestamp, _load(metadata), seq=seq
    )
    return StoredOriginal(number, Original(_text(ref), _text(session_id), cast(Any, _text(source)), entry, spans))


def _digest(*parts: bytes | str | int | None) -> bytes:
    """Hash values with their lengths, so that nothing can move from one to the next."""
    pieces = []
    for part in parts:
        if part is None:
            pieces.append(b"-")
            continue
        data = part if isinstance(part, bytes) else str(part).encode()
        pieces.append(b"%d:%b" % (len(data), data))
    return hashlib.sha256(b",".join(pieces)).digest()


def _integer(value: int, name: str) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise InputError(f"{name}: must be an integer of at most 64 bits, not {value!r}")
    return value


def _dump(value: Any, name: str, *, sort: bool = False) -> str | None:
    """Return JSON in ASCII; what JSON cannot hold is the caller's mistake."""
    if value is None:
        return None
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain, sort_keys=sort)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: must consist of JSON values: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is none")


def _load(value: bytes | None) -> Any:
    return None if value is None else json.loads(value)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


def _shown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
