"""One turn's plan: the ONE place that orders the passes and settles their conflicts. Pure.

The passes: (1) what must stay is named: pinned types, every user text, the last N tool results with their calls,
everything that the model has not seen yet, and a last assistant message whose thinking the provider wants unchanged;
(2) above the budget, and only then, the rest is fitted, down to the low-water mark, in one batch: newest first, or by what
it is worth (`keep`), which also takes lines out of results. The middle of a long paste counts to the rest: it leaves in its
turn, beginning and end stay.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from undrift.core.window.keep import Kept, Ranges, Takeable, keep
from undrift.core.window.last_results import TerminalObservationWindow
from undrift.core.window.low_water import Marks
from undrift.core.window.paste import Cut, plan_cut
from undrift.core.window.prune import Unit, leaving
from undrift.core.window.shrink import Lean, lean
from undrift.core.window.thinking import is_thinking, key_of, latest_answer, unsettled
from undrift.core.window.trim import trim_text
from undrift.core.window.value import Known
from undrift.values.window import PINNED_TYPES, ContextEntry, Decision

__all__ = ["Policy", "TurnPlan", "is_user_text", "low_water_tokens", "plan_turn", "protected_keys"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers that a plan obeys; see the settings of the same names. `reserve_tokens` stay free for what is put in."""

    budget_tokens: int
    target_ratio: float
    keep_tool_results: int
    keep_user_text_tokens: int
    keep_recent_share: float = 0.25
    reserve_tokens: int = 0
    names_recall: bool = True
    """Whether what is left of a text names the command that brings all of it back."""


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What leaves now.

    Args:
        decisions: New ones only, in the order of the window.
        protected_tokens: What must stay, system and tools included.
        target_tokens: The low-water mark.
        total_tokens: The window before the plan.
        freed_tokens: What the decisions free.
        oversize: How many entries left because they could not fit even alone.
        shortened: How many texts of the first or newest user message lose their middle, as nothing else would fit.
    """

    decisions: tuple[Decision, ...]
    protected_tokens: int
    target_tokens: int
    total_tokens: int
    freed_tokens: int
    oversize: int
    shortened: int

    @property
    def tokens_after(self) -> int:
        """The window after the plan."""
        return self.total_tokens - self.freed_tokens


def is_user_text(entry: ContextEntry) -> bool:
    """Tell whether an entry is the user's own words."""
    return bool(_meta(entry, "role") == "user" and _meta(entry, "kind") == "text")


def low_water_tokens(
    budget_tokens: int, must_tokens: int, ratio: float, reserve_tokens: int = 0, *, by_worth: bool = False
) -> int:
    """Return what a window is pruned down to: `ratio` of the budget, in tokens, less what is about to be put in.

    Where what must stay takes much of the budget, at least half of what it leaves free is used, as otherwise almost
    nothing else would stay; a third by worth, as the best of it takes less room. The seeds' own mark
    (`core.prune.target_tokens`) stands higher: on recorded sessions it kept no more of what was needed later and cost 4
    to 13% more, as each prune rewrites the provider's cache.

    Source: A2-3; docs/adr/0006-low-water-mark.md.
    """
    if must_tokens >= budget_tokens:
        return budget_tokens
    mark = max(int(ratio * budget_tokens), must_tokens + (budget_tokens - must_tokens) // (3 if by_worth else 2))
    return max(must_tokens, mark - reserve_tokens)


def plan_turn(
    entries: Sequence[ContextEntry],
    first_unseen: int,
    *,
    fixed_tokens: int,
    policy: Policy,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
    settled: Collection[str] = (),
    wanted: Collection[Hashable] = (),
    is_due: bool = False,
    known: Callable[[], Known] | None = None,
    marks: Marks | None = None,
) -> TurnPlan | None:
    """Plan what has to leave a window; None while it fits.

    Args:
        entries: The window as it would be sent, in order. Metadata: ``role``, ``kind``, ``message`` (what the blocks
            of one message share), ``pair_id``, ``cut`` (a paste that has lost its middle already), ``rows`` and
            ``whole_tokens`` (the ranges of lines that a trimmed result still has, and its tokens before).
        first_unseen: Index of the first entry that the model has not seen.
        fixed_tokens: System, tools and whatever else is sent beside `entries`.
        policy: Budget and limits, in the unit of `count`.
        count: The counter in force.
        ref_of: Entry id to recall reference.
        settled: Ids of entries that were decided about, in writing, at the newest item: they wait for a later turn.
        wanted: Keys (`core.thinking.key_of`) of what the agent has just called back: stays whole where there is room.
        is_due: Plan even where it fits: it is being rewritten anyway, and a second rewriting would cost the cache again.
        known: Gives the history, learned up to now; then what is worth most stays, else what is newest.
        marks: Why now, how far down and from where on; None: the budget alone decides that.

    Source: R2-04 to R2-14, R0-04, A0-6, A2-1 to A2-4, A2-12, AX-1.
    """
    total = fixed_tokens + sum(e.token_count for e in entries)
    if total <= policy.budget_tokens and not is_due:
        return None
    protected = protected_keys(entries, first_unseen, policy.keep_tool_results)
    protected.update(key_of(e) for e in entries if e.id in settled)
    spare = _first_and_newest(entries)
    leaner, window = lean(entries, {*protected, *wanted}, count=count, ref_of=ref_of) if known else ({}, entries)
    fitted = _fitted(window, first_unseen, protected, wanted, spare, fixed_tokens, policy, count, ref_of)
    must_tokens, units, cuts = fitted
    marks = marks or Marks("budget", policy.target_ratio, policy.target_ratio, 0, 0.0)
    figures = _figures(policy, marks, must_tokens, total, by_worth=known is not None)
    behind = _behind(marks, (entries, window, leaner, units), protected, cuts, fixed_tokens, policy, figures)
    if behind is None:
        return None
    room_tokens, window, leaner, units = behind
    acts = _Acts(cuts, figures, ref_of, count, policy.names_recall)
    alone: set[str] = set()
    if known is None:
        gone, oversize = leaving(units, room_tokens)
        gone_ids = _with_answers(entries, {id_ for unit in gone for id_ in unit.ids}, protected)
        alone = {id_ for unit in oversize for id_ in unit.ids if id_ not in cuts}
        left = acts.by_age(entries, gone_ids, alone)
    else:
        history = known()

        def chosen(room_tokens: int) -> _Left:
            kept = _kept(window, units, room_tokens, history, policy.keep_recent_share, count, leaner)
            return acts.by_worth(entries, _with_answers(entries, set(kept.gone), protected), kept, leaner)

        left = _within(chosen, room_tokens, must_free=total - policy.budget_tokens)
    return _planned(entries, left, figures, spare, oversize=len(alone))


def _planned(
    entries: Sequence[ContextEntry], left: "_Left", figures: Mapping[str, Any], spare: frozenset[Any], *, oversize: int
) -> TurnPlan:
    message_of = {e.id: _meta(e, "message") for e in entries}
    return TurnPlan(
        decisions=tuple(decision for decision, _ in left),
        protected_tokens=figures["protected_tokens"],
        target_tokens=figures["target_tokens"],
        total_tokens=figures["total_tokens"],
        freed_tokens=sum(freed for _, freed in left),
        oversize=oversize,
        shortened=sum(d.kind == "cut" and message_of[d.entry_id] in spare for d, _ in left),
    )


_TRIES = 4

_Left: TypeAlias = list[tuple[Decision, int]]
"""Decisions, each with the tokens that it frees now."""

_NONE: frozenset[Any] = frozenset()


def _meta(entry: ContextEntry, name: str) -> Any:
    return entry.metadata.get(name) if entry.metadata else None


def protected_keys(entries: Sequence[ContextEntry], first_unseen: int, keep_tool_results: int) -> set[Hashable]:
    """Return the keys (`core.thinking.key_of`) of the units that stay whatever the budget says.

    Args:
        entries: The window, in order.
        first_unseen: Index of the first entry that the model has not seen.
        keep_tool_results: N of the last N.
    """
    keys = {key_of(e) for e in TerminalObservationWindow.get_last(entries, keep_tool_results)}
    keys.update(key_of(e) for e in entries[first_unseen:])
    keys.update(key_of(e) for e in entries if e.type in PINNED_TYPES or is_user_text(e))
    opening = [e for e in entries if _meta(e, "message") == _meta(entries[0], "message")] if entries else []
    if opening and not any(
        is_user_text(e) for e in opening
    ):  # the first message must be the user's, were it one picture
        keys.add(key_of(opening[0]))
    latest = latest_answer(entries[:first_unseen])
    if any(_meta(e, "kind") in ("thinking", "other") for e in latest):  # its thinking must not change (WIRE A8)
        keys.update(key_of(e) for e in latest)
    return keys


def _fitted(
    entries: Sequence[ContextEntry],
    first_unseen: int,
    protected: set[Hashable],
    wanted: Collection[Hashable],
    spare: frozenset[Any],
    fixed_tokens: int,
    policy: Policy,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
) -> tuple[int, list[Unit], dict[str, Cut]]:
    """Tokens of what must stay, what may leave, and how the pastes among it are cut.

    The budget is hard: only when what must stay exceeds it, the first and newest words of the user lose their middle
    as well, and only when that does not help, words that the model has not seen. What the agent has called back a short
    while ago stays where there is room for it.
    """

    def tried(may_be_cut: Sequence[ContextEntry], spared: frozenset[Any]) -> tuple[int, list[Unit], dict[str, Cut]]:
        cuts = _cuts(may_be_cut, policy, count, ref_of, spare=spared)
        return *_units(entries, protected, cuts, fixed_tokens), cuts

    seen = entries[:first_unseen]
    if back := set(wanted) - protected:
        protected |= back
        found = tried(seen, spare)
        if found[0] <= low_water_tokens(policy.budget_tokens, 0, policy.target_ratio):
            return found
        protected -= back
    found = tried(seen, spare)
    if found[0] > policy.budget_tokens:
        found = tried(seen, _NONE)
    if found[0] > policy.budget_tokens:
        found = tried(entries, _NONE)
    return found


def _units(
    entries: Sequence[ContextEntry], protected: set[Hashable], cuts: Mapping[str, Cut], fixed_tokens: int
) -> tuple[int, list[Unit]]:
    """Tokens of what must stay, and the units that may leave; of a paste that may be cut, its middle is the unit."""
    groups: dict[Hashable, list[int]] = {}
    for number, entry in enumerate(entries):
        groups.setdefault(key_of(entry), []).append(number)
    must_tokens, units = fixed_tokens, []
    for key, numbers in groups.items():
        tokens, last = sum(entries[n].token_count for n in numbers), numbers[-1]
        cut = cuts.get(entries[last].id)
        if key not in protected:
            freed = tokens
        elif cut is not None:
            freed = tokens - cut.tokens
        else:
            must_tokens += tokens
            continue
        must_tokens += tokens - freed
        place = numbers[0] if is_thinking(entries[last]) else last
        units.append(Unit((0, 0, place), freed, tuple(entries[n].id for n in numbers)))
    return must_tokens, units


def _figures(policy: Policy, marks: Marks, must_tokens: int, total: int, *, by_worth: bool) -> dict[str, Any]:
    budget, mark = policy.budget_tokens, (marks.low_share, policy.reserve_tokens)
    return {
        "budget_tokens": budget,
        "target_tokens": low_water_tokens(budget, must_tokens, *mark, by_worth=by_worth),
        "protected_tokens": must_tokens,
        "total_tokens": total,
    }


def _behind(
    marks: Marks,
    whole: tuple[Sequence[ContextEntry], Sequence[ContextEntry], dict[str, Lean], list[Unit]],
    protected: set[Hashable],
    cuts: Mapping[str, Cut],
    fixed_tokens: int,
    policy: Policy,
    figures: dict[str, Any],
) -> tuple[int, Sequence[ContextEntry], dict[str, Lean], list[Unit]] | None:
    """Room, window, folds and units behind the beginning that the marks leave alone; all of it where that is too little.

    None where nothing forces a prune, and it would free little or rewrite more than is written anyway. The moment and
    what stays go into the figures.
    """
    entries, window, leaner, units = whole
    target, must_tokens = figures["target_tokens"], figures["protected_tokens"]
    if figures["total_tokens"] - target < marks.least_share * (policy.budget_tokens - target):
        return None
    figures |= {"moment": marks.moment, "stays_tokens": 0}
    begins = _begins(entries, marks.stays_tokens - fixed_tokens)
    if not begins:
        return target - must_tokens, window, leaner, units
    mixed = [as_is if key_of(as_is) in begins else thin for as_is, thin in zip(entries, window, strict=True)]
    later = {e.id: cuts[e.id] for e in entries if e.id in cuts and key_of(e) not in begins}
    held_tokens, younger = _units(mixed, protected | begins, later, fixed_tokens)
    if held_tokens < target:
        figures["stays_tokens"] = marks.stays_tokens
        folds = {e.id: leaner[e.id] for e in entries if e.id in leaner and key_of(e) not in begins}
        return target - held_tokens, mixed, folds, younger
    if marks.least_share:
        return None
    mark = (marks.whole_share, policy.reserve_tokens)
    figures["target_tokens"] = low_water_tokens(policy.budget_tokens, must_tokens, *mark, by_worth=True)
    return figures["target_tokens"] - must_tokens, window, leaner, units


def _begins(entries: Sequence[ContextEntry], tokens: int) -> set[Hashable]:
    """The units of the window's beginning, as far as it has so many tokens."""
    found: set[Hashable] = set()
    for entry in entries:
        tokens -= entry.token_count
        if tokens < 0:
            break
        found.add(key_of(entry))
    return found


def _first_and_newest(entries: Sequence[ContextEntry]) -> frozenset[Any]:
    """The messages whose words stay whole as long as the budget can hold them: the user's first and newest."""
    spoken = [_meta(e, "message") for e in entries if is_user_text(e)]
    return frozenset(spoken[:1] + spoken[-1:])


def _cuts(
    seen: Sequence[ContextEntry],
    policy: Policy,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
    *,
    spare: frozenset[Any],
) -> dict[str, Cut]:
    """The pastes that may lose their middle: long, seen, not cut yet, and in no message to spare."""
    found: dict[str, Cut] = {}
    for entry in seen:
        long = is_user_text(entry) and entry.token_count > policy.keep_user_text_tokens
        if long and not _meta(entry, "cut") and _meta(entry, "message") not in spare:
            keep, ref = policy.keep_user_text_tokens, ref_of(entry.id) if policy.names_recall else None
            cut = plan_cut(entry.content, entry.token_count, keep, ref=ref, count=count)
            if cut is not None:
                found[entry.id] = cut
    return found


def _with_answers(entries: Sequence[ContextEntry], gone_ids: set[str], protected: set[Hashable]) -> set[str]:
    """Add what has to leave as well, so that no answer has thinking in a wrong place."""
    while more := unsettled(entries, gone_ids, lambda e: key_of(e) in protected):
        gone_ids |= more
    return gone_ids


def _within(chosen: Callable[[int], _Left], room_tokens: int, *, must_free: int) -> _Left:
    """Choose until it frees enough: the choice estimates what trimmed results cost, and is held to what they do cost."""
    left = chosen(room_tokens)
    for _ in range(_TRIES):
        missing = must_free - sum(freed for _, freed in left)
        if missing <= 0 or room_tokens < 0:
            break
        room_tokens -= missing + 1
        left = chosen(room_tokens)
    return left


def _kept(
    entries: Sequence[ContextEntry],
    units: Sequence[Unit],
    room_tokens: int,
    known: Known,
    recent_share: float,
    count: Callable[[str], int],
    leaner: Mapping[str, Lean],
) -> Kept:
    """Choose by worth."""
    by_id = {e.id: e for e in entries}
    may_leave = {id_ for unit in units for id_ in unit.ids}
    ordered = sorted(units, key=lambda unit: unit.order)
    return keep(
        [e for e in entries if e.id not in may_leave],
        [Takeable(tuple(by_id[id_] for id_ in unit.ids), unit.tokens) for unit in ordered],
        room_tokens,
        known=known,
        recent_share=recent_share,
        count=count,
        folds={id_: one.folded for id_, one in leaner.items()},
    )


@dataclass(frozen=True, slots=True)
class _Acts:
    """Puts into decisions what was chosen, each with what it frees now."""

    cuts: Mapping[str, Cut]
    figures: Mapping[str, int]
    ref_of: Callable[[str], str]
    count: Callable[[str], int]
    names_recall: bool

    @property
    def _marks(self) -> str:
        return f"pruned to {self.figures['target_tokens']:,} of {self.figures['budget_tokens']:,} tokens"

    @property
    def _untold(self) -> dict[str, bool]:
        """In a decision for good, so that its text stays the same whatever is in reach later."""
        return {} if self.names_recall else {"untold": True}

    def by_age(self, entries: Sequence[ContextEntry], gone_ids: set[str], alone: set[str]) -> _Left:
        """The oldest leave."""
        older = f"older than the newest that fit ({self._marks})"
        misfit = f"could not fit even alone beside what must stay ({self._marks})"
        return [self._without(e, misfit if e.id in alone else older, self.figures) for e in entries if e.id in gone_ids]

    def by_worth(
        self, entries: Sequence[ContextEntry], gone_ids: set[str], kept: Kept, leaner: Mapping[str, Lean]
    ) -> _Left:
        """What is worth least leaves, and lines of results do; of what stays, the noise is folded."""
        found: _Left = []
        for entry in entries:
            worth, tokens = kept.worth.get(entry.id, (0.0, entry.token_count))
            price = kept.price if math.isfinite(kept.price) else 0.0
            scores = {"worth": round(worth, 2), "unit_tokens": tokens, "price": round(price, 4)}
            figures = {**self.figures, **scores}
            if entry.id in gone_ids:
                found.append(self._without(entry, self._too_dear(worth, tokens, price), figures))
                continue
            rows, one = _meta(entry, "rows"), leaner.get(entry.id)
            ranges = kept.trimmed.get(entry.id, rows)
            if ranges != rows or (one is not None and _meta(entry, "fold") != one.fold):
                found += self._trimmed(entry, ranges, one, figures)
        return found

    def _too_dear(self, worth: float, tokens: int, price: float) -> str:
        if not price:
            return f"nothing had room beside what must stay ({self._marks})"
        each = f"{worth / max(1, tokens):.3f} a token, to stay took {price:.3f}"
        return f"mentions {worth:,.0f} names and lines that nothing newer does, {each} ({self._marks})"

    def _without(self, entry: ContextEntry, reason: str, figures: Mapping[str, Any]) -> tuple[Decision, int]:
        cut = self.cuts.get(entry.id)
        if cut is not None:
            words = f"the middle of a long paste, {reason}; beginning and end stay"
            detail = {**figures, "keep_head": cut.keep_head, "keep_tail": cut.keep_tail, **self._untold}
            freed = entry.token_count - cut.tokens
            return Decision(entry.id, "cut", words, freed, self.ref_of(entry.id), detail), freed
        saved = _meta(entry, "whole_tokens") or entry.token_count
        return Decision(entry.id, "pruned", reason, saved, self.ref_of(entry.id), dict(figures)), entry.token_count

    def _trimmed(
        self, entry: ContextEntry, ranges: Ranges | None, leaner: Lean | None, figures: Mapping[str, Any]
    ) -> _Left:
        """Lines leave, or the noise of those that stay is folded, if that frees anything."""
        ref, fold = self.ref_of(entry.id), leaner.fold if leaner else None
        tokens = self.count(trim_text(entry.content, ranges, ref if self.names_recall else None, fold))
        freed = entry.token_count - tokens
        if freed <= 0:
            return []
        detail, said = {**figures, **self._untold}, []
        if ranges is not None:
            lines, stay = entry.content.count("\n") + 1, sum(end - start for start, end in ranges)
            said.append(f"{stay:,} of {lines:,} lines stay, those that mention most of what nothing newer does")
            detail["rows"] = [list(one) for one in ranges]
        if leaner is not None:
            said.append(f"without {', '.join(leaner.folded.what)}, so that less has to leave")
            detail["fold"] = fold
        reason = f"{'; '.join(said)} ({self._marks})"
        saved = (_meta(entry, "whole_tokens") or entry.token_count) - tokens
        return [(Decision(entry.id, "folded" if ranges is None else "trimmed", reason, saved, ref, detail), freed)]
