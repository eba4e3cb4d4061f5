"""Records to rows and back: bytes that survive anything, and a SHA-256 over every record. Pure.

SQLite has no checksum of its own: of 400 flipped bits 267 gave a wrong answer without an error (RELIABILITY 1.2). So a
row is read as bytes, compared with its hash, and only then decoded.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from undrift.errors import InputError, StoreCorrupt
from undrift.stores.base import Mark, Operation, SessionRow
from undrift.values.facts import FactVersion, SessionFact
from undrift.values.memory import MemoryEntry, Slot
from undrift.values.window import ContextEntry, Decision, MaskedSpan, Moment, Original, Segment, Tag, Task

__all__ = [
    "DECISION_COLUMNS",
    "DECISION_SESSION",
    "DOCUMENT_COLUMNS",
    "DOCUMENT_SESSION",
    "FACT_COLUMNS",
    "FACT_SESSION",
    "MARK_COLUMNS",
    "MEMORY_COLUMNS",
    "OPERATION_COLUMNS",
    "OPERATION_SESSION",
    "ORIGINAL_COLUMNS",
    "ORIGINAL_SESSION",
    "REMEDY",
    "RUN_COLUMNS",
    "RUN_SESSION",
    "Row",
    "StoredOriginal",
    "TAG_COLUMNS",
    "TAG_SESSION",
    "TASK_COLUMNS",
    "TASK_SESSION",
    "decision_from",
    "decision_row",
    "document_content",
    "document_from",
    "document_row",
    "fact_from",
    "fact_row",
    "key",
    "mark_from",
    "mark_row",
    "memory_from",
    "memory_row",
    "operation_from",
    "operation_row",
    "original_from",
    "original_row",
    "raw",
    "run_from",
    "run_row",
    "session_from",
    "shown_text",
    "tag_from",
    "tag_row",
    "task_from",
    "task_row",
]

Row = tuple[Any, ...]

_SIZES = tuple(b"%d:" % size for size in range(256))
"""What stands before a value that is hashed, made once: eleven of them are formatted for each original."""

REMEDY = (
    "it is not given out, everything else still is. `undrift doctor` lists what is damaged, "
    "`undrift restore-backup` puts a backup in the store's place"
)

_FORGED = (AttributeError, InputError, RecursionError, TypeError, ValueError)
"""What a record raises that matches its hash and is none of ours, as in a file that someone made to be restored."""

OPERATION_COLUMNS = "seq, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), at_ms, CAST(payload AS BLOB)"
DECISION_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(entry_id AS BLOB), CAST(kind AS BLOB),
    CAST(reason AS BLOB), tokens_saved, CAST(ref AS BLOB), CAST(detail AS BLOB)"""
MARK_COLUMNS = "number, record_sha256, CAST(session_id AS BLOB), CAST(mark AS BLOB), CAST(kind AS BLOB)"
ORIGINAL_COLUMNS = """number, record_sha256, CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(source AS BLOB),
    CAST(entry_id AS BLOB), CAST(type AS BLOB), token_count, timestamp, entry_seq, sha256, CAST(metadata AS BLOB),
    CAST(masked AS BLOB), content"""
TASK_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(task_id AS BLOB), CAST(agent AS BLOB), ordinal,
    is_worked_on, CAST(record AS BLOB)"""
MEMORY_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(memory_id AS BLOB), CAST(scope AS BLOB),
    CAST(owner AS BLOB), CAST(record AS BLOB)"""
TAG_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(call_id AS BLOB), CAST(task_id AS BLOB),
    segment"""
FACT_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), sequence, CAST(fact_id AS BLOB), is_valid,
    CAST(record AS BLOB)"""
RUN_COLUMNS = "number, record_sha256, CAST(session_id AS BLOB), CAST(name AS BLOB), CAST(record AS BLOB)"
DOCUMENT_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), CAST(name AS BLOB), sha256,
    CAST(record AS BLOB)"""
"""What `operation_from` and the others take: everything that is hashed, text as bytes."""

OPERATION_SESSION, DECISION_SESSION, ORIGINAL_SESSION, TASK_SESSION, TAG_SESSION, FACT_SESSION = 2, 2, 3, 2, 2, 2
RUN_SESSION = DOCUMENT_SESSION = 2
"""Where the session stands in them."""


_IN_COLUMNS = frozenset({"id", "scope"})
_OFTEN_EMPTY = frozenset(
    {"contradiction_rule", "pinned", "source", "speaker", "agent", "session_id", "slots", "metadata"}
)
"""Of a memory's record: left out where nothing is in them, like all that is None, which halves it: the defaults say the same."""


class StoredOriginal(NamedTuple):
    """An original and the store's own number of it."""

    number: int
    original: Original


def raw(text: str) -> bytes:
    """Return the bytes of a string; lone surrogates, which JSON can carry, survive."""
    return text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")


def key(text: str) -> str | bytes:
    """Return what stands for a string in the database: itself, or its bytes where SQLite could not hold it."""
    if text.isascii():  # nearly all: nothing has to be tried
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return raw(text)
    return text


def operation_row(session_id: str, kind: str, at_ms: int, payload: Mapping[str, Any] | None) -> Row:
    """Return the values of a new operation, in the order session_id, kind, at_ms, record_sha256, payload."""
    text = _dump(payload, "payload")
    _check_integers("", at_ms=at_ms)
    return key(session_id), key(kind), at_ms, _digest(raw(session_id), raw(kind), at_ms, text), text


def operation_from(row: Row) -> Operation:
    """Return an operation, or raise StoreCorrupt."""
    seq, digest, _, kind, at_ms, payload = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"operation {seq} does not match its SHA-256; {REMEDY}")
    try:
        return Operation(seq, _text(kind), at_ms, _load(payload))
    except _FORGED as error:
        raise StoreCorrupt(f"operation {seq} was not written by undrift: {error}; {REMEDY}") from error


def session_from(row: Any) -> SessionRow:
    """Return a session as it is listed; its name is left out where the record of it is damaged."""
    session_id, operations, originals, decisions, first_at_ms, last_at_ms, named = row
    try:
        name = json.loads(shown_text(named))["name"] if named else ""
    except (ValueError, LookupError, TypeError):
        name = ""
    name = name if isinstance(name, str) else ""
    return SessionRow(shown_text(session_id), operations, originals, decisions, first_at_ms, last_at_ms, name)


def shown_text(value: Any) -> str:
    """Return a text that is only to be shown: what is damaged of it shows as a replacement character."""
    data = bytes(value)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def decision_row(session_id: str, decision: Decision) -> Row:
    """Return the values of a new decision: session_id, entry_id, kind, reason, tokens_saved, ref, record_sha256, detail."""
    ref = decision.ref or None
    detail = _dump(decision.detail, "decision about %r: detail", decision.entry_id, encode=_ENCODE_SORTED)
    saved = decision.tokens_saved
    _check_integers("decision about %r: ", decision.entry_id, tokens_saved=saved)
    texts = (session_id, decision.entry_id, decision.kind, decision.reason)
    digest = _digest(*map(raw, texts), saved, raw(ref) if ref else None, detail)
    return *map(key, texts), saved, key(ref) if ref else None, digest, detail


def decision_from(row: Row) -> Decision:
    """Return a decision, or raise StoreCorrupt."""
    number, digest, _, entry_id, kind, reason, tokens_saved, ref, detail = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"decision {number} does not match its SHA-256; {REMEDY}")
    try:
        kind_: Any = _text(kind)
        return Decision(_text(entry_id), kind_, _text(reason), tokens_saved, _text(ref or b""), _load(detail))
    except _FORGED as error:
        raise StoreCorrupt(f"decision {number} was not written by undrift: {error}; {REMEDY}") from error


def mark_row(session_id: str, mark: Mark) -> Row:
    """Return the values of a new mark, in the order mark, kind, session_id, record_sha256."""
    digest = _digest(raw(session_id), raw(mark.text), raw(mark.kind))
    return key(mark.text), mark.kind, key(session_id), digest


def mark_from(row: Row) -> tuple[Mark, str]:
    """Return a mark and its session, or raise StoreCorrupt."""
    number, digest, session_id, text, kind = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"mark {number} does not match its SHA-256; {REMEDY}")
    try:
        kind_: Any = _text(kind)
        return Mark(_text(text), kind_), _text(session_id)
    except _FORGED as error:
        raise StoreCorrupt(f"mark {number} was not written by undrift: {error}; {REMEDY}") from error


def task_row(session_id: str, task: Task) -> Row:
    """Return the values of a version of a task: session_id, task_id, agent, ordinal, is_worked_on, record_sha256, record."""
    fields = asdict(task)
    for name in ("id", "agent", "ordinal"):  # these have columns of their own
        del fields[name]
    record = _dump(fields, "task %r", task.id, encode=_ENCODE_SORTED)
    _check_integers("task %r: ", task.id, ordinal=task.ordinal)
    texts, numbers = (session_id, task.id, task.agent), (task.ordinal, int(task.is_worked_on))
    return *map(key, texts), *numbers, _digest(*map(raw, texts), *numbers, record), record


def task_from(row: Row) -> Task:
    """Return a task, or raise StoreCorrupt."""
    number, digest, _, task_id, agent, ordinal, _, record = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"task {number} does not match its SHA-256; {REMEDY}")
    try:
        fields = _load(record)
        fields["acceptance_criteria"] = tuple(fields["acceptance_criteria"])
        fields["segments"] = tuple(map(_segment, fields["segments"]))
        return Task(_text(task_id), agent=_text(agent), ordinal=ordinal, **fields)
    except (*_FORGED, KeyError) as error:
        raise StoreCorrupt(f"task {number} was not written by undrift: {error}; {REMEDY}") from error


def _segment(fields: dict[str, Any]) -> Segment:
    end = fields["end"]
    moments = {"start": Moment(**fields["start"]), "end": None if end is None else Moment(**end)}
    return Segment(**{**fields, **moments})


def memory_row(session_id: str, entry: MemoryEntry) -> Row:
    """Return the values of a version of a memory: session_id, memory_id, scope, owner, record_sha256, record."""
    fields: dict[str, Any] = {}
    for name in entry.__slots__:
        value = getattr(entry, name)
        if name not in _IN_COLUMNS and value is not None and (value or name not in _OFTEN_EMPTY):
            fields[name] = [asdict(slot) for slot in value] if name == "slots" else value
    record = _dump(fields, "memory %r", entry.id, encode=_ENCODE_SORTED)
    owner = {"agent": entry.agent, "session": entry.session_id}.get(entry.scope, "")
    texts = (session_id, entry.id, entry.scope, owner)
    return *map(key, texts), _digest(*map(raw, texts), record), record


def memory_from(row: Row) -> MemoryEntry:
    """Return a version of a memory, or raise StoreCorrupt."""
    number, digest, _, memory_id, scope, _, record = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"memory {number} does not match its SHA-256; {REMEDY}")
    try:
        fields = _load(record)
        fields["slots"] = tuple(Slot(**slot) for slot in fields.get("slots", ()))
        scope_: Any = _text(scope)
        return MemoryEntry(_text(memory_id), scope=scope_, **fields)
    except (*_FORGED, KeyError) as error:
        raise StoreCorrupt(f"memory {number} was not written by undrift: {error}; {REMEDY}") from error


def tag_row(session_id: str, tag: Tag) -> Row:
    """Return the values of a new tag: session_id, call_id, task_id, segment, record_sha256."""
    _check_integers("tag of call %r: ", tag.call_id, segment=tag.segment)
    texts = (session_id, tag.call_id, tag.task_id)
    return *map(key, texts), tag.segment, _digest(*map(raw, texts), tag.segment)


def tag_from(row: Row) -> Tag:
    """Return a tag, or raise StoreCorrupt."""
    number, digest, _, call_id, task_id, segment = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"tag {number} does not match its SHA-256; {REMEDY}")
    try:
        return Tag(_text(call_id), _text(task_id), segment)
    except _FORGED as error:
        raise StoreCorrupt(f"tag {number} was not written by undrift: {error}; {REMEDY}") from error


def run_row(session_id: str, name: str, record: Mapping[str, Any]) -> Row:
    """Return the values of a version of a run's record: session_id, name, record_sha256, record."""
    text = _dump(record, "run %r", session_id, encode=_ENCODE_SORTED)
    return key(session_id), key(name), _digest(raw(session_id), raw(name), text), text


def run_from(row: Row) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a run's record and the record, or raise StoreCorrupt."""
    number, digest, _, name, record = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"run record {number} does not match its SHA-256; {REMEDY}")
    try:
        return _text(name), _load(record)
    except _FORGED as error:
        raise StoreCorrupt(f"run record {number} was not written by undrift: {error}; {REMEDY}") from error


def document_row(session_id: str, kind: str, name: str, record: Mapping[str, Any], content: bytes) -> Row:
    """Return the values of a version of a document: session_id, kind, name, sha256, record_sha256, record, content."""
    text = _dump(record, "document %r", name, encode=_ENCODE_SORTED)
    sha256 = hashlib.sha256(content).digest()
    texts = (session_id, kind, name)
    return *map(key, texts), sha256, _digest(*map(raw, texts), sha256, text), text, content


def document_from(row: Row) -> tuple[int, str, Mapping[str, Any]]:
    """Return the number, the name and the record of a document, or raise StoreCorrupt; see `document_content`."""
    number, digest, _, _, name, _, record = row[:7]
    if digest != _digest(*row[2:7]):
        raise StoreCorrupt(f"document {number} does not match its SHA-256; {REMEDY}")
    try:
        return number, _text(name), _load(record)
    except _FORGED as error:
        raise StoreCorrupt(f"document {number} was not written by undrift: {error}; {REMEDY}") from error


def document_content(row: Row) -> bytes:
    """Return the content of a document, which stands behind `DOCUMENT_COLUMNS`, or raise StoreCorrupt."""
    content = row[7]
    if not isinstance(content, bytes) or hashlib.sha256(content).digest() != row[5]:
        raise StoreCorrupt(f"the content of document {row[0]} does not match its SHA-256; {REMEDY}")
    return content


def fact_row(session_id: str, version: FactVersion) -> Row:
    """Return the values of a version of a fact: session_id, sequence, fact_id, is_valid, record_sha256, record."""
    fact = version.fact
    fields = asdict(fact)
    for name in ("id", "run_id"):  # these have columns of their own
        del fields[name]
    record = _dump(fields, "fact %r", fact.id, encode=_ENCODE_SORTED)
    _check_integers("fact %r: ", fact.id, sequence=version.sequence)
    is_valid = int(fact.valid_to is None)
    digest = _digest(raw(session_id), version.sequence, raw(fact.id), is_valid, record)
    return key(session_id), version.sequence, key(fact.id), is_valid, digest, record


def fact_from(row: Row) -> FactVersion:
    """Return a version of a fact, or raise StoreCorrupt."""
    number, digest, session_id, sequence, fact_id, _, record = row
    if digest != _digest(*row[2:]):
        raise StoreCorrupt(f"fact {number} does not match its SHA-256; {REMEDY}")
    try:
        return FactVersion(sequence, SessionFact(_text(fact_id), run_id=_text(session_id), **_load(record)))
    except _FORGED as error:
        raise StoreCorrupt(f"fact {number} was not written by undrift: {error}; {REMEDY}") from error


def original_row(original: Original) -> Row:
    """Return the values of a new original: the columns of the table from ref to content, without from_seq and to_seq."""
    entry = original.entry
    content = raw(entry.content)
    sha256 = hashlib.sha256(content).digest()
    metadata = _dump(entry.metadata, "entry %r: metadata", entry.id)
    spans = [(span.name, span.start, span.length) for span in original.masked]
    masked = _dump(spans, "entry %r: masked", entry.id) if spans else None
    texts = (original.ref, original.session_id, original.source, entry.id, entry.type)
    numbers = (entry.token_count, entry.timestamp, entry.seq)
    _check_integers("entry %r: ", entry.id, token_count=numbers[0], timestamp=numbers[1], seq=numbers[2])
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
    try:
        spans = tuple(MaskedSpan(*span) for span in _load(masked)) if masked else ()
        type_: Any = _text(kind)
        from_: Any = _text(source)
        entry = ContextEntry(_text(entry_id), type_, _text(content), tokens, timestamp, _load(metadata), seq=seq)
        return StoredOriginal(number, Original(_text(ref), _text(session_id), from_, entry, spans))
    except _FORGED as error:
        raise StoreCorrupt(f"original {_shown(ref)} was not written by undrift: {error}; {REMEDY}") from error


def _digest(*parts: bytes | str | int | None) -> bytes:
    """Hash values with their lengths, so that nothing can move from one to the next."""
    pieces = []
    for part in parts:
        if part is None:
            pieces.append(b"-")
            continue
        data = part if isinstance(part, bytes) else str(part).encode()
        size = len(data)
        pieces.append(_SIZES[size] + data if size < len(_SIZES) else b"%d:%b" % (size, data))
    return hashlib.sha256(b",".join(pieces)).digest()


def _check_integers(whose: str, *of: str, **values: int) -> None:
    for name, value in values.items():
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise InputError(f"{whose % of}{name}: must be an integer of at most 64 bits, not {value!r}")


def _dump(value: Any, name: str, *of: str, encode: Callable[[Any], str] | None = None) -> str | None:
    """Return JSON in ASCII; what JSON cannot hold is the caller's mistake."""
    if value is None:
        return None
    try:
        return (encode or _ENCODE)(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name % of}: must consist of JSON values: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is none")


# Made once: `json.dumps` with options makes an encoder for each value, and `json.loads` guesses the encoding of bytes.
_DECODE = json.JSONDecoder().decode
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain).encode
_ENCODE_SORTED = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain, sort_keys=True).encode


def _load(value: bytes | None) -> Any:
    return None if value is None else _DECODE(value.decode())


def _text(value: bytes) -> str:
    return value.decode() if value.isascii() else value.decode("utf-8", "surrogatepass")


def _shown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
