"""An entry seen as a step of the session: who spoke, which call it was, and what it reached for. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.values.window import ContextEntry

__all__ = ["Kind", "Step", "is_edit", "is_fetch", "steps_of"]

Kind = Literal["user", "client", "system", "said", "call", "result", "summary", "silent"]
"""``client``: text that the client put in; ``silent``: thinking and pictures, which teach and need nothing."""

_EDITS = frozenset({"apply_patch", "edit", "multiedit", "notebookedit", "str_replace", "write"})
_FETCHES = frozenset({"fetch", "glob", "grep", "list", "ls", "lsp", "notebookread", "read", "search", "webfetch"})
_SHELLS = frozenset({"bash", "container.exec", "exec_command", "local_shell", "shell", "shell_command", "unified_exec"})
_PATHS = ("file_path", "filePath", "notebook_path", "path", "url")
_WORDS = ("pattern", "query")
_COMMANDS = ("command", "cmd")
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
    given: Mapping[str, Any]

    @property
    def target(self) -> str:
        """The path, pattern or command of its call; empty if it has none."""
        command = _command(self.given)
        found = [self.given[key] for key in (*_PATHS, *_WORDS) if isinstance(self.given.get(key), str)]
        return command or (found[0] if found else "")


def steps_of(entries: Sequence[ContextEntry]) -> tuple[Step, ...]:
    """Give every entry as a step, in order."""
    steps: list[Step] = []
    calls = 0
    inputs: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(entries):
        metadata = entry.metadata or {}
        kind = _kind(entry, metadata)
        given: Mapping[str, Any] = {}
        if kind == "call":
            calls += 1
            raw = metadata.get("input")
            given = raw if isinstance(raw, Mapping) else {}
            if entry.pair_id:
                inputs[entry.pair_id] = given
        elif kind == "result":
            given = inputs.get(entry.pair_id or "", {})
        tool = metadata.get("tool_name")
        steps.append(Step(entry, index, kind, calls, tool if isinstance(tool, str) else "", given))
    return tuple(steps)


def is_edit(step: Step) -> bool:
    """Say whether the step writes: what its result repeats, the agent has just written itself."""
    return step.tool.lower() in _EDITS


def is_fetch(step: Step) -> bool:
    """Say whether the step reads what already exists: files, searches, pages, not tests, builds or edits."""
    tool = step.tool.lower()
    if tool in _EDITS:
        return False
    command = _command(step.given)[:_COMMAND_CHARACTERS]
    if tool in _SHELLS or command:
        parts = _SEQUENCE.split(_WRAPPED.sub("", command))
        return any(_SHOWS.match(part) for part in parts) and not _ACTS.search(command)
    name = re.split(r"__|\.", tool)[-1]
    return name in _FETCHES or name.startswith(("read", "get_", "search", "find", "list_", "fetch", "view"))


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


def _command(given: Mapping[str, Any]) -> str:
    for key in _COMMANDS:
        value = given.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(word for word in value if isinstance(word, str))
    return ""
