"""``undrift recall --why``: why an original left, with the figures and the operation; or the result of a task."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import home_options
from undrift.cli.show import again, count, echo_json, first_line, safe
from undrift.cli.task_view import TaskView, moment
from undrift.core.text.calibration import Calibration
from undrift.errors import RecallError, StoreCorrupt
from undrift.stores.base import Operation
from undrift.stores.contract import Store
from undrift.tasks.archive import Archive
from undrift.values.window import Decision, Original

__all__ = ["show_why", "why_command"]


@click.command("why")
@click.argument("entry_or_ref")
@click.option("--session", metavar="ID", help="Look only in this session (default: the newest with it).")
@home_options
def why_command(entry_or_ref: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Say why something left a window.

    ENTRY_OR_REF is the id of a removed text. `undrift replay` prints such ids, and the window shows them where text
    was removed. The id of an entry works too. For task:ID, the summary of the task and the verdict on it are shown.

    \b
    undrift recall REF --why
    """
    show_why(entry_or_ref, session, home, as_json)


def show_why(wanted: str, session: str | None, home: str | None, as_json: bool) -> None:
    """Print why a removed text left the window, or the result of a task."""

    def of_task(store: Store, folder: Path, session_id: str, task_id: str) -> _TaskAnswer:
        return _TaskAnswer(TaskView.of(Archive(store, session_id), task_id), session, folder)

    answer = lookup.original_or_task(
        lookup.homes_of(home, everywhere=lookup.finds_everywhere(wanted)), wanted, session, _answer, of_task
    )
    if as_json:
        echo_json(answer.as_json())
        return
    for line in answer.lines():
        say(line, hang="  ")  # so that no text of a session begins a line
    if back := answer.back(home):
        next_commands(Get_it_back=back)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Everything that the store has about one original."""

    original: Original
    decision: Decision | None
    operation: Operation | None
    tool: str | None
    folder: Path
    task: TaskView | None

    @property
    def what(self) -> str:
        entry = self.original.entry
        if self.original.source == "pin":
            return f"a pinned text ({entry.type})"
        known = {"tool_name": self.tool} if self.tool else {}
        return f"a {replace(entry, metadata={**(entry.metadata or {}), **known}).what}"

    def lines(self) -> list[str]:
        """Return the sentences for a person."""
        entry, decision = self.original.entry, self.decision
        session = safe(self.original.session_id)
        lines = [f"{self.original.ref}: {safe(self.what)}, {count(entry.token_count, 'token')}, in session {session}"]
        if entry.content.strip():
            lines.append(f"Begins with: {first_line(entry.content)}")
        if decision is None:
            lines.append(
                "undrift did not remove it: it was recorded before the client's own compaction, or it is still in the window."
            )
        else:
            acts = {
                "pruned": "left the window",
                "cut": "lost its middle",
                "trimmed": "lost lines",
                "folded": "was folded",
                "evicted": "was evicted, and a tombstone took its place",
                "pinned": "was pinned",
                "noted": "was added as a note",
            }
            lines.append(f"It {acts[decision.kind]}: {safe(decision.reason)}")
            lines += _figures(decision)
        if self.task is not None:
            lines += [f"Its task: {self.task.line}", *self.task.summary_lines()]
        if self.operation is not None:
            at = moment(self.operation.at_ms)
            lines.append(f"Operation {self.operation.seq} ({safe(self.operation.kind)}) at {at} UTC")
        return lines

    def back(self, home: str | None) -> str:
        """Return the command that prints the original."""
        return f"undrift recall {self.original.ref}{again(home)}"

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        entry, decision, operation = self.original.entry, self.decision, self.operation
        return {
            "ref": self.original.ref,
            "entry_id": entry.id,
            "session_id": self.original.session_id,
            "home": str(self.folder),
            "type": entry.type,
            "role": _meta(self.original, "role"),
            "kind": _meta(self.original, "kind"),
            "tool": self.tool,
            "tokens": entry.token_count,
            "first_line": first_line(entry.content),
            "masked": len(self.original.masked),
            "decision": None
            if decision is None
            else {
                "kind": decision.kind,
                "reason": decision.reason,
                "tokens_saved": decision.tokens_saved,
                "figures": dict(decision.detail),
            },
            "operation": None
            if operation is None
            else {"seq": operation.seq, "kind": operation.kind, "at_ms": operation.at_ms},
            "task": None if self.task is None else self.task.as_json(),
        }


@dataclass(frozen=True, slots=True)
class _TaskAnswer:
    """Everything that the store has about one task; `session` is as given on the command line."""

    facts: TaskView
    session: str | None
    folder: Path

    def lines(self) -> list[str]:
        """Return the sentences for a person."""
        facts = self.facts
        lines = [f"Task {facts.line}, in session {safe(facts.session_id)}", *facts.summary_lines()]
        if not facts.refs:
            return [
                *lines,
                "Nothing of it is removed yet: its log is removed at a request after the task is completed.",
            ]
        stands = " and its summary is in their place" if facts.task.annotated_summary else ""
        left = count(len(facts.refs), "block")
        lines.append(f"{left} left a window because this task ended{stands}; that frees {facts.tokens_saved:,} tokens.")
        return lines

    def back(self, home: str | None) -> str:
        """Return the command that prints the task's removed texts; empty if the task's id cannot be typed."""
        if not self.facts.refs or not self.facts.task.id.isprintable():
            return ""
        task = shlex.quote(f"{lookup.TASK_PREFIX}{self.facts.task.id}")
        return f"undrift recall {task}{again(home, self.session)}"

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return {**self.facts.as_json(), "session_id": self.facts.session_id, "home": str(self.folder)}


def _figures(decision: Decision) -> list[str]:
    detail = decision.detail
    names = ("total_tokens", "protected_tokens", "budget_tokens", "target_tokens")
    if not all(type(detail.get(name)) is int for name in names):
        return []
    total, protected, budget, target = (_calibration(detail).tokens(detail[name]) for name in names)
    freed = round(_calibration(detail).slope * decision.tokens_saved)
    at = f"The budget was {budget:,} tokens, the" if detail.get("moment", "budget") == "budget" else "The"
    sentence = (
        f"The window was {total:,} tokens, and {protected:,} of them had to stay. {at} "
        f"prune stopped at {target:,} tokens, and this freed {count(freed, 'token')}."
    )
    return [sentence, *_moment(detail)]


def _calibration(detail: Mapping[str, Any]) -> Calibration:
    """Return what turns the figures of a decision into the provider's tokens."""
    scale: Any = detail.get("scale")
    is_known = isinstance(scale, list) and [type(one) in (int, float) for one in scale] == [True, True]
    return Calibration(*scale) if is_known else Calibration()


_MOMENTS = {
    "budget": "the window exceeded the budget",
    "pause": "after a pause the provider's cache was cold, so the whole prompt was written again anyway",
    "task": "the log of a finished task left, so the rest of the prompt was written again anyway",
    "change": "the client itself had changed something earlier, so the rest of the prompt was written again anyway",
    "bank": "the session had saved enough to pay for writing the rest of the prompt again",
}


def _moment(detail: Mapping[str, Any]) -> list[str]:
    """Say why it left just then."""
    moment_, stays = _MOMENTS.get(str(detail.get("moment"))), detail.get("stays_tokens")
    if moment_ is None:
        return []
    left_alone = (
        f"; the first {_calibration(detail).tokens(stays):,} tokens did not change, so the cache still served them"
        if stays
        else ""
    )
    return [f"Why at that moment: {moment_}{left_alone}."]


def _answer(store: Store, folder: Path, original: Original) -> _Answer:
    decision = store.decision(original.ref)
    operation = _operation(store, original.session_id, decision) if decision is not None else None
    task = None if decision is None else _task_of(Archive(store, original.session_id), original.ref)
    return _Answer(original, decision, operation, _tool(store, original), folder, task)


def _task_of(archive: Archive, ref: str) -> TaskView | None:
    """Return the task that removed an original, also if its tombstone has left since."""
    try:
        found = [one for one in archive.evicted_ids if any(decision.ref == ref for decision in archive.decisions(one))]
        return TaskView.of(archive, found[0]) if found else None
    except StoreCorrupt:  # of another decision or task: this one is shown nevertheless
        return None


def _operation(store: Store, session_id: str, decision: Decision) -> Operation | None:
    """Return the operation that made a decision: both name the same message. None if more than one does."""
    at = decision.detail.get("at")
    made = [op for op in store.operations(session_id) if at and op.payload is not None and op.payload.get("at") == at]
    return made[0] if len(made) == 1 else None


def _tool(store: Store, original: Original) -> str | None:
    """Return the tool of a call or a result; a result's is in its call, which left with it."""
    name = _meta(original, "tool_name")
    pair_id = original.entry.pair_id
    if name is not None or pair_id is None:
        return name
    message = pair_id.partition(":")[0]
    for entry_id in store.decisions(original.session_id):
        if entry_id.startswith(f"{message}."):
            try:
                call = store.by_entry(original.session_id, entry_id)
            except RecallError:
                continue
            if call.entry.pair_id == pair_id and _meta(call, "tool_name") is not None:
                return _meta(call, "tool_name")
    return None


def _meta(original: Original, name: str) -> str | None:
    value = original.entry.metadata.get(name) if original.entry.metadata else None
    return value if isinstance(value, str) else None
