"""The pass that keeps the window within its budget: it decides when to prune, how much, and which entries. Pure.

Law: above the budget it prunes, always. Below it only if the provider has to write the prompt again in any case, or if
the session pays for it out of its savings. It continues until the window fits or nothing more may leave. Each round
decides about a new block, or replaces a decision of this turn that had kept a part of one, so it ends.
"""

from collections.abc import Collection
from dataclasses import replace

from undrift.core.window.additions import without_pin
from undrift.core.window.auto_budget import LEAST_HISTORY_TOKENS, Rewritten, Size, auto_thresholds
from undrift.core.window.bank import (
    STAYS_SHARES,
    Rewrite,
    is_thinkable,
    is_turn_to_plan,
    median_tokens,
    offer_of,
    paid_thresholds,
)
from undrift.core.window.calling_back import called_back
from undrift.core.window.fit import Policy, Prompt, TurnPlan, plan_turn
from undrift.core.window.left import LEFT, left_allowance
from undrift.core.window.low_water import Pace, Thresholds, thresholds_of
from undrift.core.window.notes import loose_pins, without_note
from undrift.core.window.reasons import Wording
from undrift.core.window.rewriting import without_thinking
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window

__all__ = ["budget"]


def budget(window: Window, turn: Turn) -> Window:
    """Remove entries in one step if the budget, a pause or an ended task requires it; the window has the plan."""
    thresholds = None if turn.binding.holds(window) else _thresholds(window, turn)
    if thresholds is None or not _is_worth_it(window, turn, thresholds):
        return window
    window, plan = _cleared(window, turn, thresholds.stays_tokens), None
    while True:
        more = _planned(window, turn, thresholds, is_due=plan is None)
        if more is None or (plan is not None and not more.decisions):
            return replace(window, plan=plan)
        plan, pruned = more, window.with_(more.decisions)
        if pruned is window:  # each block gets one decision at a time: the rest waits for a later turn
            return replace(window, plan=plan)
        window, thresholds = pruned, replace(thresholds, stays_tokens=0, least_share=0.0)


def _cleared(window: Window, turn: Turn, stays_tokens: int) -> Window:
    """Return the window without the parts that each prune removes: bound thinking, and notes that a newer one replaces."""
    window = without_thinking(window, turn)
    loose = {d.entry_id: d for d in loose_pins(window)}
    window = window.with_(without_pin(loose[id_]) for id_ in _movable(window, turn, loose, stays_tokens))
    return _without_notes(window, turn, stays_tokens) if turn.tools.way_back else window


def _without_notes(window: Window, turn: Turn, stays_tokens: int) -> Window:
    """Remove the notes of what left after the untouched beginning: a newer note replaces them."""
    old = {d.entry_id: d for d in window.notes if d.detail["name"] == LEFT}
    return window.with_(without_note(old[id_]) for id_ in _movable(window, turn, old, stays_tokens))


def _movable(window: Window, turn: Turn, ids: Collection[str], stays_tokens: int) -> list[str]:
    """Return those of some entries that stand after the untouched beginning and that the model has seen."""
    new = {d.entry_id for d in window.new}
    found = (id_ for id_ in ids if id_ not in new)
    return [id_ for id_ in found if (_rewritten_from(window, turn, [id_]) or 0) >= stays_tokens]


def _thresholds(window: Window, turn: Turn) -> Thresholds | None:
    """Return the limits of a prune. None means: do not prune now."""
    rules, limit = turn.rules, turn.room.budget_tokens
    total, ratio = turn.total_tokens(window), rules.prune_target_ratio
    if rules.prune_when == "over_budget" or rules.policy != "worth":
        return Thresholds("budget", ratio, ratio, 0, 0.0) if total > limit else None
    evicted = {d.entry_id for d in window.new if d.kind == "evicted"}
    if turn.room.is_auto:
        size, rewritten = Size(total, turn.room.fixed_tokens, limit), _rewritten(window, turn, evicted)
        return auto_thresholds(size, turn.cache, rewritten) or (None if rewritten else _paid_for(window, turn, size))
    if total <= (ratio * limit if evicted or turn.cache.is_cold(turn.idle_ms) else limit):
        return None
    answers = sum(item.role == "assistant" for item in window.items)
    pace = Pace(
        growth_tokens=window.tokens_before / (answers + 1),
        # A repeated request keeps its earlier window: after a pause only the furthest history is pruned.
        idle_ms=turn.idle_ms if turn.past.is_furthest() else None,
        partial_prunes=turn.past.partial_prunes(),
        spares_beginning=rules.prune_when == "cheapest",
        rewritten_from=_rewritten_from(window, turn, evicted) if evicted else None,
    )
    return thresholds_of(total, limit, ratio, turn.cache, pace)


def _paid_for(window: Window, turn: Turn, size: Size) -> Thresholds | None:
    """Return the limits of the prune with the highest gain among those that the session's savings can pay."""
    if not is_turn_to_plan(len(window.items)):
        return None
    if size.history_tokens < LEAST_HISTORY_TOKENS or not turn.past.is_furthest():
        return None
    new_tokens = sum(item.tokens for item in window.items[window.rewritten_at + 1 :])
    if not is_thinkable(turn.account, size.history_tokens, new_tokens, turn.cache):
        return None
    best: tuple[float, Thresholds] | None = None
    for share in STAYS_SHARES:
        stays = size.fixed_tokens + int(share * size.history_tokens)
        thresholds = paid_thresholds(auto_thresholds(size, turn.cache, Rewritten("bank", stays)), turn.cache)
        plan = None if thresholds is None else _planned(window, turn, thresholds, is_due=True)
        if thresholds is None or plan is None or plan.freed_tokens < thresholds.least_tokens:
            continue
        if plan.tokens_after < size.fixed_tokens + LEAST_HISTORY_TOKENS:
            continue
        before = _rewritten_from(window, turn, _changed(window, turn, plan, stays))
        before = size.total_tokens if before is None else before
        cut = Rewrite(before, size.total_tokens - before, plan.freed_tokens)
        offer = offer_of(cut, median_tokens(window.entries), turn.cache, turn.account)
        if offer is not None and (best is None or offer > best[0]):
            best = (offer, thresholds)
    return None if best is None else best[1]


def _changed(window: Window, turn: Turn, plan: TurnPlan, stays_tokens: int) -> set[str]:
    """Return the ids of the entries that a prune changes, with the bound thinking and the notes that leave with it."""
    left = {entry.id for entry in _cleared(window, turn, stays_tokens).entries}
    return {d.entry_id for d in plan.decisions} | {e.id for e in window.entries if e.id not in left}


def _is_worth_it(window: Window, turn: Turn, thresholds: Thresholds) -> bool:
    """Return whether a prune would free enough, and only where that is free; one that the budget forces always does."""
    if not (thresholds.least_share or thresholds.least_tokens):
        return True
    plan = _planned(window, turn, thresholds, is_due=True)
    if plan is None or plan.freed_tokens < thresholds.least_tokens:
        return False
    return thresholds.moment not in ("change", "task") or _spares_beginning(window, turn, plan, thresholds.stays_tokens)


def _spares_beginning(window: Window, turn: Turn, plan: TurnPlan, tokens: int) -> bool:
    """Return whether a prune leaves the first tokens of the prompt as they are: the provider reads them from its cache.

    A plan that finds too little behind them takes from all of the window.
    """
    changed, end = _changed(window, turn, plan, tokens), turn.room.fixed_tokens
    for entry in window.entries:
        end += entry.token_count
        if end > tokens:
            return True
        if entry.id in changed:
            return False
    return True


def _rewritten(window: Window, turn: Turn, evicted: Collection[str]) -> Rewritten | None:
    """Return the first place from which the provider writes the prompt again in any case. None means: it reads all of it."""
    is_cold = turn.cache.is_cold(turn.idle_ms)
    is_changed = turn.changed_from_tokens is not None and not turn.is_aside
    found = []
    if (is_cold or is_changed) and turn.past.is_furthest():  # a repeated request keeps its earlier window
        found.append(Rewritten("pause", 0) if is_cold else Rewritten("change", turn.changed_from_tokens or 0))
    if evicted and (place := _rewritten_from(window, turn, evicted)) is not None:
        found.append(Rewritten("task", place))
    return min(found, key=lambda one: one.from_tokens, default=None)


def _planned(window: Window, turn: Turn, thresholds: Thresholds, *, is_due: bool) -> TurnPlan | None:
    rules, tools = turn.rules, turn.tools
    policy = Policy(
        thresholds.budget_tokens or turn.room.budget_tokens,
        rules.prune_target_ratio,
        rules.keep_tool_results,
        rules.keep_user_text_tokens,
        note_tokens=left_allowance(turn.room.budget_tokens) if tools.way_back else 0,
    )
    prompt = Prompt(
        window.entries,
        window.seen,
        turn.room.fixed_tokens,
        waiting=(window.decided_here - {d.entry_id for d in window.new}) | {d.entry_id for d in loose_pins(window)},
        opens_turns=turn.binding.opens_turns,
        wanted=called_back(list(window.given)),
    )
    known = (lambda: tools.known(window)) if rules.policy == "worth" else None
    wording = Wording(tools.count, tools.ref_of, tools.names_recall, turn.room.calibration)
    return plan_turn(prompt, policy, wording, known=known, thresholds=thresholds, is_due=is_due)


def _rewritten_from(window: Window, turn: Turn, rewritten: Collection[str]) -> int | None:
    """Return the tokens before the first of some entries. None means: no such entry is sent."""
    for number, entry in enumerate(window.entries):
        if entry.id in rewritten:
            return turn.room.fixed_tokens + sum(e.token_count for e in window.entries[:number])
    return None
