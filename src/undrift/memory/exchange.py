"""Memories as JSON records, written and read back. Pure: values in, values out.

Law: a record reads back to an equal memory; only its place in the order is another one. A record of a file is data of a
stranger: each field is checked, and what a memory states is read from its words again.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from undrift.core.contradict.verdicts import slots_of
from undrift.core.memory.supersede import open_conflicts
from undrift.errors import InputError
from undrift.values.memory import MemoryEntry

__all__ = ["FORMAT", "LONGEST_CHARACTERS", "as_record", "memory_of", "records_of"]

FORMAT = "undrift-memories"
"""The value of `format` in an exported file."""

LONGEST_CHARACTERS = 100_000
"""The most characters of a text or a name in a file."""

_ALWAYS = frozenset({"id", "content", "type", "trust", "scope", "created_at_ms", "valid_from_ms", "recorded_at_ms"})
_MADE = frozenset({"seq", "slots"})
_ID = re.compile(r"m[0-9a-f]{16}")


def as_record(entry: MemoryEntry) -> dict[str, Any]:
    """Return a memory as JSON values; fields that have their default are left out."""
    record: dict[str, Any] = {}
    for field in fields(entry):
        value = getattr(entry, field.name)
        default = {} if field.default is MISSING else field.default
        if field.name in _ALWAYS or (field.name not in _MADE and value != default):
            record[field.name] = value
    return record


def records_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the records of an exported file, which is JSON by now. Raises InputError: it is no such file."""
    version = value.get("version", 1) if isinstance(value, Mapping) else 1
    found = value.get("memories") if isinstance(value, Mapping) else value
    if version != 1:
        raise InputError(f"version {str(version)[:40]!r} of this file is not known: a newer undrift wrote it")
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise InputError(
            'there are no memories in it: {"memories": [...]} is needed, as `undrift memory export` writes it'
        )
    return found


def memory_of(record: Mapping[str, Any], seq: int) -> MemoryEntry:
    """Return the memory of a record. `seq`: its place in the order of recording. Raises InputError: a field is wrong."""
    known = {field.name for field in fields(MemoryEntry)} - _MADE
    values = {name: value for name, value in record.items() if name in known}
    content = values.get("content")
    if not isinstance(content, str) or not content.strip():
        raise InputError("content must be a text with something in it")
    for name, value in values.items():
        if isinstance(value, str) and len(value) > LONGEST_CHARACTERS:
            raise InputError(f"{name} has {len(value):,} characters; {LONGEST_CHARACTERS:,} is the most")
    given = values.get("id")
    id_ = given if isinstance(given, str) and _ID.fullmatch(given) else _new_id(content, values.get("created_at_ms"))
    slots = () if values.get("trust") == "tool" else slots_of(content)
    try:
        entry = MemoryEntry(**{**values, "id": id_, "slots": slots, "seq": seq})
        conflicts = open_conflicts(entry)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(str(error)) from error
    metadata = {name: value for name, value in entry.metadata.items() if name != "conflicts"}
    metadata |= {"conflicts": list(conflicts)} if conflicts else {}
    return MemoryEntry(**{**values, "id": id_, "slots": slots, "seq": seq, "metadata": metadata})


def _new_id(content: str, created_at_ms: object) -> str:
    """Return an id for a memory that comes without one, the same each time."""
    digest = hashlib.sha256(f"{created_at_ms}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"m{digest[:16]}"
