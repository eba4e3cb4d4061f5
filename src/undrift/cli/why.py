"""``undrift why``: what something was, why it left, with which figures, in which operation."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.show import count, echo_json, first_line, recall_words, safe
from undrift.errors import RecallError
from undrift.stores.base import Operation
from undrift.stores.sqlite import SqliteStore
from undrift.types import Decision, Original

__all__ = ["why_command"]


@click.command("why")
@click.argument("entry_or_ref")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def why_command(entry_or_ref: str, home: str | None, as_json: bool) -> None:
    """Say why something left a window.

    ENTRY_OR_REF is a reference, as `undrift replay` and the marks in a window show them, or an entry's id.
    """
    told = lookup.first(lookup.homes_of(home), entry_or_ref, lambda store, folder: _told(store, folder, entry_or_ref))
    if as_json:
        echo_json(told.as_json())
        return
    for line in told.lines(home):
        click.echo(line)


@dataclass(frozen=True, slots=True)
class _Told:
    """All that is known of one original."""

    original: Original
    decision: Decision | None
    operation: Operation | None
    tool: str | None
    folder: Path

    @property
    def what(self) -> str:
        entry = self.original.entry
        role, kind = _meta(self.original, "role"), _meta(self.original, "kind")
        if kind == "result" or entry.type == "tool_result":
            return f"a result of {self.tool or 'a tool'}"
        if kind == "call":
            return f"a call of {self.tool or 'a tool'}"
        if self.original.source == "pin":
            return f"a pinned text ({entry.type})"
        return {"user": "a text of the user", "assistant": "a text of the agent"}.get(role or "", f"a {entry.type}")

    def lines(self, home: str | None) -> list[str]:
        """Tell it to a human."""
        entry, decision = self.original.entry, self.decision
        session = safe(self.original.session_id)
        lines = [f"{self.original.ref}: {safe(self.what)}, {count(entry.token_count, 'token')}, of session {session}"]
        if entry.content.strip():
            lines.append(f"begins with: {first_line(entry.content)}")
        if decision is None:
            lines.append(
                "undrift did not remove it: it was recorded before the client's own compaction, or it is still there"
            )
        else:
            acts = {
                "pruned": "left the window",
                "cut": "lost its middle",
                "evicted": "gave way to the summary of its task",
                "pinned": "was pinned",
            }
            lines.append(f"it {acts[decision.kind]}: {safe(decision.reason)}")
            lines += _figures(decision)
        if self.operation is not None:
            at = datetime.fromtimestamp(self.operation.at_ms / 1000, UTC)
            lines.append(
                f"in operation {self.operation.seq} ({safe(self.operation.kind)}) of {at:%Y-%m-%d %H:%M:%S} UTC"
            )
        lines.append(f"get it back: {recall_words('recall', self.original.ref, home)}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """Tell it to a machine."""
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
        }


def _figures(decision: Decision) -> list[str]:
    detail = decision.detail
    names = ("total_tokens", "protected_tokens", "budget_tokens", "target_tokens")
    if not all(type(detail.get(name)) is int for name in names):
        return []
    total, protected, budget, target = (detail[name] for name in names)
    sentence = (
        f"the window then was {total:,} tokens, of which {protected:,} had to stay; the budget was {budget:,}, "
        f"the mark to prune down to {target:,}; this freed {decision.tokens_saved:,}"
    )
    return [sentence]


def _told(store: SqliteStore, folder: Path, ref_or_entry: str) -> _Told:
    original = lookup.original_in(store, ref_or_entry)
    decision = store.decision(original.ref)
    operation = _operation(store, original.session_id, decision) if decision is not None else None
    return _Told(original, decision, operation, _tool(store, original), folder)


def _operation(store: SqliteStore, session_id: str, decision: Decision) -> Operation | None:
    """The operation that made a decision: both name the message at which they were taken. None where that is unclear."""
    at = decision.detail.get("at")
    made = [op for op in store.operations(session_id) if at and op.payload is not None and op.payload.get("at") == at]
    return made[0] if len(made) == 1 else None


def _tool(store: SqliteStore, original: Original) -> str | None:
    """The tool of a call or a result; a result's stands in its call, which left with it."""
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
