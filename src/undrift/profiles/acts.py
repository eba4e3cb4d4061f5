"""Reads what a call does from the profiles of all clients: an entry does not always say which client made it. Pure.

Law: a name that stands behind the name of a server or a name space is another program's tool. It may read or plan as the
client's own does, but it is never taken for the client's own edit or shell.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

from undrift.profiles.base import Act, ClientTool, Kind
from undrift.profiles.code import calls_in
from undrift.profiles.table import tools_by_name

__all__ = ["acts_of", "bare_name", "kind_of", "tools_named"]

_MOST_CHARACTERS = 1_000_000
_NAME_CHARACTERS = 200
_COMMAND_WORDS = 1_000
_MOST_FILES = 200
_PREFIX = re.compile(r"\A.*(?:__|[./:])", re.DOTALL)
_SHARED: frozenset[Kind] = frozenset({"fetch", "plan", "read", "search"})
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,1000})$", re.MULTILINE)

# For tools that no profile has.
_PATHS = ("file_path", "filePath", "notebook_path")
_COMMANDS = ("cmd", "command")
_PATTERNS = ("pattern", "query")


_REMEMBERED_NAMES = 256  # a session has a few dozen


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The kind of a tool, and the names that its arguments may have, in the order in which they are asked."""

    kind: Kind | None
    kinds: Mapping[str, Kind] | None
    code: tuple[str, ...]
    command: tuple[str, ...]
    patch: tuple[str, ...]
    path: tuple[str, ...]
    pattern: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]


def bare_name(tool: str) -> str:
    """Return a tool's name in lower case, without the server's or namespace's name."""
    return _PREFIX.sub("", tool[-_NAME_CHARACTERS:]).lower()


def tools_named(name: str) -> tuple[ClientTool, ...]:
    """Return the tools of all clients with this name, with or without a prefix; see the law above."""
    tools = tools_by_name()
    if found := tools.get(name[-_NAME_CHARACTERS:].lower()):
        return found
    return tuple(tool for tool in tools.get(bare_name(name), ()) if tool.kind in _SHARED)


def kind_of(name: str) -> Kind | None:
    """Return the kind of a tool by its name alone; None if no profile has it."""
    found = tools_named(name)
    return found[0].kind if found else None


def acts_of(tool: str, arguments: Mapping[str, Any] | str) -> tuple[Act, ...]:
    """Return what a call does, in its order; for code that makes no call, the call itself.

    `arguments`: as read, or as text: JSON, or else the text of a tool that takes text. Linear in it.
    """
    given = _read(arguments) if isinstance(arguments, str) else arguments
    code = _first(given, _arguments_of(tool[-_NAME_CHARACTERS:]).code)
    calls = calls_in(code) or ((tool, given),)
    return tuple(act for name, inside in calls for act in _of_each_file(_act(name, inside)))


def _of_each_file(act: Act) -> Iterator[Act]:
    """Yield an edit for each file of a patch."""
    starts = [found.start() for found in islice(_PATCHED.finditer(act.patch), 1, _MOST_FILES)] if act.patch else []
    for start, end in pairwise([0, *starts, len(act.patch)]) if starts else ():
        part = act.patch[start:end]
        named = _PATCHED.search(part)
        yield replace(act, patch=part, path=named[1].strip() if named else act.path)
    if not starts:
        yield act


@lru_cache(_REMEMBERED_NAMES)
def _arguments_of(tool: str) -> _Arguments:
    tools = tools_named(tool)

    def named(names: Iterable[str], *others: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (*names, *others) if name))

    return _Arguments(
        tools[0].kind if tools else None,
        next((known.kinds for known in tools if known.kinds), None),
        named(known.code for known in tools),
        named((known.command for known in tools), *_COMMANDS),
        named(known.patch for known in tools),
        named((known.path for known in tools), *_PATHS),
        named((known.pattern for known in tools), *_PATTERNS),
        named(known.old for known in tools),
        named(known.new for known in tools),
    )


def _act(tool: str, given: Mapping[str, Any]) -> Act:
    known = _arguments_of(tool[-_NAME_CHARACTERS:])
    command = "" if known.kinds else _command(given, known.command)
    kind: Kind = known.kind or ("shell" if command else "other")
    kind = known.kinds.get(str(given.get("command")), kind) if known.kinds else kind
    patch = _first(given, known.patch)
    named = _PATCHED.search(patch) if patch else None
    path = named[1].strip() if named else _first(given, known.path)
    edits = given.get("edits")
    edits = [one for one in edits if isinstance(one, Mapping)] if isinstance(edits, list) else [given]
    return Act(
        kind,
        tool,
        given,
        path=path,
        command=command,
        pattern=_first(given, known.pattern),
        patch=patch,
        old=tuple(text for one in edits if (text := _first(one, known.old))) if known.old else (),
        new=tuple(text for one in edits if (text := _first(one, known.new))) if known.new else (),
    )


def _read(text: str) -> Mapping[str, Any]:
    if len(text) <= _MOST_CHARACTERS:
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict):
            return given
    return {"input": text}


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of the arguments that is a text; empty if none is."""
    for name in names:
        value = given.get(name)
        if value and isinstance(value, str):
            return value
    return ""


def _command(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, list):
            return " ".join(word for word in value[:_COMMAND_WORDS] if isinstance(word, str))
        if isinstance(value, str):
            return value
    return ""
