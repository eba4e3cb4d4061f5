"""Tells whether a call shows what already exists: files, searches, pages. Pure."""

from collections.abc import Sequence

from undrift.profiles.acts import bare_name
from undrift.profiles.base import Act
from undrift.profiles.shell import ShellCommand, commands_of

__all__ = ["is_reading"]

# The beginnings of the names of tools that read, among those that no profile has.
_READS = ("read", "get_", "search", "find", "list_", "fetch", "view")
# Programs that show something. To run a test or a build again is work, not loss of memory: `make test | tail` shows a test.
_SHOWS = frozenset(
    {"awk", "bat", "cat", "curl", "fd", "find", "grep", "head", "jq", "less", "ls", "nl", "rg", "tail", "tree"}
)
_GIT_SHOWS = frozenset({"blame", "diff", "grep", "log", "ls-files", "show"})
_GH_SHOWS = frozenset({"diff", "list", "view"})


def is_reading(act: Act) -> bool:
    """Say whether an act only shows what exists; to run a test or a build is work."""
    if act.command or act.kind == "shell":
        commands = commands_of(act.command)
        return any(one.heads and _shows(one.words) for one in commands) and not any(map(_changes, commands))
    return act.kind in ("fetch", "read", "search") or bare_name(act.tool).startswith(_READS)


def _shows(words: Sequence[str]) -> bool:
    program, *others = words
    if program == "git":
        while others and others[0] in ("-C", "--no-pager"):
            others = others[2:] if others[0] == "-C" else others[1:]
        return bool(others) and others[0] in _GIT_SHOWS
    if program == "gh":
        return len(others) > 1 and others[1] in _GH_SHOWS
    return program in _SHOWS or (program == "sed" and "-n" in others[:2])


def _changes(one: ShellCommand) -> bool:
    program, *others = one.words
    return one.writes or program == "tee" or (program == "sed" and any(word.startswith("-i") for word in others))
