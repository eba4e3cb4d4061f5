"""Fits a window into its budget: finds the entries that must stay, and removes some of the others. Pure.

These must stay: pinned types, every user text, the last N tool results with their calls, and everything that the model
has not seen yet. A last assistant message must stay if the provider wants its thinking unchanged.

Above the budget the rest is fitted to the low-water mark in one batch: newest first, or by score (`keep`). The choice
by score also removes lines of results. The middle of a long paste belongs to the rest; its beginning and end stay.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from undrift.core.window.keep import Allowance, Kept, Removable, keep
from undrift.core.window.kept_rules import rule_places
from undrift.core.window.last_results import TerminalObservationWindow
from undrift.core.window.low_water import Thresholds
from undrift.core.window.paste import Cut, plan_cut
from undrift.core.window.prune import Unit, leaving
from undrift.core.window.reasons import Freed, Reasons, Wording
from undrift.core.window.shrink import Lean, lean
from undrift.core.window.thinking import is_thinking, key_of, latest_answer, opened, unsettled
from undrift.core.window.value import KnownReferences
from undrift.values.window import PINNED_TYPES, ContextEntry, Decision

__all__ = ["Policy", "Prompt", "TurnPlan", "is_user_text", "low_water_tokens", "plan_turn", "protected_keys"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that a plan obeys, under the same names. `note_tokens` stay free for a note that is added later."""

    budget_tokens: int
    target_ratio: float
    keep_tool_results: int
    keep_user_text_tokens: int
    keep_recent_share: float = 0.05
    note_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """The figures of the prompt before the plan.

    `entries`: the window, in order. Metadata: ``role``, ``kind``, ``message`` (shared by the blocks of one message),
    ``pair_id``, ``cut`` (a paste without its middle). For a trimmed result also ``rows`` (the ranges of its lines) and
    ``whole_tokens`` (its tokens before). `first_unseen`: index of the first entry that the model has not seen.
    `fixed_tokens`: system, tools and everything else that is sent next to `entries`. `wanted`: keys
    (`core.window.thinking.key_of`) of texts that the agent has just recalled; they stay whole if there is room.
    `opens_turns`: see `Binding`.
    """

    entries: Sequence[ContextEntry]
    first_unseen: int
    fixed_tokens: int = 0
    waiting: Collection[str] = ()
    opens_turns: bool = False
    wanted: Collection[Hashable] = ()


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """The decisions of one prune, with its figures.

    `oversize`: the number of entries that left because they could not fit even alone. `shortened`: the number of texts
    of the first or newest user message that lose their middle; nothing else would fit.
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
        """The tokens of the window after the plan."""
        return self.total_tokens - self.freed_tokens


def is_user_text(entry: ContextEntry) -> bool:
    """Return whether an entry is the user's own words."""
    return bool(entry.meta("role") == "user" and entry.meta("kind") == "text")


def low_water_tokens(budget_tokens: int, must_tokens: int, ratio: float, *, by_worth: bool = False) -> int:
    """Return the low-water mark in tokens: the share `ratio` of the budget, or more.

    If the parts that must stay use most of the budget, at least half of the free rest is used: little else would stay
    otherwise. By score it is a third, because the best parts need less room. The seeds' own mark
    (`core.prune.target_tokens`) is higher. On recorded sessions it kept no more of the later needs and cost 4 to 13%
    more, because each prune rewrites the provider's cache.

    See docs/adr/0006-low-water-mark.md.
    """
    if must_tokens >= budget_tokens:
        return budget_tokens
    return max(int(ratio * budget_tokens), must_tokens + (budget_tokens - must_tokens) // (3 if by_worth else 2))


def plan_turn(
    prompt: Prompt,
    policy: Policy,
    wording: Wording,
    *,
    known: Callable[[], KnownReferences] | None = None,
    thresholds: Thresholds | None = None,
    is_due: bool = False,
) -> TurnPlan | None:
    """Plan which entries to remove from a window. None means: the window fits.

    Args:
        known: Gives the history, learned up to now; then the best score stays, else the newest.
        thresholds: Why now, how far down and from which place; None: the budget alone decides.
        is_due: Plan even if it fits: it is rewritten anyway, and a second rewrite would cost the cache again.
    """
    entries = prompt.entries
    total = prompt.fixed_tokens + sum(e.token_count for e in entries)
    if total <= policy.budget_tokens and not is_due:
        return None
    protected = protected_keys(entries, prompt.first_unseen, policy.keep_tool_results)
    protected.update(key_of(e) for e in entries if e.id in prompt.waiting)
    spare = _first_and_newest(entries)
    offer = _Offer(entries)
    if known:
        thin, window = lean(entries, {*protected, *prompt.wanted}, count=wording.count, ref_of=wording.ref_of)
        offer = _Offer(window, thin)
    must_tokens, offer = _fitted(prompt, offer, protected, spare, policy, wording)
    thresholds = thresholds or Thresholds("budget", policy.target_ratio, policy.target_ratio, 0, 0.0)
    figures = _figures(policy, thresholds, must_tokens, total, by_worth=known is not None)
    offered = _after_beginning(thresholds, prompt, offer, protected, policy, figures)
    if offered is None:
        return None
    room_tokens, chosen_from = offered
    reasons = Reasons(wording, offer.cuts, figures)
    alone: set[str] = set()
    if known is None:
        gone, oversize = leaving(chosen_from.units, room_tokens)
        gone_ids = _with_answers(prompt, {id_ for unit in gone for id_ in unit.ids}, protected)
        alone = {id_ for unit in oversize for id_ in unit.ids if id_ not in offer.cuts}
        left = reasons.by_age(entries, gone_ids, alone)
    else:
        history, target_tokens = known(), figures["target_tokens"]

        def chosen(room_tokens: int) -> Freed:
            room = Allowance(room_tokens, policy.keep_recent_share, thresholds.least_price)
            kept = _kept(chosen_from, room, history, wording.count)
            figures["target_tokens"] = target_tokens - kept.spare_tokens
            gone_ids = _with_answers(prompt, set(kept.removed), protected)
            return reasons.by_worth(entries, gone_ids, kept, chosen_from.folds)

        left = _within(chosen, room_tokens, must_free=total - policy.budget_tokens)
    return _planned(entries, left, figures, spare, oversize=len(alone))


def _planned(
    entries: Sequence[ContextEntry], left: Freed, figures: Mapping[str, Any], spare: frozenset[Any], *, oversize: int
) -> TurnPlan:
    message_of = {e.id: e.meta("message") for e in entries}
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

_NONE: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class _Offer:
    """The units from which a plan chooses."""

    window: Sequence[ContextEntry]
    folds: Mapping[str, Lean] = field(default_factory=dict)
    units: Sequence[Unit] = ()
    cuts: Mapping[str, Cut] = field(default_factory=dict)


def protected_keys(entries: Sequence[ContextEntry], first_unseen: int, keep_tool_results: int) -> set[Hashable]:
    """Return the keys (`core.thinking.key_of`) of the units that stay at any budget."""
    keys = {key_of(e) for e in TerminalObservationWindow.get_last(entries, keep_tool_results)}
    keys.update(key_of(e) for e in entries[first_unseen:])
    keys.update(key_of(e) for e in entries if e.type in PINNED_TYPES or is_user_text(e))
    opening = [e for e in entries if e.meta("message") == entries[0].meta("message")] if entries else []
    if opening and not any(is_user_text(e) for e in opening):
        keys.add(key_of(opening[0]))  # the first message must be the user's, even if it is only a picture
    latest = latest_answer(entries[:first_unseen])
    if any(e.meta("kind") in ("thinking", "other") for e in latest):  # its thinking must not change
        keys.update(key_of(e) for e in latest)
    return keys


def _fitted(
    prompt: Prompt, offer: _Offer, protected: set[Hashable], spare: frozenset[Any], policy: Policy, wording: Wording
) -> tuple[int, _Offer]:
    """Return the tokens that must stay, and the offer with the units that may leave and the cuts of pastes.

    The budget is hard. If the parts that must stay exceed it, the user's first and newest words lose their middle too.
    Words that the model has not seen come last. Recently recalled texts stay while there is room.
    """

    def tried(may_be_cut: Sequence[ContextEntry], spared: frozenset[Any]) -> tuple[int, _Offer]:
        cuts = _cuts(may_be_cut, policy, wording, spare=spared)
        must_tokens, units = _units(offer.window, protected, cuts, prompt.fixed_tokens)
        return must_tokens, replace(offer, units=units, cuts=cuts)

    seen = offer.window[: prompt.first_unseen]
    if back := set(prompt.wanted) - protected:
        protected |= back
        found = tried(seen, spare)
        if found[0] <= low_water_tokens(policy.budget_tokens, 0, policy.target_ratio):
            return found
        protected -= back
    found = tried(seen, spare)
    if found[0] > policy.budget_tokens:
        found = tried(seen, _NONE)
    if found[0] > policy.budget_tokens:
        found = tried(offer.window, _NONE)
    return found


def _units(
    entries: Sequence[ContextEntry], protected: set[Hashable], cuts: Mapping[str, Cut], fixed_tokens: int
) -> tuple[int, list[Unit]]:
    """Return the tokens that must stay, and the units that may be removed; of a paste, only its middle may."""
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


def _figures(policy: Policy, thresholds: Thresholds, must_tokens: int, total: int, *, by_worth: bool) -> dict[str, Any]:
    budget = policy.budget_tokens
    return {
        "budget_tokens": budget,
        "target_tokens": _target_tokens(policy, must_tokens, thresholds.low_share, by_worth=by_worth),
        "protected_tokens": must_tokens,
        "total_tokens": total,
    }


def _target_tokens(policy: Policy, must_tokens: int, share: float, *, by_worth: bool) -> int:
    mark = low_water_tokens(policy.budget_tokens, must_tokens, share, by_worth=by_worth)
    return max(min(must_tokens, mark), mark - policy.note_tokens)


def _after_beginning(
    thresholds: Thresholds,
    prompt: Prompt,
    offer: _Offer,
    protected: set[Hashable],
    policy: Policy,
    figures: dict[str, Any],
) -> tuple[int, _Offer] | None:
    """Return the room and the units after the untouched beginning; all units if the rest is too small.

    Return None if no prune is forced, and it would free too little or rewrite more than is written anyway. The moment
    and the untouched tokens go into the figures.
    """
    entries, cuts = prompt.entries, offer.cuts
    target, must_tokens = figures["target_tokens"], figures["protected_tokens"]
    if figures["total_tokens"] - target < thresholds.least_share * (policy.budget_tokens - target):
        return None
    figures |= {"moment": thresholds.moment, "stays_tokens": 0}
    begins = _beginning(entries, thresholds.stays_tokens - prompt.fixed_tokens)
    if not begins:
        return target - must_tokens, offer
    mixed = [as_is if key_of(as_is) in begins else thin for as_is, thin in zip(entries, offer.window, strict=True)]
    later = {e.id: cuts[e.id] for e in entries if e.id in cuts and key_of(e) not in begins}
    held_tokens, younger = _units(mixed, protected | begins, later, prompt.fixed_tokens)
    if held_tokens < target:
        figures["stays_tokens"] = thresholds.stays_tokens
        folds = {e.id: offer.folds[e.id] for e in entries if e.id in offer.folds and key_of(e) not in begins}
        return target - held_tokens, _Offer(mixed, folds, younger, cuts)
    if thresholds.least_share:
        return None
    figures["target_tokens"] = _target_tokens(policy, must_tokens, thresholds.whole_share, by_worth=True)
    return figures["target_tokens"] - must_tokens, offer


def _beginning(entries: Sequence[ContextEntry], tokens: int) -> set[Hashable]:
    """Return the units at the window's beginning, up to `stays_tokens`."""
    found: set[Hashable] = set()
    for entry in entries:
        tokens -= entry.token_count
        if tokens < 0:
            break
        found.add(key_of(entry))
    return found


def _first_and_newest(entries: Sequence[ContextEntry]) -> frozenset[Any]:
    """Return the user's first and newest messages, which stay whole as long as the budget can hold them."""
    spoken = [e.meta("message") for e in entries if is_user_text(e)]
    return frozenset(spoken[:1] + spoken[-1:])


def _cuts(seen: Sequence[ContextEntry], policy: Policy, wording: Wording, *, spare: frozenset[Any]) -> dict[str, Cut]:
    """Return the pastes whose middle may be removed: long, seen, still whole, and in no spared message."""
    found: dict[str, Cut] = {}
    for entry in seen:
        long = is_user_text(entry) and entry.token_count > policy.keep_user_text_tokens
        if long and not entry.meta("cut") and entry.meta("message") not in spare:
            keep, ref = policy.keep_user_text_tokens, wording.ref_of(entry.id) if wording.names_recall else None
            rules = partial(rule_places, entry)
            cut = plan_cut(entry.content, entry.token_count, keep, ref=ref, count=wording.count, rules=rules)
            if cut is not None:
                found[entry.id] = cut
    return found


def _with_answers(prompt: Prompt, gone_ids: set[str], protected: set[Hashable]) -> set[str]:
    """Add the entries without which an answer would have thinking in an illegal place, and keep what must open a turn."""
    while more := unsettled(prompt.entries, gone_ids, lambda e: key_of(e) in protected):
        gone_ids |= more
    return opened(prompt.entries, gone_ids, lambda e: key_of(e) in protected) if prompt.opens_turns else gone_ids


def _within(chosen: Callable[[int], Freed], room_tokens: int, *, must_free: int) -> Freed:
    """Choose again until enough is freed: the choice only estimates the tokens of shortened results."""
    left = chosen(room_tokens)
    for _ in range(_TRIES):
        missing = must_free - sum(freed for _, freed in left)
        if missing <= 0 or room_tokens < 0:
            break
        room_tokens -= missing + 1
        left = chosen(room_tokens)
    return left


def _kept(offer: _Offer, room: Allowance, known: KnownReferences, count: Callable[[str], int]) -> Kept:
    """Choose the units to keep by their scores."""
    by_id = {e.id: e for e in offer.window}
    may_leave = {id_ for unit in offer.units for id_ in unit.ids}
    stays = [e for e in offer.window if e.id not in may_leave]
    folds = {id_: one.folded for id_, one in offer.folds.items()}
    units = sorted(offer.units, key=lambda unit: unit.order)
    may_go = [Removable(tuple(by_id[id_] for id_ in unit.ids), unit.tokens, folds) for unit in units]
    return keep(stays, may_go, room, known=known, count=count)
