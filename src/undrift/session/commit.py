"""One turn settled: what is new is decided, checked, and written before it is in force.

Law: a plan is made by the core, written in one transaction, and only then applied. What the provider would refuse is taken
back; a fault of the store lets nothing leave.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.window import check
from undrift.core.window.calling_back import called_back
from undrift.core.window.low_water import Cache, Marks, marks_of
from undrift.core.window.plan import Policy, TurnPlan, plan_turn
from undrift.core.window.shrink import first_send
from undrift.errors import StoreError
from undrift.settings import Settings
from undrift.tasks.eviction import Clearing
from undrift.values.window import Decision
from undrift.window.bound_thinking import Binding
from undrift.window.conversation import Conversation
from undrift.window.ledger import Ledger, Tentative
from undrift.window.left_note import has_left, left_text, outdated, standing_text
from undrift.window.notes import LEFT, note_entry
from undrift.window.request import Request

__all__ = ["Settler", "Turn"]

_log = logging.getLogger("undrift.session.session")

_ACTS = (("evicted", "evict"), ("folded", "fold"))


@dataclass(frozen=True, slots=True)
class Turn:
    conversation: Conversation
    request: Request
    binding: Binding
    fixed_tokens: int
    budget_tokens: int
    count: Callable[[str], int]
    now_ms: int
    cache: Cache
    idle_ms: int | None = None
    scratchpad: str = ""
    remembered: str = ""
    is_aside: bool = False

    def render(self) -> list[Any]:
        """The items to send, in the notation in which they came."""
        return self.conversation.render(self.request.given, self.request.load, self.request.dump)


class Settler:
    """Settles the turns of one session.

    Args:
        session_id: For the log.
        ledger: Of the session.
        clearing: The passes that belong to tasks.
        settings: In force.
    """

    def __init__(self, session_id: str, ledger: Ledger, clearing: Clearing, settings: Settings) -> None:
        self._session_id = session_id
        self._ledger = ledger
        self._clearing = clearing
        self._settings = settings
        self.written: tuple[Decision, ...] = ()
        """What the newest turn has decided anew; it is on disk."""

    def settle(self, turn: Turn, warnings: list[str]) -> tuple[list[Any] | None, TurnPlan | None]:
        """Decide, check and write.

        Returns:
            The items to send, or None for the body as it came; and the plan that is in force.
        """
        conversation, refused = turn.conversation, ""
        self.written = ()
        for may_reload in (True, True, False):
            try:
                with self._ledger.tentative() as fresh:
                    plan = self._propose(turn, fresh)
                    self._add_notes(turn, fresh)
                    items = turn.render()
                    refused = self._refused(turn)
                    if not refused:
                        if fresh.decisions:
                            self._write(turn, fresh, plan)
                            self.written = tuple(fresh.decisions)
                        return items, plan
            except StoreError as error:
                conversation.sync()
                if may_reload and self._reloaded():  # another process has decided since: plan again on top of that
                    conversation.sync()
                    continue
                warnings.append(f"nothing left the window, because it could not be stored first: {error}")
                _log.error("session %.80r: nothing left the window: %s", self._session_id, error)
                return turn.render(), None
            break
        warnings.append(f"nothing new left: the edit would have been refused ({refused})")
        _log.error("session %.80r: an edit would have been refused: %s", self._session_id, refused)
        conversation.sync()
        items = turn.render()
        if refused := self._refused(turn):
            warnings.append(f"sent as it came: earlier edits would have been refused ({refused})")
            return None, None
        return items, None

    def _write(self, turn: Turn, fresh: Tentative, plan: TurnPlan | None) -> None:
        originals = turn.conversation.originals(d.entry_id for d in fresh.decisions)
        notes = (d for d in fresh.decisions if d.kind == "noted")
        originals += [note_entry(d, timestamp_ms=turn.now_ms, count=turn.count) for d in notes]
        at = {"at": turn.conversation.newest_id}
        payload = {**at, "tokens": plan.total_tokens, "target": plan.target_tokens} if plan else at
        kinds = {decision.kind for decision in fresh.decisions}
        fresh.write(
            "prune" if plan else next((act for kind, act in _ACTS if kind in kinds), "place"),
            originals,
            at_ms=turn.now_ms,
            payload=payload,
            tasks=self._clearing.records(turn.conversation, fresh.decisions),
        )

    def _propose(self, turn: Turn, fresh: Tentative) -> TurnPlan | None:
        """Put in force what is new: pins, halves of pairs that were left alone, and what the budget asks for."""
        conversation, binding = turn.conversation, turn.binding
        fresh.add([*conversation.pins_to_place(), *conversation.loose()])
        conversation.sync()
        self._strip(turn, fresh, rewrites=False)
        if not binding.holds(conversation):
            self._rewrite(turn, fresh, self._clearing.let_go(conversation, turn.count))
            self._rewrite(turn, fresh, self._clearing.roll_up(conversation, turn.budget_tokens))
        self._shrink(turn, fresh)
        marks = None if binding.holds(conversation) else self._marks(turn, fresh)
        if marks is None or (marks.least_share and self._planned(turn, fresh, marks, is_due=True) is None):
            return None
        if marks.moment == "budget":
            self._rewrite(turn, fresh, self._clearing.let_go_under_pressure(conversation, turn.count))
        self._strip(turn, fresh, rewrites=True)
        plan = None
        while True:
            more = self._planned(turn, fresh, marks, is_due=plan is None)
            if more is None or (plan is not None and not more.decisions):
                return plan
            plan, has_changed = more, fresh.add(conversation.taken_here(more.decisions))
            conversation.sync()
            if not has_changed:  # of one block, one decision is taken at a time: the rest at a later turn
                return plan
            marks = replace(marks, stays_tokens=0, least_share=0.0)

    def _marks(self, turn: Turn, fresh: Tentative) -> Marks | None:
        """Say whether the window is pruned now, and how; None where it is not."""
        conversation, keep, budget = turn.conversation, self._settings, turn.budget_tokens
        total, ratio = turn.fixed_tokens + conversation.tokens_after, keep.prune_target_ratio
        if keep.prune_when == "over_budget" or keep.policy != "worth":
            return Marks("budget", ratio, ratio, 0, 0.0) if total > budget else None
        evicted = {d.entry_id for d in fresh.decisions if d.kind == "evicted"}
        if total <= (ratio * budget if evicted or turn.idle_ms else budget):
            return None
        # An earlier request that is sent again keeps the window it had: after a pause only the furthest history is pruned.
        is_furthest = self._ledger.decisions.places <= conversation.numbers.keys() | {""}
        answers = sum(view.role == "assistant" for view in conversation.views)
        return marks_of(
            total,
            budget,
            ratio=ratio,
            cache=turn.cache,
            growth_tokens=conversation.tokens_before / (answers + 1),
            idle_ms=turn.idle_ms if is_furthest else None,
            partial_prunes=self._ledger.decisions.partial_prunes(conversation.numbers),
            spares_beginning=keep.prune_when == "cheapest",
            rewritten_from=_rewritten_from(turn, evicted) if evicted else None,
        )

    def _planned(self, turn: Turn, fresh: Tentative, marks: Marks, *, is_due: bool) -> TurnPlan | None:
        conversation, keep = turn.conversation, self._settings
        limits = (keep.prune_target_ratio, keep.keep_tool_results, keep.keep_user_text_tokens)
        entries, first_unseen = conversation.live()
        return plan_turn(
            entries,
            first_unseen,
            fixed_tokens=turn.fixed_tokens,
            policy=Policy(
                turn.budget_tokens,
                *limits,
                reserve_tokens=self._allowance(turn),
                names_recall=conversation.names_recall,
            ),
            count=turn.count,
            ref_of=self._ledger.decisions.ref_of,
            settled=conversation.decided_here - {d.entry_id for d in fresh.decisions},
            wanted=called_back(list(conversation.all_entries)),
            is_due=is_due,
            known=conversation.known if keep.policy == "worth" else None,
            marks=marks,
        )

    def _shrink(self, turn: Turn, fresh: Tentative) -> None:
        """Fold the large noise of what was never sent; nothing is rewritten by that, so that it may be done at any time."""
        if self._settings.first_send_shrink:
            entries, first_unseen = turn.conversation.live()
            names, ref_of = turn.conversation.names_recall, self._ledger.decisions.ref_of
            found = first_send(entries[first_unseen:], count=turn.count, ref_of=ref_of, names_recall=names)
            if fresh.add(turn.conversation.taken_here(found)):
                turn.conversation.sync()

    def _rewrite(self, turn: Turn, fresh: Tentative, gone: list[Decision]) -> None:
        """Put in force what leaves, and with it the notes that are out of date: they never leave on their own account."""
        conversation = turn.conversation
        if gone:
            self._strip(turn, fresh, rewrites=True)
            fresh.add([*conversation.taken_here(gone), *conversation.stale_notes(self._notes(turn, fresh))])
            conversation.sync()

    def _add_notes(self, turn: Turn, fresh: Tentative) -> None:
        """Say what is new behind what was sent, as far as the budget has room for it: a note makes nothing else leave."""
        if turn.is_aside:
            return
        conversation, notes = turn.conversation, self._notes(turn, fresh)
        if has_left(fresh.decisions) and fresh.add(outdated(conversation, self._ledger.decisions, notes[LEFT])):
            conversation.sync()
        if fresh.add(conversation.notes_to_place(notes)):
            conversation.sync()
            for name in (LEFT, None):  # what the agent wrote, or is to know, goes before what it can get back
                if turn.fixed_tokens + conversation.tokens_after > turn.budget_tokens and fresh.drop_notes(name):
                    conversation.sync()

    def _notes(self, turn: Turn, fresh: Tentative) -> dict[str, str]:
        """What is said to the agent besides, as it is now."""
        conversation = turn.conversation
        if has_left(fresh.decisions):
            left = left_text(conversation, self._allowance(turn), turn.count)
        else:
            left = standing_text(conversation, self._ledger.decisions)
        finished = self._clearing.finished_note(conversation)
        return {LEFT: left, "finished": finished, "scratchpad": turn.scratchpad, "memory": turn.remembered}

    def _allowance(self, turn: Turn) -> int:
        """The tokens that the note of what left may take."""
        return int(self._settings.left_note_share * turn.budget_tokens)

    def _strip(self, turn: Turn, fresh: Tentative, *, rewrites: bool) -> None:
        """Let thinking go that is bound to what is sent otherwise by now, or is about to be."""
        if turn.binding.strips:
            fresh.add(turn.conversation.stale_thinking(may_wait=turn.binding.may_wait, rewrites=rewrites))
            turn.conversation.sync()

    def _refused(self, turn: Turn) -> str:
        """What is wrong with the edited history, though not with the one that came; empty when nothing."""
        conversation, beside = turn.conversation, turn.request.fields
        if conversation.checked or conversation.untouched:
            return ""
        broken = check.problems(conversation.entries, conversation.live()[0])
        refused = conversation.form.problems(conversation.shown, beside)
        found = broken or (
            check.added(refused, conversation.form.problems(conversation.views, beside)) if refused else ()
        )
        if found:
            return found[0]
        conversation.checked = True
        return ""

    def _reloaded(self) -> bool:
        try:
            return self._ledger.reload()
        except StoreError:
            return False


def _rewritten_from(turn: Turn, rewritten: Collection[str]) -> int | None:
    """Tokens before the first of some entries; None where none of them is sent."""
    entries, _ = turn.conversation.live()
    for number, entry in enumerate(entries):
        if entry.id in rewritten:
            return turn.fixed_tokens + sum(e.token_count for e in entries[:number])
    return None
