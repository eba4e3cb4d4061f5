"""Reads one entry: its lines, the names in them, and its file. Pure; the result never changes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.text.calls import edit_of, is_path, shown_files
from undrift.core.text.references import NAME_CANDIDATE, NameTable, decoded_call, line_number, normal
from undrift.core.text.secrets import mask
from undrift.profiles import Act, acts_of, printed
from undrift.values.window import ContextEntry

__all__ = ["FileEdit", "KINDS", "Trace", "file_key", "trace_of"]

KINDS = ("read", "search", "shell", "edit", "other", "user", "said", "call", "summary")
"""The role of an entry for the agent; `read` to `other` are the results of tools."""

_SEARCH_COMMAND = re.compile(r"\s*(?:cd \S{1,300} && )?(?:rg|grep|git grep|find|ls|fd)\b")
_SED_FROM = re.compile(r"\bsed -n ['\"]?(\d{1,9}),")
_COMMAND_CHARACTERS = 2_000
_BRIEF_ACTS = 5
_WITH_FILE = frozenset({"edit", "other", "read", "shell"})
_ATTACHED = frozenset({"edited_text_file", "file"})
"""Texts of the client that show a file: its name stands in their first line."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The change that one call made to one file: keys of the lines that it removed and touched, and the lines that it wrote."""

    file: str
    removed: frozenset[str]
    touched: frozenset[str]
    written: Sequence[str]


@dataclass(frozen=True, slots=True)
class Trace:
    """The lines, names and file of one entry.

    Args:
        keys: The lines without number gutter and outer space: what is compared.
        numbers: Number of each line in its file, 0 if unknown; empty if none is known.
        line_names: The names in each line; empty for calls, whose lines are never given back as they stand.
        path: The one file that the entry is about; None if it is about none or several, because lines of several files
            must not stand under the name of one.
        files: All files that the entry is about.
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
    files: Sequence[str] = ()
    edits: Sequence[FileEdit] = ()


def file_key(path: str) -> str:
    """Return the last two parts of a path, which are equal for relative and absolute names of a file."""
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def trace_of(entry: ContextEntry, call: Mapping[str, Any], table: NameTable) -> Trace | None:
    """Read one entry. `call`: the input of the call that the entry is or answers; empty if there is none.

    Returns None if the agent learned nothing that it could use again: thinking, pictures, what the client put in.
    """
    metadata = entry.metadata or {}
    tool = str(metadata.get("tool_name") or "")
    acts = acts_of(tool, call)
    is_result = metadata.get("kind") == "result"
    printing = [act for act in acts if act.kind != "edit"] if is_result else []
    act, files = _main(printing or acts)
    text = entry.content
    if metadata.get("attachment") in _ATTACHED and is_path(attached := text.partition("\n")[0]):
        files = (attached,)
    path = files[0] if len(files) == 1 else None
    kind = _kind(metadata, act, path)
    if kind is None:
        return None
    if "PRIVATE KEY" in text:  # the lines of a key give nothing away one by one, and would pass unmasked
        text = mask(text).text
    edits = [FileEdit(act.path, *edit_of(act)) for act in acts if act.kind == "edit"] if kind == "call" else []
    head = 0
    if kind == "call":
        text = text if acts[0].tool == tool else "\n".join(_given(acts))
        lines = decoded_call(text).split("\n")
        line_names: list[list[str]] = []
        names = frozenset(name for token in NAME_CANDIDATE.findall(text) if (name := table[token]))
    else:
        lines, head = printed(text) if is_result else (text.split("\n"), 0)
        find = NAME_CANDIDATE.findall
        line_names = [[name for token in find(line) if (name := table[token])] for line in lines]
        names = frozenset().union(*line_names)
    return Trace(
        kind=kind,
        tool=tool,
        path=path,
        brief=path or _brief(acts),
        lines=lines,
        keys=[normal(line) for line in lines],
        numbers=_numbers(lines, head, act.command) if kind == "read" else (),
        line_names=line_names,
        names=names,
        failed=metadata.get("is_error") is True,
        files=files,
        edits=edits,
    )


def _main(acts: Sequence[Act]) -> tuple[Act, Sequence[str]]:
    """Give the act that shows what a call is about, and the files that the call is about."""
    files = {file: act for act in acts for file in _files(act)}
    return next(iter(files.values()), acts[0]) if len(files) == 1 else acts[0], tuple(files)


def _files(act: Act) -> Sequence[str]:
    if act.kind not in _WITH_FILE:
        return ()
    return (act.path,) if act.path else shown_files(act.command)


def _kind(metadata: Mapping[str, Any], act: Act, path: str | None) -> str | None:
    kind, role = metadata.get("kind"), metadata.get("role")
    if kind == "text" and role in ("user", "assistant"):
        if metadata.get("attachment") in _ATTACHED:
            return "read" if path else None
        return "said" if role == "assistant" else None if metadata.get("meta") else "user"
    if kind != "result":
        return kind if kind in ("call", "summary") else None
    if act.kind in ("edit", "read"):
        return act.kind
    if act.command and path:
        return "read"
    if act.kind == "search" or _SEARCH_COMMAND.match(act.command[:_COMMAND_CHARACTERS]):
        return "search"
    return "shell" if act.kind == "shell" and act.given else "other"  # without its call it is not known


def _given(acts: Sequence[Act]) -> Iterator[str]:
    """Yield the texts that are given to acts inside code, where they stand in quotes of its own."""
    for act in acts:
        yield act.tool
        yield from (value for value in act.given.values() if isinstance(value, str))


def _brief(acts: Sequence[Act]) -> str:
    commands = " ; ".join(act.command[:_COMMAND_CHARACTERS] for act in acts[:_BRIEF_ACTS] if act.command)
    given = acts[0].given
    values = (given.get(key) for key in ("pattern", "query", "url", "description", "prompt", "path"))
    return commands or next((value for value in values if isinstance(value, str) and value), "")


def _numbers(lines: Sequence[str], head: int, command: str) -> Sequence[int]:
    """Give the number of each line: from its gutter, or from the range that was asked for."""
    if any(line_number(line) is not None for line in lines[head : head + 3]):
        return [0] * head + [line_number(line) or 0 for line in lines[head:]]
    asked = _SED_FROM.search(command[:_COMMAND_CHARACTERS])
    if not asked or command.count("sed -n") > 1:
        return ()
    return [0] * head + [int(asked[1]) + index for index in range(len(lines) - head)]
