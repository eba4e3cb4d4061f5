"""The logs of finished tasks, exported as files for people to read.

Law: a log is rewritten each time that something leaves with its task; a failed write is tried again at the next turn.
"""

from collections.abc import Iterable

from undrift.errors import StoreError, TaskError
from undrift.tasks.archive import Archive
from undrift.values.window import Decision
from undrift.window.context import SessionContext

__all__ = ["TaskLogs"]


class TaskLogs:
    """The exported logs of one session; none without the setting `debug_archive`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._is_on = context.settings.debug_archive
        self._missing: set[str] | None = None

    def path_of(self, task_id: str) -> str:
        """Return where the log of a task is exported; empty if none is."""
        return str(self._context.exports.log_path(self._context.id, task_id)) if self._is_on else ""

    def export(self, written: Iterable[Decision]) -> list[str]:
        """Write the logs of the tasks that let something go; return a warning for each that fails."""
        if not self._is_on:
            return []
        session_id, exports = self._context.id, self._context.exports
        if self._missing is None:  # the first turn: a crash may have kept logs from being written
            known = self._context.log.decisions.tasks
            self._missing = {task_id for task_id in known if not exports.log_path(session_id, task_id).exists()}
        self._missing |= {d.detail["task"] for d in written if d.kind == "evicted"}
        archive = Archive(self._context.store, session_id)  # reads nothing before it is asked
        warnings = []
        for task_id in sorted(self._missing):
            try:
                archive.export(exports, task_id)
                self._missing.discard(task_id)
            except (StoreError, TaskError) as error:
                warnings.append(f"the log of task {task_id!r} could not be exported, the store has it: {error}")
        return warnings
