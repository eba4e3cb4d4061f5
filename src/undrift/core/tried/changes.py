"""Finds the changes of a session that were undone: by an edit that undoes another one, or by git. Pure.

Law: a change that was made for a moment, as to see a test fail, was never meant to stand. A change that stands at the end,
in this file or in another one, was not given up.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from undrift.core.text.references import normal
from undrift.core.tried.paths import short_path
from undrift.core.tried.statements import sentences_of
from undrift.profiles import Act, acts_of
from undrift.profiles.shell import commands_of
from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["undone_changes"]

_MOST_EDITS = 30
"""So many newest edits of a file can be undone; with more, each edit would be compared with a whole session's."""

_MOST_LINES = 2_000  # of one edit
_LEAST_KEY = 6  # characters: a shorter line, as a bracket, says nothing
_LINE_CHARACTERS = 100
_NEAR_TEXTS = 3
_REASON_CHARACTERS = (15, 240)
_UNDONE = "undone by a later edit"
_BY_GIT = "undone by `{}`"

_FOR_A_MOMENT = re.compile(
    r"\b(?:temporar|for now|debug|verify|verif|confirm|sanity|mutat|deliberately|on purpose|prove|make sure the test"
    r"|reproduc|experiment|baseline|without (?:the|my) (?:fix|change)|still fail|cleanup|clean up)",
    re.IGNORECASE,
)
_TRACE = re.compile(
    r"\b(?:print|println|printf|console\.\w+|log(?:ger)?|debug|dbg|eprintln|TODO|FIXME|XXX)\b", re.IGNORECASE
)
_WHY = re.compile(
    r"\b(?:revert|undo|undid|roll(?:ing)? back|back out|put back|go back|restor|wrong|mistake|broke|breaks|fail|not work|n't work"
    r"|n't need|not need|unnecessary|simpler|because|worse|over-?kill|redundant|regress)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Edit:
    """One edit: keys of the lines that it put and took. `line`: the first line that tells what it wrote."""

    path: str
    put: frozenset[str]
    removed: frozenset[str]
    line: str
    place: int
    entry_id: str
    pair: str


@dataclass(slots=True)
class _Book:
    """The edits that stand, by file, and those that were undone."""

    standing: dict[str, deque[_Edit]] = field(default_factory=dict)
    back: list[tuple[_Edit, int, str, str]] = field(default_factory=list)
    stashed: list[tuple[_Edit, int, str, str]] = field(default_factory=list)

    def edit(self, one: _Edit) -> None:
        """Take in an edit: it may undo others, and may write again what was undone."""
        edits = self.standing.setdefault(one.path, deque(maxlen=_MOST_EDITS))
        undone = next((old for old in reversed(edits) if _undoes(one, old)), None)
        if undone is not None:
            edits.remove(undone)
            self.back.append((undone, one.place, one.entry_id, _UNDONE))
            return
        edits.append(one)
        again = {(old.path, place) for old, place, *_ in self.back[-_MOST_EDITS:] if _writes_again(one, old)}
        self.back = [item for item in self.back[-_MOST_EDITS:] if (item[0].path, item[1]) not in again]

    def git(self, words: Sequence[str], place: int, entry_id: str) -> None:
        """Take in a command of git."""
        act, others = words[0], [word for word in words[1:] if not word.startswith("-")]
        how = _BY_GIT.format(" ".join(("git", *words))[:_LINE_CHARACTERS])
        if act == "commit":
            self.standing.clear()
        elif act in ("checkout", "restore") and "--staged" not in words and "-b" not in words:
            self.back += self._of(others, place, entry_id, how)
        elif act == "reset" and "--hard" in words:
            self.back += self._of((".",), place, entry_id, how)
        elif act == "stash" and (not others or others[0] in ("push", "save")):
            self.stashed = self._of((".",), place, entry_id, how)
        elif act == "stash" and others[0] in ("pop", "apply"):
            for edit, *_ in self.stashed:
                self.standing.setdefault(edit.path, deque(maxlen=_MOST_EDITS)).append(edit)
            self.stashed = []
        elif act == "stash" and others[0] == "drop":
            self.back += self.stashed
            self.stashed = []

    def _of(self, named: Sequence[str], place: int, entry_id: str, how: str) -> list[tuple[_Edit, int, str, str]]:
        """Take the edits of the named files out of those that stand."""
        found: list[tuple[_Edit, int, str, str]] = []
        for path in list(self.standing):
            if any(_names(name, path) for name in named):
                found += [(edit, place, entry_id, how) for edit in self.standing.pop(path)]
        return found


def undone_changes(entries: Sequence[ContextEntry]) -> list[Attempt]:
    """Return the changes that were undone and do not stand in the end, in the order in which they were undone."""
    failed = {
        entry.pair_id
        for entry in entries
        if (entry.metadata or {}).get("kind") == "result" and (entry.metadata or {}).get("is_error") is True
    }
    book = _Book()
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") != "call" or not isinstance(given, Mapping) or entry.pair_id in failed:
            continue
        for act in acts_of(str(about.get("tool_name") or ""), given):
            if act.kind == "edit":
                if (edit := _edit(act, place, entry)) is not None:
                    book.edit(edit)
            elif act.kind == "shell":
                for one in commands_of(act.command):
                    if one.words[0] == "git" and len(one.words) > 1:
                        book.git(one.words[1:], place, entry.id)
    found: dict[tuple[str, int], Attempt] = {}
    for item in book.back:
        attempt = _attempt(entries, *item)
        if attempt is not None:
            found.setdefault((item[0].path, item[1]), attempt)  # one line for a file that git put back
    return list(found.values())


def _edit(act: Act, place: int, entry: ContextEntry) -> _Edit | None:
    """Read an edit; None if it has no old text: a file that is written as a whole is not the inverse of anything."""
    if act.patch:
        patch = act.patch.split("\n")[: 2 * _MOST_LINES]
        old = [line[1:] for line in patch if line[:1] == "-"]
        new = [line[1:] for line in patch if line[:1] == "+"]
    else:
        old = "\n".join(act.old).split("\n")[:_MOST_LINES]
        new = "\n".join(act.new).split("\n")[:_MOST_LINES]
    before, after = _keys(old), _keys(new)
    line = next((line.strip() for line in new if (key := normal(line)) in after and key not in before), "")
    if not act.path or not (before or after) or (not any(map(str.strip, old)) and not act.patch):
        return None
    return _Edit(act.path, after - before, before - after, line, place, entry.id, entry.pair_id or "")


def _keys(lines: Sequence[str]) -> frozenset[str]:
    return frozenset(key for line in lines if len(key := normal(line)) >= _LEAST_KEY)


def _names(named: str, path: str) -> bool:
    """Tell whether a word of git's command names a file; a folder but the present one is not looked into."""
    plain = named.removeprefix("./")
    return named == "." or path == plain or path.endswith("/" + plain)


def _writes_again(new: _Edit, old: _Edit) -> bool:
    """Tell whether an edit puts at least half of the lines that another one had put."""
    return 2 * len(new.put & old.put) >= len(old.put)


def _undoes(new: _Edit, old: _Edit) -> bool:
    """Tell whether an edit takes all that another one put, and puts back all that it took."""
    return bool(old.put) and bool(old.removed) and old.put == new.removed and old.removed == new.put


def _attempt(entries: Sequence[ContextEntry], edit: _Edit, place: int, entry_id: str, how: str) -> Attempt | None:
    """Return the attempt with the agent's reason; None if the change was made for a moment only, or shows a trace."""
    if not edit.line or _TRACE.search(edit.line[:_LINE_CHARACTERS]):
        return None
    before = list(islice(_texts_before(entries, place), _NEAR_TEXTS))
    around = [*before, *islice(_texts_before(entries, edit.place), 1)]
    if any(_FOR_A_MOMENT.search(text[:2_000]) for text in around):
        return None
    least, most = _REASON_CHARACTERS
    nearest = before[0] if before else ""
    reasons = (one for one in sentences_of(nearest) if least <= len(one) <= most and _WHY.search(one))
    what = f"{short_path(edit.path)}: `{edit.line[:_LINE_CHARACTERS]}`"
    return Attempt("change", what, how, next(reasons, ""), "", (edit.entry_id, entry_id), place)


def _texts_before(entries: Sequence[ContextEntry], place: int) -> Iterator[str]:
    """Yield the agent's nearest texts before a place, newest first, up to the user's."""
    for entry in reversed(entries[max(0, place - 12) : place]):
        about = entry.metadata or {}
        if about.get("kind") == "text":
            if about.get("role") == "user":
                return
            yield entry.content
