"""Reads all entries of a session: who used a name first, how often, and how recently; which files are in use. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.restore.trace import Trace, file_key, trace_of
from undrift.core.text.references import NameTable
from undrift.values.window import ContextEntry

__all__ = ["HORIZON_CHARACTERS", "RestoreHistory", "Usage", "history_of"]

HORIZON_CHARACTERS = 1_000_000
"""How far back is looked, about two windows of 200,000 tokens.

Names / lines held with half of it, each repository left out, at 10,000 tokens: 0.83 / 0.73 of Claude Code and 0.51 / 0.56 of
Codex; with all of it 0.85 / 0.74 and 0.57 / 0.54.
"""

_COOLING_CALLS = 30.0  # a touch of a file is worth 1/e after so many calls
_EDIT_HEAT = 2.0  # an edit warms twice as much as a read
_HOT_TEXTS = 8  # the newest texts of agent and user whose names are hot
_HOT_PLACES = 12  # a name in more places says nothing about where the work is
_AGENT = frozenset({"call", "said"})


@dataclass(frozen=True, slots=True)
class Usage:
    """The places of one kind of unit (names or lines) in the history; values are places in `RestoreHistory.traces`.

    `shown`: entry and line (0 for names) where it was last shown.
    """

    count: Counter[str]
    own: set[str]
    learned: dict[str, int]
    shown: dict[str, tuple[int, int]]
    uses: Counter[str]
    used: dict[str, int]


@dataclass(frozen=True, slots=True)
class RestoreHistory:
    """A session so far. `stale`: keys that an edit removed from a file after they were last shown."""

    entries: Sequence[ContextEntry]
    traces: Sequence[Trace]
    ages: Sequence[int]
    names: Usage
    lines: Usage
    heat: Mapping[str, float]
    reads: Mapping[str, int]
    edits: Mapping[str, int]
    edited: Mapping[str, int]
    touched: Mapping[str, set[str]]
    stale: Mapping[str, str]
    hot: frozenset[str]


def history_of(
    entries: Sequence[ContextEntry],
    horizon_characters: int = HORIZON_CHARACTERS,
    read: Callable[[ContextEntry, Mapping[str, Any], NameTable], Trace | None] = trace_of,
) -> RestoreHistory:
    """Read the newest `horizon_characters` of a session.

    Args:
        entries: The session up to now.
        horizon_characters: How much text is looked at, from the end.
        read: Gives what `trace_of` gives; who looks at a session many times may remember it.
    """
    kept, traces = _traces(entries, horizon_characters, read)
    calls = sum(trace.kind == "call" for trace in traces)
    ages: list[int] = []
    for trace in traces:
        ages.append(calls)
        calls -= trace.kind == "call"
    names, lines = _empty(), _empty()
    heat: dict[str, float] = {}
    reads: Counter[str] = Counter()
    edits: Counter[str] = Counter()
    edited: dict[str, int] = {}
    touched: dict[str, set[str]] = {}
    stale: dict[str, str] = {}
    for place, trace in enumerate(traces):
        _note(names, lines, place, trace)
        path = file_key(trace.path) if trace.path else ""
        if trace.kind not in _AGENT and path and stale:
            for key in stale.keys() & set(trace.keys):
                if stale[key] == path:
                    del stale[key]
        if trace.kind == "call":
            edited_here = {file_key(edit.file) for edit in trace.edits}
            for path in map(file_key, trace.files):
                reads[path] += 1
                warmth = _EDIT_HEAT if path in edited_here else 1.0
                heat[path] = heat.get(path, 0.0) + warmth * math.exp(-ages[place] / _COOLING_CALLS)
            for edit in trace.edits:
                if not (path := file_key(edit.file)):
                    continue
                edits[path] += 1
                edited[path] = ages[place]
                touched.setdefault(path, set()).update(key for key in edit.touched if len(key) > 7)
                stale.update(dict.fromkeys(edit.removed, path))
    hot = _hot(traces, names.count)
    return RestoreHistory(kept, traces, ages, names, lines, heat, reads, edits, edited, touched, stale, hot)


def _traces(
    entries: Sequence[ContextEntry],
    horizon_characters: int,
    read: Callable[[ContextEntry, Mapping[str, Any], NameTable], Trace | None],
) -> tuple[list[ContextEntry], list[Trace]]:
    start, characters = len(entries), 0
    while start and characters < horizon_characters:
        start -= 1
        if (entries[start].metadata or {}).get("kind") != "thinking":
            characters += len(entries[start].content)
    table = NameTable()
    calls: dict[str, Mapping[str, Any]] = {}
    kept: list[ContextEntry] = []
    traces: list[Trace] = []
    for entry in entries[start:]:
        given = (entry.metadata or {}).get("input")
        pair = entry.pair_id or ""
        call: Mapping[str, Any] = given if isinstance(given, Mapping) else calls.get(pair, {})
        if pair and given is not None:
            calls[pair] = call
        trace = read(entry, call, table)
        if trace is not None:
            kept.append(entry)
            traces.append(trace)
    return kept, traces


def _empty() -> Usage:
    return Usage(Counter(), set(), {}, {}, Counter(), {})


def _note(names: Usage, lines: Usage, place: int, trace: Trace) -> None:
    """Enter one trace into the books."""
    keys = dict(zip(trace.keys, range(len(trace.keys)), strict=True))  # the last of equal lines stands
    keys.pop("", None)
    for usage, units in ((names, dict.fromkeys(trace.names, 0)), (lines, keys)):
        usage.count.update(units.keys())
        if trace.kind in _AGENT:
            usage.uses.update(units.keys())
            usage.used.update(dict.fromkeys(units, place))
            usage.own.update(
                [unit for unit in units if unit not in usage.learned]
            )  # `-` of keys reads all of the latter
        else:
            usage.shown.update({unit: (place, index) for unit, index in units.items()})
            usage.learned.update([(unit, place) for unit in units if unit not in usage.learned])


def _hot(traces: Sequence[Trace], count: Mapping[str, int]) -> frozenset[str]:
    """Give the names of the newest texts, but for paths and for what stands everywhere."""
    newest = [trace.names for trace in traces if trace.kind in ("call", "said", "user")][-_HOT_TEXTS:]
    return frozenset(name for names in newest for name in names if count[name] <= _HOT_PLACES and "/" not in name)
