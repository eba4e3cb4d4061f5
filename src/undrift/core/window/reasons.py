"""Writes the decisions of a prune: entries are removed, cut, trimmed or folded, with reason and saving. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from undrift.core.text.calibration import Calibration
from undrift.core.window.keep import Kept, Ranges
from undrift.core.window.paste import Cut
from undrift.core.window.shrink import Lean
from undrift.core.window.trim import trim_text
from undrift.values.window import ContextEntry, Decision

__all__ = ["Freed", "Reasons", "Wording"]

Freed: TypeAlias = list[tuple[Decision, int]]
"""Decisions, each with the tokens that it frees now."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The functions and the choice of words for a text that lost lines.

    `names_recall`: whether a mark names the command that recalls the whole text. `calibration`: see `Room`.
    """

    count: Callable[[str], int]
    ref_of: Callable[[str], str]
    names_recall: bool = True
    calibration: Calibration = field(default_factory=Calibration)


@dataclass(frozen=True, slots=True)
class Reasons:
    """Makes decisions from the chosen entries, each with its reason and the tokens that it frees."""

    wording: Wording
    cuts: Mapping[str, Cut]
    figures: Mapping[str, Any]

    @property
    def _marks(self) -> str:
        target, budget = (
            self.wording.calibration.tokens(self.figures[f"{name}_tokens"]) for name in ("target", "budget")
        )
        return f"pruned to {target:,} of {budget:,} tokens"

    @property
    def _detail(self) -> dict[str, Any]:
        """The figures for the decision, in our counts; `scale` turns them into the provider's."""
        told = self.wording.calibration
        is_plain = told == Calibration()
        return {**self.figures, **({} if is_plain else {"scale": [round(told.slope, 4), round(told.offset_tokens, 1)]})}

    @property
    def _without_command(self) -> dict[str, bool]:
        """Kept in the decision, so that its text stays the same even if a recall command becomes available later."""
        return {} if self.wording.names_recall else {"untold": True}

    def by_age(self, entries: Sequence[ContextEntry], gone_ids: set[str], alone: set[str]) -> Freed:
        """Remove the oldest entries."""
        older = f"older than the newest that fit ({self._marks})"
        misfit = f"could not fit even alone beside what must stay ({self._marks})"
        return [self._without(e, misfit if e.id in alone else older, self._detail) for e in entries if e.id in gone_ids]

    def by_worth(
        self, entries: Sequence[ContextEntry], gone_ids: set[str], kept: Kept, leaner: Mapping[str, Lean]
    ) -> Freed:
        """Remove the entries and lines with the lowest scores, and fold the noise of the others."""
        found: Freed = []
        for entry in entries:
            worth, tokens = kept.worth.get(entry.id, (0.0, entry.token_count))
            price = kept.price if math.isfinite(kept.price) else 0.0
            scores = {"worth": round(worth, 2), "unit_tokens": tokens, "price": round(price, 4)}
            figures = {**self._detail, **scores}
            if entry.id in gone_ids:
                found.append(self._without(entry, self._too_dear(worth, tokens, price), figures))
                continue
            rows, one = entry.meta("rows"), leaner.get(entry.id)
            ranges = kept.trimmed.get(entry.id, rows)
            if ranges != rows or (one is not None and entry.meta("fold") != one.fold):
                found += self._trimmed(entry, ranges, one, figures)
        return found

    def _too_dear(self, worth: float, tokens: int, price: float) -> str:
        if not price:
            return f"no room was left next to what must stay ({self._marks})"
        score = f"{worth / max(1, tokens):.3f} a token; to stay it needed more than {price:.3f}"
        return f"what it alone still shows is worth {score} ({self._marks})"

    def _without(self, entry: ContextEntry, reason: str, figures: Mapping[str, Any]) -> tuple[Decision, int]:
        cut = self.cuts.get(entry.id)
        if cut is not None:
            words = f"the middle of a long paste, {reason}; beginning and end stay"
            detail = {**figures, "keep_head": cut.keep_head, "keep_tail": cut.keep_tail, **self._without_command}
            detail |= {"rules": [list(one) for one in cut.rules]} if cut.rules else {}
            freed = entry.token_count - cut.tokens
            return Decision(entry.id, "cut", words, freed, self.wording.ref_of(entry.id), detail), freed
        saved = entry.meta("whole_tokens") or entry.token_count
        return Decision(
            entry.id, "pruned", reason, saved, self.wording.ref_of(entry.id), dict(figures)
        ), entry.token_count

    def _trimmed(
        self, entry: ContextEntry, ranges: Ranges | None, leaner: Lean | None, figures: Mapping[str, Any]
    ) -> Freed:
        """Remove the chosen lines of a result, and fold the noise of the others, if that frees tokens."""
        ref, fold = self.wording.ref_of(entry.id), leaner.fold if leaner else None
        tokens = self.wording.count(trim_text(entry.content, ranges, ref if self.wording.names_recall else None, fold))
        freed = entry.token_count - tokens
        if freed <= 0:
            return []
        detail, said = {**figures, **self._without_command}, []
        if ranges is not None:
            lines, stay = entry.content.count("\n") + 1, sum(end - start for start, end in ranges)
            said.append(f"{stay:,} of {lines:,} lines stay, those with the most names that no newer text has")
            detail["rows"] = [list(one) for one in ranges]
        if leaner is not None:
            said.append(f"without {', '.join(leaner.folded.what)}, so that less has to leave")
            detail["fold"] = fold
        reason = f"{'; '.join(said)} ({self._marks})"
        saved = (entry.meta("whole_tokens") or entry.token_count) - tokens
        return [(Decision(entry.id, "folded" if ranges is None else "trimmed", reason, saved, ref, detail), freed)]
