"""An entry seen as a step of the session: who spoke, which call it was, and what it reached for. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.profiles import Act, acts_of, bare_name
from undrift.values.window import ContextEntry

__all__ = ["Kind", "Step", "is_edit", "is_fetch", "steps_of"]

Kind = Literal["user", "client", "system", "said", "call", "result", "summary", "silent"]
"""``client``: text that the client put in; ``silent``: thinking and pictures, which teach and need nothing."""

# The beginnings of the names of tools that read, among those that no profile has.
_READS = ("read", "get_", "search", "find", "list_", "fetch", "view")
# The part of a shell command that shows something, in the head of a pipeline: `make test | tail` shows only a test. To
# run a test or a build again is work, not loss of memory.
_SHOWS = re.compile(
    r"\s*(?:\w+=\S+\s+)*(?:cat|sed -n|head|tail|nl|bat|less|rg|grep|fd|find|ls|tree|jq|awk|curl"
    r"|git (?:-C \S+ |--no-pager )?(?:show|log|diff|blame|grep|ls-files)|gh \w+ (?:view|list|diff))\b"
)
_SEQUENCE = re.compile(r"&&|\|\||[;\n]")
_WRAPPED = re.compile(r"""^\s*(?:\S*/)?(?:ba|z|da)?sh -l?c\s+['"]?""")
_ACTS = re.compile(r"<<|(?<![0-9&])>{1,2}(?!\s*/dev/null|&)|\b(?:sed -i|tee)\b")
_COMMAND_CHARACTERS = 4_000


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
    return any(map(_fetches, step.acts)) and not any(act.kind == "edit" for act in step.acts)


def _fetches(act: Act) -> bool:
    command = act.command[:_COMMAND_CHARACTERS]
    if command or act.kind == "shell":
        parts = _SEQUENCE.split(_WRAPPED.sub("", command))
        return any(_SHOWS.match(part) for part in parts) and not _ACTS.search(command)
    return act.kind in ("fetch", "read", "search") or bare_name(act.tool).startswith(_READS)


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
