"""A sub-agent starts: gives it a brief of what its task needs of its parent.

Law: at most 2,000 tokens, and nothing if nothing fits the task. A sub-agent that has its parent's history gets none.
"""

from collections.abc import Sequence
from pathlib import Path

from undrift.hooks.call import HookCall, text_of
from undrift.hooks.reply import HookReply
from undrift.values.window import ContextEntry

__all__ = ["BRIEF_TOKENS", "work"]

BRIEF_TOKENS = 2_000
"""As characters / 4."""

_REPORTS_TOKENS = 500
_MOST_UNITS = 9_900
"""UTF-16 units, which a client takes from one hook."""

_FORK = "fork"
"""The kind of agent that continues its parent's history."""


def work(call: HookCall) -> HookReply:
    """Return the brief."""
    kind = text_of(call.payload, "agent_type")
    if kind == _FORK:
        return HookReply()
    from undrift.hooks.sub_agents import OwnSession, entries_of, own_session, parent_session, task_given

    with parent_session(call) as parent:
        own = OwnSession()
        if Path(call.transcript).name != parent.name:  # the client has named the sub-agent's own recording
            with call.open() as transcript:
                own = own_session(transcript, call.format)
        if own.is_fork:
            return HookReply()
        entries = entries_of(parent, call.format)
    task = task_given(entries, kind, own.name)
    return HookReply(_text(call, entries, task)) if task else HookReply()


def _text(call: HookCall, entries: Sequence[ContextEntry], task: str) -> str:
    """Write the brief, and after it what earlier sub-agents found; within both limits."""
    from undrift.core.handoff import brief
    from undrift.core.handoff.reports import fitting_reports
    from undrift.core.text.secrets import mask
    from undrift.core.text.tokens import characters_per_4
    from undrift.hooks.prepared import units
    from undrift.hooks.reporting import reports_of
    from undrift.hooks.rules import load_rules

    reports = fitting_reports(reports_of(call), task, _REPORTS_TOKENS)
    rules = load_rules(call.folder())
    budget_tokens = BRIEF_TOKENS - characters_per_4(reports) - 1
    while budget_tokens > 0:
        text = brief(entries, task, budget_tokens=budget_tokens, rules=rules).text
        text = mask("\n".join(piece for piece in (text.rstrip(), reports.rstrip()) if piece)).text
        if units(text) <= _MOST_UNITS and characters_per_4(text) <= BRIEF_TOKENS:
            return text
        budget_tokens //= 2
    return ""
