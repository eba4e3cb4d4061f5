"""Reads one entry: its lines, the names in them, and its file. Pure; the result never changes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.core.text.calls import EDITS, PATCHED, edit_of, shown_file
from undrift.core.text.references import NAME_CANDIDATE, NameTable, decoded_call, line_number, normal
from undrift.core.text.secrets import mask
from undrift.values.window import ContextEntry

__all__ = ["KINDS", "Trace", "file_key", "trace_of"]

KINDS = ("read", "search", "shell", "edit", "other", "user", "said", "call", "summary")
"""The role of an entry for the agent; `read` to `other` are the results of tools."""

_SEARCHES = frozenset({"glob", "grep", "ls", "lsp"})
_SEARCH_COMMAND = re.compile(r"\s*(?:cd \S{1,300} && )?(?:rg|grep|git grep|find|ls|fd)\b")
_SED_FROM = re.compile(r"\bsed -n ['\"]?(\d{1,9}),")
_COMMAND_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Trace:
    """The lines, names and file of one entry.

    Args:
        keys: The lines without number gutter and outer space: what is compared.
        numbers: Number of each line in its file, 0 if unknown; empty if none is known.
        line_names: The names in each line; empty for calls, whose lines are never given back as they stand.
    """

    kind: str
    tool: str
    path: str | None
    brief: str
    lines: Sequence[str]
    keys: Sequence[str]
    numbers: Sequence[int]
    line_names: Sequence[Sequence[str]]
    names: frozenset[str]
    failed: bool
    removed: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    written: Sequence[str] = field(default=())


def file_key(path: str) -> str:
    """Return the last two parts of a path, which are equal for relative and absolute names of a file."""
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def trace_of(entry: ContextEntry, call: Mapping[str, Any], table: NameTable) -> Trace | None:
    """Read one entry. `call`: the input of the call that the entry is or answers; empty if there is none.

    Returns None if the agent learned nothing that it could use again: thinking, pictures, what the client put in.
    """
    metadata = entry.metadata or {}
    tool = str(metadata.get("tool_name") or "")
    command = _command(call)
    path = _path(tool, call, command)
    kind = _kind(metadata, tool, command, path)
    if kind is None:
        return None
    text = entry.content
    if "PRIVATE KEY" in text:  # the lines of a key give nothing away one by one, and would pass unmasked
        text = mask(text).text
    removed, touched, written = edit_of(tool, call) if kind == "call" else (frozenset(), frozenset(), ())
    if kind == "call":
        lines = decoded_call(text).split("\n")
        line_names: list[list[str]] = []
        names = frozenset(name for token in NAME_CANDIDATE.findall(text) if (name := table[token]))
    else:
        lines = text.split("\n")
        find = NAME_CANDIDATE.findall
        line_names = [[name for token in find(line) if (name := table[token])] for line in lines]
        names = frozenset().union(*line_names)
    return Trace(
        kind=kind,
        tool=tool,
        path=path,
        brief=path or _brief(call, command),
        lines=lines,
        keys=[normal(line) for line in lines],
        numbers=_numbers(lines, command) if kind == "read" else (),
        line_names=line_names,
        names=names,
        failed=metadata.get("is_error") is True,
        removed=removed,
        touched=touched,
        written=written,
    )


def _command(call: Mapping[str, Any]) -> str:
    given = call.get("cmd") or call.get("command") or ""
    text = " ".join(map(str, given)) if isinstance(given, list) else given if isinstance(given, str) else ""
    return text[:_COMMAND_CHARACTERS]


def _path(tool: str, call: Mapping[str, Any], command: str) -> str | None:
    for key in ("file_path", "filePath", "notebook_path"):
        if isinstance(path := call.get(key), str) and path:
            return path
    if tool.lower() == "apply_patch":
        found = PATCHED.search(str(call.get("input", "")))
        return found[1].strip() if found else None
    return shown_file(command) or None


def _kind(metadata: Mapping[str, Any], tool: str, command: str, path: str | None) -> str | None:
    kind, role = metadata.get("kind"), metadata.get("role")
    if kind == "text" and role in ("user", "assistant"):
        return "said" if role == "assistant" else None if metadata.get("meta") else "user"
    if kind != "result":
        return kind if kind in ("call", "summary") else None
    tool = tool.lower()
    if tool in EDITS:
        return "edit"
    if tool == "read" or (command and path):
        return "read"
    if tool in _SEARCHES or _SEARCH_COMMAND.match(command):
        return "search"
    return "shell" if command or tool == "write_stdin" else "other"


def _brief(call: Mapping[str, Any], command: str) -> str:
    values = (call.get(key) for key in ("pattern", "query", "url", "description", "prompt", "path"))
    return command or next((value for value in values if isinstance(value, str) and value), "")


def _numbers(lines: Sequence[str], command: str) -> Sequence[int]:
    """Give the number of each line: from its gutter, or from the range that was asked for."""
    # Codex puts a header of up to six lines before what the command printed: a gutter stands behind it
    head = next((index + 1 for index, line in enumerate(lines[:8]) if line == "Output:"), 0)
    if any(line_number(line) is not None for line in lines[head : head + 3]):
        return [0] * head + [line_number(line) or 0 for line in lines[head:]]
    asked = _SED_FROM.search(command)
    if not asked or command.count("sed -n") > 1:
        return ()
    return [0] * head + [int(asked[1]) + index for index in range(len(lines) - head)]
