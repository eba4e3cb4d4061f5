"""Tells the kind of a tool call from the tool names and arguments of known clients. Pure, linear in the arguments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from undrift.core.text.references import normal

__all__ = ["EDITS", "PATCHED", "bare_name", "edit_of", "shown_file"]

EDITS = frozenset({
    "apply_patch", "create", "create_file", "edit", "edit_file", "insert", "insert_edit_into_file", "multiedit",
    "notebookedit", "replace", "replace_string_in_file", "str_replace", "write", "write_file",
})  # fmt: skip
"""Tools that change files, in lower case."""

PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,1000})$", re.MULTILINE)
"""A patch's line that names a file, as in Codex's own form."""

_SHOWS = re.compile(r"\b(?:sed -n|cat|nl|head|tail)\b([^|;&\n]*+)")
_ENDS = re.compile(r"\s*+(?:[|;&]|\Z)")
_FOLDER = re.compile(r"\w/.")
# Read from the end, where a path is the last word: forwards, each place in a long command would have to be tried.
_PATH_BACKWARDS = re.compile(r"[\w./~-]{1,400}")
_NAME_BACKWARDS = re.compile(r"\w{1,5}\.[\w-]{1,80}")
_MOST_BETWEEN = 120  # characters between the command's name and the file

_PREFIX = re.compile(r"\A.*(?:__|[./:])", re.DOTALL)


def bare_name(tool: str) -> str:
    """Return a tool's name in lower case, without the server's or namespace's name."""
    return _PREFIX.sub("", tool[-200:]).lower()


def shown_file(command: str) -> str:
    """Give the file that the first command which shows one is given last; empty if none does. Linear in the command."""
    for found in _SHOWS.finditer(command):
        if not _ENDS.match(command, found.end()):
            continue
        backwards = found[1].rstrip()[::-1]
        path = _PATH_BACKWARDS.match(backwards)
        if path and not _FOLDER.search(path[0][::-1], path[0][::-1].rfind("~") + 1):
            path = _NAME_BACKWARDS.match(backwards)
        if path and len(backwards) - path.end() <= _MOST_BETWEEN:
            return path[0][::-1]
    return ""


def edit_of(tool: str, call: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str], Sequence[str]]:
    """Return what an edit removed, what it touched, and the lines that it wrote; empty for other calls."""
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
