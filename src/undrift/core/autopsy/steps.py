"""An entry seen as a step of the session: who spoke, which call it was, and what it reached for. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.profiles import Act, acts_of, is_reading
from undrift.values.window import ContextEntry

__all__ = ["Kind", "Step", "is_edit", "is_fetch", "steps_of"]

Kind = Literal["user", "client", "system", "said", "call", "result", "summary", "silent"]
"""``client``: text that the client put in; ``silent``: thinking and pictures, which teach and need nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One entry and what an autopsy asks of it. `call`: calls of the session up to it, itself included."""

    entry: ContextEntry
    index: int
    kind: Kind
    call: int
    tool: str
    acts: tuple[Act, ...]

    @property
    def target(self) -> str:
        """The path, pattern or command of its call; empty if it has none."""
        found = (act.command or act.path or act.pattern for act in self.acts)
        return next(filter(None, found), "")


def steps_of(entries: Sequence[ContextEntry]) -> tuple[Step, ...]:
    """Give every entry as a step, in order."""
    steps: list[Step] = []
    calls = 0
    called: dict[str, tuple[Act, ...]] = {}
    for index, entry in enumerate(entries):
        metadata = entry.metadata or {}
        kind = _kind(entry, metadata)
        acts: tuple[Act, ...] = ()
        name = metadata.get("tool_name")
        tool = name if isinstance(name, str) else ""
        if kind == "call":
            calls += 1
            given = metadata.get("input")
            acts = acts_of(tool, given if isinstance(given, Mapping) else {})
            if entry.pair_id:
                called[entry.pair_id] = acts
        elif kind == "result":
            acts = called.get(entry.pair_id or "") or acts_of(tool, {})
        steps.append(Step(entry, index, kind, calls, tool, acts))
    return tuple(steps)


def is_edit(step: Step) -> bool:
    """Say whether the step only writes: what its result repeats, the agent has just written itself."""
    return bool(step.acts) and all(act.kind == "edit" for act in step.acts)


def is_fetch(step: Step) -> bool:
    """Say whether the step reads what already exists: files, searches, pages, not tests, builds or edits."""
    return any(map(is_reading, step.acts)) and not any(act.kind == "edit" for act in step.acts)


def _kind(entry: ContextEntry, metadata: Mapping[str, Any]) -> Kind:
    kind, role = metadata.get("kind"), metadata.get("role")
    if entry.type == "summary" or kind == "summary":
        return "summary"
    if kind == "call":
        return "call"
    if kind == "result":
        return "result"
    if kind != "text":
        return "silent"
    if role == "system":
        return "system"
    if role == "assistant":
        return "said"
    return "client" if metadata.get("meta") else "user"
