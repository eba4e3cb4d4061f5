"""Read back from the store what left with the tasks of a session, and write their logs as files for grep.

Law: a log is made of the store alone and rewritten as a whole, so that the same store gives the same bytes in place of any
former log. Texts are masked in the store; nothing is masked here.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from undrift.core.tasks.life import completions
from undrift.core.text.tombstone import clean_summary
from undrift.core.window.log import taken_at
from undrift.errors import TaskError
from undrift.stores.base import Operation
from undrift.stores.contract import Store
from undrift.stores.exports import Exports, LogItem, TaskLog
from undrift.values.window import Decision, Original, Task, Tasks

__all__ = ["Archive"]

_SETTLED = ("evict", "prune")
"""Kinds of operations in which a task can let something go."""
_MOST_IDS_SHOWN = 10
_LONGEST_ID_SHOWN = 100


class Archive:
    """The originals that left with the tasks of one session, as the store has them at the first question."""

    def __init__(self, store: Store, session_id: str) -> None:
        self.session_id = session_id
        self._store = store

    @cached_property
    def tasks(self) -> Tasks:
        """The session's tasks and tags."""
        return self._store.tasks(self.session_id)

    @property
    def evicted_ids(self) -> tuple[str, ...]:
        """Ids of the tasks that let something go, in the order in which the tasks were made."""
        return tuple(task_id for task_id in self.tasks.by_id if task_id in self._evicted)

    def task(self, task_id: str) -> Task:
        """Return a task of the session.

        Raises TaskError: it has none of that id; the message names those that it has.
        """
        found = self.tasks.by_id.get(task_id)
        if found is None:
            session, known = _shown(self.session_id), list(self.tasks.by_id)
            if not known:
                raise TaskError(f"there is no task {_shown(task_id)}: session {session} has no tasks")
            more = f" and {len(known) - _MOST_IDS_SHOWN} earlier ones" if len(known) > _MOST_IDS_SHOWN else ""
            names = ", ".join(map(_shown, known[-_MOST_IDS_SHOWN:]))
            raise TaskError(f"there is no task {_shown(task_id)} in session {session}, which has {names}{more}")
        return found

    def decisions(self, task_id: str) -> tuple[Decision, ...]:
        """Return the decisions by which a task let something go, oldest first; of each original the first one.

        A history that goes back lets the same originals go again elsewhere; they are stored once.
        """
        return tuple(self._evicted.get(task_id, {}).values())

    def originals(self, task_id: str) -> tuple[Original, ...]:
        """Return what left with a task: one place of the history after the other, in the order of the window.

        Raises StoreCorrupt: one of them does not match its SHA-256; the message names it.
        """
        return tuple(original for group in self._places(task_id) for original in self._read(group))

    def logs(self, task_id: str) -> tuple[TaskLog, ...]:
        """Return what left with a task: one log for each place in the history, oldest first.

        There is one for each completion, and one more if a completion evicted results later that it kept at first. After
        a rewind, what left again elsewhere stands in the first one alone. Empty if nothing left with the task.

        Raises TaskError: the session has no such task; the message names those that it has. Raises StoreError: the
        store cannot be read, or an original does not match its SHA-256.
        """
        self.task(task_id)
        return tuple(self._log(task_id, group) for group in self._places(task_id))

    def export(self, exports: Exports, task_id: str) -> Path:
        """Write the log of what left with a task, in place of a former one, and return its path.

        Raises TaskError: the session has no such task, or nothing left with it. Raises StoreError: the store cannot be
        read or the file not written; a former log is as it was.
        """
        logs = self.logs(task_id)
        if not logs:
            status = self.task(task_id).status
            raise TaskError(
                f"task {_shown(task_id)} of session {_shown(self.session_id)} ({status}) has no log: nothing left with it. "
                "The output of a task leaves the window at a request after its completion"
            )
        return exports.write_log(self.session_id, task_id, logs)

    def changed_at_ms(self, task_id: str) -> int:
        """Return when a task was last changed, in Unix milliseconds; 0 for one that is not known.

        For a completed task that is its completion, unless its words were corrected since.
        """
        return max((one.at_ms for one in self._changes(task_id)), default=0)

    @cached_property
    def _evicted(self) -> dict[str, dict[str, Decision]]:
        """Task id -> reference -> the first decision by which it left."""
        found: dict[str, dict[str, Decision]] = {}
        for decision in self._store.decided(self.session_id):
            task_id = decision.detail.get("task")
            if decision.kind == "evicted" and isinstance(task_id, str) and decision.ref:
                found.setdefault(task_id, {}).setdefault(decision.ref, decision)
        return found

    @cached_property
    def _operations(self) -> tuple[Operation, ...]:
        return self._store.operations(self.session_id)

    def _places(self, task_id: str) -> list[list[Decision]]:
        groups: dict[str, list[Decision]] = {}
        for decision in self.decisions(task_id):
            groups.setdefault(taken_at(decision), []).append(decision)
        return list(groups.values())

    def _read(self, group: Iterable[Decision]) -> list[Original]:
        """The originals in the order of the window: they were decided about by kind."""
        found = [self._store.original(decision.ref) for decision in group]
        return sorted(found, key=lambda original: (original.entry.timestamp, original.entry.seq))

    def _log(self, task_id: str, group: Sequence[Decision]) -> TaskLog:
        originals = self._read(group)
        summary = "\n\n".join(self._summaries(task_id, group, originals))
        return TaskLog(task_id, summary, self._left_at_ms(task_id, taken_at(group[0])), tuple(map(_item, originals)))

    def _summaries(self, task_id: str, group: Sequence[Decision], originals: Sequence[Original]) -> list[str]:
        """Return the texts that replace these: the summaries of the completions that the calls were tagged for, or that
        stand in the tombstones themselves. None while the task is open."""
        calls = {original.entry.pair_id for original in originals}
        tombstones = [text for text in (decision.detail.get("text") for decision in group) if isinstance(text, str)]
        found = [
            one.summary
            for one in completions(self.tasks, task_id)
            if one.summary
            and (not calls.isdisjoint(one.call_ids) or any(clean_summary(one.summary) in text for text in tombstones))
        ]
        return list(dict.fromkeys(found))

    def _left_at_ms(self, task_id: str, place: str) -> int:
        """Return when it left: the operation names the place, not the task. A history that was sent again after another
        task ended has several of one place. Then it is the first after the task's own change."""
        settled = [one for one in self._operations if one.kind in _SETTLED and (one.payload or {}).get("at") == place]
        if not settled:
            return 0
        changed = [one.seq for one in self._changes(task_id) if one.seq < settled[-1].seq]
        return next(one.at_ms for one in settled if not changed or one.seq > changed[-1])

    def _changes(self, task_id: str) -> list[Operation]:
        """The operations by which a task was changed."""
        return [
            one
            for one in self._operations
            if one.kind == "task" and task_id in ((one.payload or {}).get("tasks") or ())
        ]


def _item(original: Original) -> LogItem:
    metadata = original.entry.metadata or {}
    kind, tool_name = metadata.get("kind"), metadata.get("tool_name")
    return LogItem(
        original.ref,
        kind if isinstance(kind, str) else original.entry.type,
        original.entry.content,
        tool_name if isinstance(tool_name, str) else "",
    )


def _shown(name: str) -> str:
    """Return a name as messages show it: quoted, what cannot be printed escaped, and not longer than one line."""
    return repr(name if len(name) <= _LONGEST_ID_SHOWN else name[: _LONGEST_ID_SHOWN - 1] + "\u2026")
