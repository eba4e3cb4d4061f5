"""Reads what the acts of a call show and change: the file that a command shows, the lines of an edit. Pure, linear in both."""

import re
from collections.abc import Iterable, Sequence

from undrift.core.text.references import normal
from undrift.profiles import Act

__all__ = ["edit_of", "shown_file"]

_SHOWS = re.compile(r"\b(?:sed -n|cat|nl|head|tail)\b([^|;&\n]*+)")
_ENDS = re.compile(r"\s*+(?:[|;&]|\Z)")
_FOLDER = re.compile(r"\w/.")
# Read from the end, where a path is the last word: forwards, each place in a long command would have to be tried.
_PATH_BACKWARDS = re.compile(r"[\w./~-]{1,400}")
_NAME_BACKWARDS = re.compile(r"\w{1,5}\.[\w-]{1,80}")
_MOST_BETWEEN = 120  # characters between the command's name and the file


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


def edit_of(acts: Iterable[Act]) -> tuple[frozenset[str], frozenset[str], Sequence[str]]:
    """Return what the edits among some acts removed, what they touched, and the lines that they wrote."""
    old: list[str] = []
    new: list[str] = []
    for act in acts:
        if act.kind != "edit":
            continue
        if act.patch:
            patch = act.patch.split("\n")
            old += [line[1:] for line in patch if line[:1] == "-"]
            new += [line[1:] for line in patch if line[:1] == "+"]
        else:
            old += "\n".join(act.old).split("\n")
            new += "\n".join(act.new).split("\n")
    gone, put = frozenset(map(normal, old)), frozenset(map(normal, new))
    return gone - put, gone | put, new
