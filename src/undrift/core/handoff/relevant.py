"""Says how much each line and name of a history has to do with a task, by the task's own words. Pure, linear in the text.

A name that the task writes weighs most, then lines of a file that it names, then its words. A word that stands in many
lines weighs little.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nlargest

from undrift.core.facts.words import STOP_WORDS, stems
from undrift.core.restore.history import RestoreHistory
from undrift.core.restore.trace import file_key
from undrift.core.text.references import NAME_CANDIDATE, NameTable
from undrift.core.text.words import words_of

__all__ = ["Relevance", "names_in", "relevance", "telling_stems"]

_TASK_CHARACTERS = 20_000
_LINE_CHARACTERS = 500
_LEAST_WORD = 3
_NAMED = 3.0
"""A name of the task in a line weighs as much as so many of its words."""

_OF_FILE = 0.5
"""The share that a line gets of what its file has to do with the task."""

_SELDOM, _FEW = 40, 3
"""A word that stands in more than 1 line of so many says nothing, unless it stands in few lines."""

_TELLING = 6
"""A line with so many of the most telling words has all to do with the task."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Shares from 0 to 1: lines, by key, and names that have something to do with a task; 1 has all to do with it."""

    lines: Mapping[str, float]
    names: Mapping[str, float]


def names_in(task: str) -> frozenset[str]:
    """Return the names that a task writes."""
    table = NameTable()
    return frozenset(name for token in NAME_CANDIDATE.findall(task[:_TASK_CHARACTERS]) if (name := table[token]))


def telling_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without short and stop words."""
    return frozenset(word for word in stems(words_of(text[:_TASK_CHARACTERS])) if _tells(word))


def relevance(history: RestoreHistory, task: str) -> Relevance:
    """Compare every line that was last shown somewhere with a task."""
    named = names_in(task)
    files = {file_key(name) for name in named} | {name.rpartition("/")[2] for name in named if "." in name}
    wanted = telling_stems(task)
    found: dict[str, tuple[set[str], int]] = {}
    seen: Counter[str] = Counter()
    known: dict[str, str] = {}
    for key, (place, index) in history.lines.shown.items():
        words: set[str] = set()
        for word in words_of(key[:_LINE_CHARACTERS]):
            stem = known.get(word)
            if stem is None:
                stem = known[word] = stems((word,))[0]
            if stem in wanted:
                words.add(stem)
        names = len(named.intersection(history.traces[place].line_names[index]))
        seen.update(words)
        if words or names:
            found[key] = (words, names)
    most = max(len(history.lines.shown) // _SELDOM, _FEW)
    weights = {word: math.log(len(history.lines.shown) / number) for word, number in seen.items() if number <= most}
    unit = sum(nlargest(_TELLING, weights.values())) / _TELLING or 1.0
    lines: dict[str, float] = {}
    for key, (words, names) in found.items():
        value = sum(weights.get(word, 0.0) for word in sorted(words)) + _NAMED * unit * names
        if value > 0.0:
            lines[key] = min(1.0, value / (_TELLING * unit))
    return _with_files(history, lines, files, named)


def _with_files(history: RestoreHistory, lines: dict[str, float], files: set[str], named: frozenset[str]) -> Relevance:
    """Give each line a share of what its file has to do with the task, and each name that of its best line."""
    of_file: dict[str, float] = {}
    for key, value in lines.items():
        path = history.traces[history.lines.shown[key][0]].path
        if path:
            of_file[file_key(path)] = max(of_file.get(file_key(path), 0.0), value)
    names: dict[str, float] = {}
    all_lines: dict[str, float] = {}
    for key, (place, index) in history.lines.shown.items():
        path = history.traces[place].path
        near = 0.0
        if path:
            is_named = file_key(path) in files or path.rpartition("/")[2] in files
            near = _OF_FILE * (1.0 if is_named else of_file.get(file_key(path), 0.0))
        value = max(lines.get(key, 0.0), near)
        if value > 0.0:
            all_lines[key] = value
            for name in history.traces[place].line_names[index]:
                if name not in named:  # the task itself shows those
                    names[name] = max(names.get(name, 0.0), value)
    return Relevance(all_lines, names)


def _tells(word: str) -> bool:
    return len(word) >= _LEAST_WORD and word not in STOP_WORDS
