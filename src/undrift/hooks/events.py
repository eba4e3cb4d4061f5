"""The work at each event of a client, in one table: a row is a module, which is imported when its event comes.

Law: a module in the table has a function `work` (`EventWorker`), and imports nothing heavy at its top: the client waits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply

__all__ = ["EVENTS", "EventWork", "EventWorker", "workers"]


class EventWorker(Protocol):
    """The function `work` of a module in the table."""

    def __call__(self, call: HookCall) -> HookReply:
        """Do the work, and return what there is to say.

        Any error is one line in the log; what the other rows of the event say is said all the same.
        """


@dataclass(frozen=True, slots=True)
class EventWork:
    """One piece of work.

    Args:
        module: Its name in `undrift.hooks`.
        sources: The kinds of a session's start at which it is done; empty: at every call of the event.
    """

    module: str
    sources: tuple[str, ...] = ()


EVENTS: Mapping[str, tuple[EventWork, ...]] = {
    "PreCompact": (EventWork("compacting"),),
    "SessionStart": (
        EventWork("restoring", ("compact",)),
        EventWork("brought", ("compact",)),
        EventWork("beginning", ("startup", "resume")),
        EventWork("continuing", ("clear",)),
        EventWork("rule_keeper", ("startup", "resume", "clear")),
    ),
    "PreToolUse": (EventWork("rule_guard"),),
    "SubagentStart": (EventWork("briefing"),),
    "SubagentStop": (EventWork("reporting"),),
    "UserPromptSubmit": (EventWork("cold_cache"), EventWork("rule_prompt"), EventWork("brought")),
}
"""Event -> what is done, in order."""


def workers(event: str, source: str) -> Iterator[EventWorker]:
    """Yield what is to be done at an event, each imported as it is reached."""
    for one in EVENTS.get(event, ()):
        if not one.sources or source in one.sources:
            worker: EventWorker = import_module(f"undrift.hooks.{one.module}").work
            yield worker
