"""Tell the kind of a tool call by the tool names and arguments of the known clients. Pure, linear in the arguments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from undrift.core.text.references import normal

__all__ = [
    "EDITS",
    "PATCHED",
    "bare_name",
    "changed_paths",
    "command_of",
    "edit_of",
    "is_look",
    "read_path",
    "shown_file",
]

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

_SEARCHES = frozenset({
    "file_search", "find_file", "glob", "grep", "grep_search", "list", "list_directory", "ls", "lsp", "search_dir",
    "search_file", "search_file_content",
})  # fmt: skip
_READS = frozenset({"notebookread", "open", "read", "read_file", "view", "view_file"})
_EDITORS = frozenset({"str_replace_based_edit_tool", "str_replace_editor"})  # `command` says what they are asked to do
_PATHS = ("file_path", "filePath", "notebook_path", "absolute_path", "path", "filename", "TargetFile")
_LOOK_COMMAND = re.compile(
    r"\s*(?:cd \S{1,300} && )?(?:rg|grep|find|ls|fd|tree|wc|pwd|which|cat|head|tail|nl|sed -n|jq"
    r"|git (?:-C \S{1,300} |--no-pager )?(?:grep|status|diff|log|show|branch|blame))\b"
)
_DROPPED = re.compile(r"\d?>(?:&\d|\s?/dev/null)")
_WRITES = re.compile(r"<<|>|\btee\b")
_SHELL_FLAGS = ("-c", "-lc")
_PREFIX = re.compile(r"\A.*(?:__|[./:])", re.DOTALL)


def bare_name(tool: str) -> str:
    """Give a tool's name in lower case, without the server or name space before it."""
    return _PREFIX.sub("", tool[-200:]).lower()


def command_of(tool: str, given: Mapping[str, Any]) -> str:
    """Give the command line that a call hands to a shell; empty where it hands it none."""
    if bare_name(tool) in _EDITORS:
        return ""
    command = given.get("cmd") or given.get("command")
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        return words[2] if len(words) == 3 and words[1] in _SHELL_FLAGS else " ".join(words)
    return command if isinstance(command, str) else ""


def changed_paths(tool: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the files that a call changes, as it names them, each once; a shell's only where it applies a patch."""
    name = bare_name(tool)
    if name in _EDITORS and given.get("command") == "view":
        return ()
    patches = [
        text for text in (*given.values(), command_of(tool, given)) if isinstance(text, str) and "\n*** " in text
    ]
    found = [path.strip() for patch in patches for path in PATCHED.findall(patch)]
    if not found and (name in EDITS or name in _EDITORS):
        found = [path for path in [_path(given)] if path]
    return tuple(dict.fromkeys(path for path in found if path))


def read_path(tool: str, given: Mapping[str, Any]) -> str:
    """Give the file that a call shows, as it names it; empty where it shows none."""
    name = bare_name(tool)
    if name in _READS or (name in _EDITORS and given.get("command") == "view"):
        return _path(given)
    return shown_file(_DROPPED.sub("", command_of(tool, given)[:2_000]))


def shown_file(command: str) -> str:
    """Give the file that the first command which shows one is given last; empty where none does. Linear in the command."""
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


def is_look(tool: str, given: Mapping[str, Any]) -> bool:
    """Say whether a call only shows what is there, with a tool of its own or a command that begins so."""
    command = _DROPPED.sub("", command_of(tool, given)[:1_000])
    is_look_command = _LOOK_COMMAND.match(command) and not _WRITES.search(command)
    return bare_name(tool) in _READS | _SEARCHES or bool(is_look_command)


def _path(given: Mapping[str, Any]) -> str:
    paths = (given.get(key) for key in _PATHS)
    return next((path for path in paths if isinstance(path, str) and path.strip()), "")


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
