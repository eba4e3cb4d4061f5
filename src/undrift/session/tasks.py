"""Changes of tasks, written in one step with the memories about them.

Law: a change that another agent overtook is judged again on top of that agent's change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.core.tasks.life import MAIN_AGENT
from undrift.core.text.marker import safe_id
from undrift.errors import TaskError, UndriftError
from undrift.memory.upkeep import MemoryUpkeep
from undrift.tasks.updates import TaskUpdates
from undrift.window.context import SessionContext
from undrift.wire import raw
from undrift.wire.form import ToolCall, ToolResult

__all__ = ["SessionTasks"]

_ATTEMPTS = 200  # a failed attempt is another agent's success


class SessionTasks:
    """Creates, changes and completes the tasks of one session."""

    def __init__(self, context: SessionContext, updates: TaskUpdates, upkeep: MemoryUpkeep) -> None:
        self._context = context
        self._updates = updates
        self._upkeep = upkeep

    def change(self, updates: Sequence[Mapping[str, Any]], *, agent: str, stack: bool) -> tuple[str, ...]:
        """Create, change and complete the tasks of one call; see `Session.change_tasks`."""
        self._context.log.follow()
        at_ms = self._context.clock.tick()
        for attempt in range(1, _ATTEMPTS + 1):
            changed, notes = self._updates.judged(updates, agent=agent, stack=stack)
            if not changed:
                return notes
            remembered = self._upkeep.admitted(changed, at_ms) if self._context.settings.remember_tasks else None
            if self._updates.write(changed, at_ms, remembered, is_last=attempt == _ATTEMPTS):
                return notes
        raise AssertionError  # the last attempt returns or raises

    def answer(self, call: ToolCall) -> ToolResult:
        """Execute a call of the task tool and return the answer; a refusal is an answer too."""
        try:
            arguments = raw.decode(call.arguments.encode("utf-8", "replace"), "arguments")
            if not isinstance(arguments, Mapping):
                raise TaskError("the arguments of the task tool must be an object: give id and what changes")
            notes = self.change([arguments], agent=MAIN_AGENT, stack=False)
            task = self._context.log.tasks.by_id[str(arguments["id"])]
        except UndriftError as error:
            return ToolResult(call.id, str(error), is_error=True)
        return ToolResult(call.id, " ".join((f"Task {safe_id(task.id)} is {task.status}.", *notes)))
