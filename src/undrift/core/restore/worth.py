"""Estimates how likely the agent needs a name or line again: a weighted sum of features. Pure.

The weights are those of two logistic regressions, see `weights`. A feature is the number of a bin; the bins are here.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from undrift.core.restore import weights
from undrift.core.restore.history import RestoreHistory
from undrift.core.restore.trace import KINDS, file_key
from undrift.core.text.references import LINE_CHARACTERS, RARE_MENTIONS

__all__ = ["LINE_BINS", "NAME_BINS", "line_features", "name_features", "worth_of_lines", "worth_of_names"]

NAME_BINS = (11, 6, 4, 12, 9, 14, 11, 9, 9, 7, 7, 2)
"""How many bins each of `name_features` has."""

LINE_BINS = (6, 4, 12, 2, 6, 24, 25, 9, 7, 6, 45)
"""How many bins each of `line_features` has."""

_AGES = (0, 1, 3, 6, 12, 25, 50, 100, 200, 400)  # in calls, as all ages below
_LINE_AGES = (4, 15, 50, 150)
_OF_LINE_AGES = len(_LINE_AGES) + 1
_FAR = 99  # lines: further away is the same as nowhere near
_SOURCE_FILE = re.compile(r"\.(?:go|py|ts|tsx|js|jsx|mjs|md|mdx|json|jsonl|ya?ml|toml|sh|css|html|txt|rs)$")
_HEX = re.compile(r"[0-9a-f-]+")
_FOUND_IN = re.compile(r"([\w./\\:-]{0,200}[\w-]\.\w{1,5})[:-]\d{1,9}[:-]")


def _bin(value: float, edges: Sequence[float]) -> int:
    return bisect_right(edges, value)


def name_features(history: RestoreHistory) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the features of each name that was learned and is rare; bins in the order of `weights.NAMES`."""
    usage, traces, ages = history.names, history.traces, history.ages
    for name, (place, _) in usage.shown.items():
        count = usage.count[name]
        if count > RARE_MENTIONS or name in usage.own:
            continue
        trace = traces[place]
        used = usage.used.get(name)
        source = file_key(trace.path) if trace.path else None
        is_path = "/" in name or "." in name
        yield (
            name,
            (
                _bin(ages[place], _AGES),
                count - 1,
                min(usage.uses[name], 3),
                0 if used is None else 1 + _bin(ages[used], _AGES),
                KINDS.index(trace.kind),
                _form(name),
                _bin(ages[usage.learned[name]], _AGES),
                _bin(history.heat.get(source, 0) if source else -1, (0, 0.05, 0.2, 0.5, 1, 2, 4)),
                _bin(history.heat.get(file_key(name), 0) if is_path else -1, (0, 0.001, 0.1, 0.3, 1, 2, 4)),
                _bin(len(trace.lines), (3, 8, 20, 50, 120, 300)),
                _bin(len(name), (8, 12, 16, 24, 40, 70)),
                int(name in history.hot),
            ),
        )


def _form(name: str) -> int:
    """Sort a name by its looks: paths, numbers, files, words joined in this or that way."""
    if "/" in name:
        deep = name.count("/") >= 4
        return (0 if deep else 2) + ("." not in name.rsplit("/", 1)[1])
    digits = sum(map(str.isdigit, name))
    if digits * 2 >= len(name):
        return 4
    if digits and _HEX.fullmatch(name):
        return 5
    if "." in name:
        return 6 if _SOURCE_FILE.search(name) else 7
    if "-" in name:
        return 8
    if "_" in name:
        return 10 if name.isupper() else 9
    return 11 if name[0].isupper() else 13 if digits else 12


def line_features(history: RestoreHistory) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the features of each line that was learned and is rare; bins in the order of `weights.LINES`."""
    usage, ages = history.lines, history.ages
    context: dict[tuple[int, str | None], tuple[int, ...]] = {}
    near: dict[int, tuple[Sequence[int], Sequence[int]]] = {}
    for key, (place, index) in usage.shown.items():
        if len(key) not in LINE_CHARACTERS:
            continue
        count = usage.count[key]
        if count > RARE_MENTIONS or key in usage.own:
            continue
        trace = history.traces[place]
        path = trace.path
        if trace.kind == "search" and (found := _FOUND_IN.match(trace.lines[index])):
            path = found[1]
        if (place, path) not in context:
            context[place, path] = _context_features(history, place, path)
        if place not in near:
            near[place] = _near(history, place)
        age = _bin(ages[place], _LINE_AGES)
        used = usage.used.get(key)
        edited = history.edited.get(file_key(path), 1000) if path else 1000
        yield (
            key,
            (
                count - 1,
                min(usage.uses[key], 3),
                0 if used is None else 1 + _bin(ages[used], _AGES),
                int(key in history.stale),
                _bin(len(key), (35, 45, 60, 80, 120)),
                _bin(near[place][0][index], (1, 4, 12, 60, 100)) * 4 + _bin(edited, (5, 20, 60)),
                _bin(near[place][1][index], (1, 4, 12, 60)) * _OF_LINE_AGES + age,
                *context[place, path],
            ),
        )


def _context_features(history: RestoreHistory, place: int, path: str | None) -> tuple[int, ...]:
    """Features that all lines of an entry share."""
    trace = history.traces[place]
    source = file_key(path) if path else None
    reads = history.reads.get(source, 0) if source else 0
    return (
        _bin(history.heat.get(source, 0) if source else -1, (0, 0.05, 0.2, 0.5, 1, 2, 4)),
        _bin(len(trace.lines), (3, 8, 20, 50, 120, 300)),
        _bin(reads, (1, 2, 3, 5, 9)),
        KINDS.index(trace.kind) * _OF_LINE_AGES + _bin(history.ages[place], _LINE_AGES),
    )


def _near(history: RestoreHistory, place: int) -> tuple[Sequence[int], Sequence[int]]:
    """Give for each line of an entry how far it is from an edited line, and from a line with a hot name."""
    trace = history.traces[place]
    touched = history.touched.get(file_key(trace.path)) if trace.path and trace.kind == "read" else None
    to_edit = _distances([key in touched for key in trace.keys]) if touched else [_FAR + 1] * len(trace.keys)
    hot = history.hot
    return to_edit, _distances([bool(names) and not hot.isdisjoint(names) for names in trace.line_names])


def _distances(flags: Sequence[bool]) -> Sequence[int]:
    """Give the distance of each place to the nearest flag, at most `_FAR`."""
    if not any(flags):
        return [_FAR] * len(flags)
    result = [0] * len(flags)
    for order in (range(len(flags)), range(len(flags) - 1, -1, -1)):
        distance = _FAR
        for index in order:
            distance = 0 if flags[index] else min(distance + 1, _FAR)
            result[index] = min(result[index], distance) if order.step < 0 else distance
    return result


def worth_of_names(history: RestoreHistory) -> dict[str, float]:
    """Return the chance of each name to be used in the next 30 calls, from 0 to 1."""
    return dict(_chances(name_features(history), weights.NAMES))


def worth_of_lines(history: RestoreHistory) -> dict[str, float]:
    """Return the chance of each line, by key, to be used in the next 30 calls, from 0 to 1."""
    return dict(_chances(line_features(history), weights.LINES))


def _chances(rows: Iterator[tuple[str, tuple[int, ...]]], model: weights.Model) -> Iterator[tuple[str, float]]:
    bias, tables = model
    for unit, features in rows:
        score = bias
        for table, feature in zip(tables, features, strict=True):
            score += table[feature]
        yield unit, 1.0 / (1.0 + math.exp(-score))
