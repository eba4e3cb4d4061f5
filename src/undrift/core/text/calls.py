"""Reads what the acts of a call show and change: the files that a command shows, the lines of an edit. Pure, linear in both."""

import re
from collections.abc import Sequence

from undrift.core.text.references import normal
from undrift.profiles import Act

__all__ = ["edit_of", "shown_files"]

_SHOWS = re.compile(r"\b(?:sed -n|cat|nl|head|tail)\b([^|;&\n]*+)")
_ENDS = re.compile(r"\s*+(?:[|;&]|\Z)")
_FOLDER = re.compile(r"\w/.")
# Read from the end, where a path is the last word: forwards, each place in a long command would have to be tried.
_PATH_BACKWARDS = re.compile(r"[\w./~-]{1,400}")
_NAME_BACKWARDS = re.compile(r"\w{1,5}\.[\w-]{1,80}")
_MOST_BETWEEN = 120  # characters between the command's name and the file


def shown_files(command: str) -> tuple[str, ...]:
    """Give the files that commands show, each once: of every command the last one. Linear in the text."""
    files: dict[str, None] = {}
    for found in _SHOWS.finditer(command):
        if not _ENDS.match(command, found.end()):
            continue
        backwards = found[1].rstrip()[::-1]
        path = _PATH_BACKWARDS.match(backwards)
        if path and not _FOLDER.search(path[0][::-1], path[0][::-1].rfind("~") + 1):
            path = _NAME_BACKWARDS.match(backwards)
        if path and len(backwards) - path.end() <= _MOST_BETWEEN:
            files[path[0][::-1]] = None
    return tuple(files)


def edit_of(act: Act) -> tuple[frozenset[str], frozenset[str], Sequence[str]]:
    """Return what an edit removed, what it touched, and the lines that it wrote; empty for other acts."""
    if act.kind != "edit":
        return frozenset(), frozenset(), ()
    if act.patch:
        patch = act.patch.split("\n")
        old = [line[1:] for line in patch if line[:1] == "-"]
        new = [line[1:] for line in patch if line[:1] == "+"]
    else:
        old, new = "\n".join(act.old).split("\n"), "\n".join(act.new).split("\n")
    gone, put = frozenset(map(normal, old)), frozenset(map(normal, new))
    return gone - put, gone | put, new
