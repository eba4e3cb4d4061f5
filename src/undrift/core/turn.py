"""One turn's plan: the ONE place that orders the passes and settles their conflicts. Pure.

The passes: (1) what must stay is named: pinned types, every user text, the last N tool results with their calls,
everything that the model has not seen yet, and a last assistant message whose thinking the provider wants unchanged;
(2) above the budget, and only then, the rest is fitted newest first, down to the low-water mark, in one batch. The
middle of a long paste counts to the rest: it leaves in its turn, beginning and end stay.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.observation_window import TerminalObservationWindow
from undrift.core.paste import Cut, plan_cut
from undrift.core.prune import Unit, leaving
from undrift.core.thinking import is_thinking, key_of, latest_answer, unsettled
from undrift.types import PINNED_TYPES, ContextEntry, Decision

__all__ = ["Policy", "TurnPlan", "is_user_text", "low_water_tokens", "plan_turn", "protected_keys"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers that a plan obeys; see the settings of the same names."""

    budget_tokens: int
    target_ratio: float
    keep_tool_results: int
    keep_user_text_tokens: int


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


def low_water_tokens(budget_tokens: int, must_tokens: int, ratio: float) -> int:
    """Return what a window is pruned down to: `ratio` of the budget, in tokens.

    Where what must stay takes much of the budget, at least half of what it leaves free is used, as otherwise almost
    nothing else would stay. The seeds' own mark (`core.prune.target_tokens`) stands higher: on recorded sessions it
    kept no more of what was needed later and cost 4 to 13% more, as each prune rewrites the provider's cache.

    Source: A2-3; docs/adr/0006-low-water-mark.md.
    """
    if must_tokens >= budget_tokens:
        return budget_tokens
    return max(int(ratio * budget_tokens), must_tokens + (budget_tokens - must_tokens) // 2)


def plan_turn(
    entries: Sequence[ContextEntry],
    first_unseen: int,
    *,
    fixed_tokens: int,
    policy: Policy,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
    is_due: bool = False,
) -> TurnPlan | None:
    """Plan what has to leave a window; None while it fits.

    Args:
        entries: The window as it would be sent, in order. Metadata: ``role``, ``kind``, ``message`` (what the blocks
            of one message share), ``pair_id``, ``cut`` (a paste that has lost its middle already).
        first_unseen: Index of the first entry that the model has not seen.
        fixed_tokens: System, tools and whatever else is sent beside `entries`.
        policy: Budget and limits, in the unit of `count`.
        count: The counter in force.
        ref_of: Entry id to recall reference.
        is_due: Plan even where it fits: it is being rewritten anyway, and a second rewriting would cost the cache again.

    Source: R2-04 to R2-14, R0-04, A0-6, A2-1 to A2-4, A2-12, AX-1.
    """
    total = fixed_tokens + sum(e.token_count for e in entries)
    if total <= policy.budget_tokens and not is_due:
        return None
    protected = protected_keys(entries, first_unseen, policy.keep_tool_results)
    spare = _first_and_newest(entries)
    must_tokens, units, cuts = _fitted(entries, first_unseen, protected, spare, fixed_tokens, policy, count, ref_of)
    target = low_water_tokens(policy.budget_tokens, must_tokens, policy.target_ratio)
    gone, oversize = leaving(units, target - must_tokens)
    gone_ids = {id_ for unit in gone for id_ in unit.ids}
    while more := unsettled(entries, gone_ids, lambda e: key_of(e) in protected):
        gone_ids |= more
    figures = {
        "budget_tokens": policy.budget_tokens,
        "target_tokens": target,
        "protected_tokens": must_tokens,
        "total_tokens": total,
    }
    alone = {id_ for unit in oversize for id_ in unit.ids if id_ not in cuts}
    decisions = tuple(_decision(e, cuts.get(e.id), figures, ref_of, e.id in alone) for e in entries if e.id in gone_ids)
    message_of = {e.id: _meta(e, "message") for e in entries}
    return TurnPlan(
        decisions=decisions,
        protected_tokens=must_tokens,
        target_tokens=target,
        total_tokens=total,
        freed_tokens=sum(d.tokens_saved for d in decisions),
        oversize=len(alone),
        shortened=sum(d.kind == "cut" and message_of[d.entry_id] in spare for d in decisions),
    )


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
    spare: frozenset[Any],
    fixed_tokens: int,
    policy: Policy,
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
) -> tuple[int, list[Unit], dict[str, Cut]]:
    """Tokens of what must stay, what may leave, and how the pastes among it are cut.

    The budget is hard: only when what must stay exceeds it, the first and newest words of the user lose their middle
    as well, and only when that does not help, words that the model has not seen.
    """

    def tried(may_be_cut: Sequence[ContextEntry], spared: frozenset[Any]) -> tuple[int, list[Unit], dict[str, Cut]]:
        cuts = _cuts(may_be_cut, policy, count, ref_of, spare=spared)
        return *_units(entries, protected, cuts, fixed_tokens), cuts

    seen = entries[:first_unseen]
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
            keep, ref = policy.keep_user_text_tokens, ref_of(entry.id)
            cut = plan_cut(entry.content, entry.token_count, keep, ref=ref, count=count)
            if cut is not None:
                found[entry.id] = cut
    return found


def _decision(
    entry: ContextEntry, cut: Cut | None, figures: dict[str, int], ref_of: Callable[[str], str], alone: bool
) -> Decision:
    marks = f"pruned to {figures['target_tokens']:,} of {figures['budget_tokens']:,} tokens"
    if cut is not None:
        reason = f"the middle of a long paste, older than the newest that fit ({marks}); beginning and end stay"
        detail = {**figures, "keep_head": cut.keep_head, "keep_tail": cut.keep_tail}
        return Decision(entry.id, "cut", reason, entry.token_count - cut.tokens, ref_of(entry.id), detail)
    if alone:
        reason = f"could not fit even alone beside what must stay ({marks})"
    else:
        reason = f"older than the newest that fit ({marks})"
    return Decision(entry.id, "pruned", reason, entry.token_count, ref_of(entry.id), dict(figures))
