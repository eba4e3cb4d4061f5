"""Find what the agent had learned before a compaction and used after it, and how much of that a text holds. Pure.

Learned: first seen in a result, a text of the user or a summary, and mentioned at most `RARE_MENTIONS` times. Used: it
stands in one of the agent's texts or calls among the next `WINDOW_CALLS` calls, and no newer text of the user named it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from undrift.core.autopsy.findings import Held
from undrift.core.autopsy.steps import Step
from undrift.core.text.references import RARE_MENTIONS, Reference, lines_of, references_in

__all__ = ["Learned", "Used", "WINDOW_CALLS", "count_held", "window_of"]

WINDOW_CALLS = 30
"""How far after a compaction is looked for what it cost."""

_TEACHING = frozenset({"result", "user", "client", "summary"})


@dataclass(frozen=True, slots=True)
class Used:
    """The references that were used, and those that had been fetched again before."""

    references: frozenset[Reference]
    fetched: frozenset[Reference]

    def count(self, kind: str) -> int:
        """The number of used references of one kind."""
        return sum(reference[0] == kind for reference in self.references)


class Learned:
    """The references that a session has shown so far, learned step by step."""

    def __init__(self) -> None:
        self._taught: dict[Reference, bool] = {}
        self._mentions: dict[Reference, int] = {}
        self.lines: set[str] = set()

    def take(self, step: Step) -> None:
        """Take in one step."""
        if step.kind == "silent":
            return
        self.lines.update(lines_of(step.entry.content))
        teaches = step.kind in _TEACHING
        for reference in references_in(step.entry.content):
            self._taught.setdefault(reference, teaches)
            self._mentions[reference] = self._mentions.get(reference, 0) + 1

    def used_in(self, window: Sequence[Step], native: frozenset[int]) -> Used:
        """Find what the steps after a compaction use of what was learned; `native`: the indices of its own texts."""
        shown: set[Reference] = set()
        results: set[Reference] = set()
        used: set[Reference] = set()
        fetched: set[Reference] = set()
        for step in window:
            if step.kind in ("silent", "system") or step.index in native:
                continue
            references = references_in(step.entry.content)
            if step.kind in ("call", "said"):
                new = {r for r in references - shown - used if self._is_rare_lesson(r)}
                used |= new
                fetched |= new & results
            elif step.kind == "result":
                results |= references
            else:
                shown |= references
        return Used(frozenset(used), frozenset(fetched))

    def _is_rare_lesson(self, reference: Reference) -> bool:
        return self._taught.get(reference, False) and self._mentions[reference] <= RARE_MENTIONS

    def held(self, used: Used, texts: Iterable[str], *, tokens: int, strict: bool) -> Held:
        """Count what texts hold of what was used.

        `strict`: whether an identifier counts only in a line that stood in the history, so that a bag of names holds
        nothing. A summary in the client's own words is not judged so.
        """
        return count_held(self.references_held(used, texts, strict=strict), tokens)

    def references_held(self, used: Used, texts: Iterable[str], *, strict: bool) -> frozenset[Reference]:
        """Give what `held` counts."""
        found: set[Reference] = set()
        for text in texts:
            there = references_in(text) & used.references
            if strict:
                known = "\n".join(line for line in lines_of(text) if line in self.lines)
                names = references_in(known)
                there = frozenset(r for r in there if r[0] == "line" or r in names)
            found |= there
        return frozenset(found)


def count_held(references: Iterable[Reference], tokens: int) -> Held:
    """Count identifiers and lines."""
    kinds = [kind for kind, _ in references]
    return Held(kinds.count("identifier"), kinds.count("line"), tokens)


def window_of(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Give the steps up to and including the last call of the window."""
    if not steps:
        return ()
    last = steps[0].call - (steps[0].kind == "call") + WINDOW_CALLS
    for number, step in enumerate(steps):
        if step.kind == "call" and step.call == last:
            return tuple(steps[: number + 1])
    return tuple(steps)
