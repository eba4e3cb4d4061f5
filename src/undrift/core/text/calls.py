"""Reads what the acts of a call show and change: the files that a command shows, the lines of an edit. Pure, linear in both."""

import re
from collections.abc import Sequence

from undrift.core.text.references import normal
from undrift.profiles import Act, commands_of

__all__ = ["edit_of", "is_path", "shown_files"]

_SHOWING = frozenset({"cat", "head", "nl", "tail"})
_NO_FILE = ("-", "/dev/")  # an option, or nothing that stays
_IN_FOLDER, _WITH_ENDING = re.compile(r"\w/."), re.compile(r"\.[A-Za-z]")
_MOST_CHARACTERS = 400  # of a path


def shown_files(command: str) -> tuple[str, ...]:
    """Give the files that commands show, each once: of every command the last one. Linear in the text."""
    files: dict[str, None] = {}
    for one in commands_of(command):
        program, *others = one.words
        shows = program in _SHOWING or (program == "sed" and "-n" in others[:2])
        if shows and others and not one.writes and is_path(others[-1]):
            files[others[-1]] = None
    return tuple(files)


def is_path(word: str) -> bool:
    """Tell whether a word looks like the name of one file that stays."""
    if len(word) > _MOST_CHARACTERS or word.startswith(_NO_FILE) or any(sign in word for sign in "*?[]{}$<>= \t\n"):
        return False
    return bool(_IN_FOLDER.search(word) or _WITH_ENDING.search(word))


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
