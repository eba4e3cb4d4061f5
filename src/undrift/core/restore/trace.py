"""What one entry says, read once: its lines, the names in them, the file it is about. Pure; an entry's trace never changes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.core.text.calls import EDITS, PATCHED, shown_file
from undrift.core.text.secrets import mask
from undrift.values.window import ContextEntry

__all__ = [
    "KINDS",
    "LINE_CHARACTERS",
    "NameTable",
    "RARE_PLACES",
    "TOKEN",
    "Trace",
    "edit_of",
    "file_key",
    "normal",
    "trace_of",
]

KINDS = ("read", "search", "shell", "edit", "other", "user", "said", "call", "summary")
"""What an entry is to the agent; `read` to `other` are the results of tools."""

RARE_PLACES = 6
"""A name or line that more entries mention turns up again by itself: it is worth nothing to keep or to give back."""

LINE_CHARACTERS = range(30, 301)
"""A shorter line says little, a longer one is data, not code that an agent copies."""

TOKEN = re.compile(r"[A-Za-z0-9_./\-]{6,120}")
_NAME_SHAPE = re.compile(r"[_/.\d]|[a-z][A-Z]")
_GUTTER = re.compile(r"\s*(\d{1,9})\s*[→|:\t]")
_SEARCHES = frozenset({"glob", "grep", "ls", "lsp"})
_SEARCH_COMMAND = re.compile(r"\s*(?:cd \S{1,300} && )?(?:rg|grep|git grep|find|ls|fd)\b")
_SED_FROM = re.compile(r"\bsed -n ['\"]?(\d{1,9}),")
_COMMAND_CHARACTERS = 2_000


class NameTable(dict[str, str | None]):
    """Token as found -> the name in it, or None where it is a mere word. Filled as it is asked."""

    def __missing__(self, token: str) -> str | None:
        name: str | None = token.strip("./-_")
        if not name or len(name) < 6 or not _NAME_SHAPE.search(name):
            name = None
        self[token] = name
        return name


@dataclass(frozen=True, slots=True)
class Trace:
    """What one entry says.

    Args:
        kind: One of `KINDS`.
        tool: The tool's name; empty where there is none.
        path: The file that was read or changed, as the call named it.
        brief: The call in a few words: its command, pattern or path.
        lines: The lines as they stand, secrets that span lines masked.
        keys: The lines without number gutter and outer space: what is compared.
        numbers: Number of each line in its file, 0 where unknown; empty where none is known.
        line_names: The names in each line; empty for calls, whose lines are never given back as they stand.
        names: All names in the entry.
        failed: The tool said so.
        removed: Keys that an edit took out of `path`.
        touched: Keys of the lines that an edit wrote or took out.
        written: The lines that an edit wrote, in order.
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


def normal(line: str) -> str:
    """Strip a line of its outer space and, where it has one, of its number gutter."""
    stripped = line.strip()
    if stripped and stripped[0].isdigit() and (gutter := _GUTTER.match(line)):
        return line[gutter.end() :].strip()
    return stripped


def file_key(path: str) -> str:
    """Give the last two parts of a path: relative and absolute names of a file meet there."""
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def trace_of(entry: ContextEntry, call: Mapping[str, Any], table: NameTable) -> Trace | None:
    """Read one entry.

    Args:
        entry: Any entry of a recording.
        call: The input of the call that the entry is or answers; empty where there is none.
        table: Shared by all entries of a run.

    Returns:
        None where the agent learned nothing that it could use again: thinking, pictures, what the client put in.
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
        lines = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').split("\n")
        line_names: list[list[str]] = []
        names = frozenset(name for token in TOKEN.findall(text) if (name := table[token]))
    else:
        lines = text.split("\n")
        find = TOKEN.findall
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
    if any(map(_GUTTER.match, lines[head : head + 3])):
        gutters = [_GUTTER.match(line) for line in lines[head:]]
        return [0] * head + [int(gutter[1]) if gutter else 0 for gutter in gutters]
    asked = _SED_FROM.search(command)
    if not asked or command.count("sed -n") > 1:
        return ()
    return [0] * head + [int(asked[1]) + index for index in range(len(lines) - head)]


def edit_of(tool: str, call: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str], Sequence[str]]:
    """Give what an edit took out, what it touched, and the lines that it wrote; nothing of a call that edits nothing."""
    old: list[str] = []
    new: list[str] = []
    if tool.lower() == "apply_patch":
        patch = str(call.get("input", "")).split("\n")
        old = [line[1:] for line in patch if line[:1] == "-"]
        new = [line[1:] for line in patch if line[:1] == "+"]
    elif tool.lower() in EDITS:
        many = call.get("edits")
        for edit in many if isinstance(many, list) else [call]:
            if isinstance(edit, dict):
                old += str(edit.get("old_string", "")).split("\n")
                new += str(edit.get("new_string", "")).split("\n")
    gone, put = frozenset(map(normal, old)), frozenset(map(normal, new))
    return gone - put, gone | put, new
