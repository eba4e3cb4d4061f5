"""Makes the bans of one row of the table of things, for what is done to the thing. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_commands import commands_in
from undrift.core.rules.ban_table import TableRow
from undrift.core.rules.ban_things import TO_FILES
from undrift.core.rules.programs import SHOWING
from undrift.core.rules.targets import (
    CommandTarget,
    DependTarget,
    PathTarget,
    SqlTarget,
    Target,
    TextTarget,
    ToolTarget,
    WordTarget,
)

__all__ = ["bans_of_row", "targets_of"]

_RUN = frozenset({"run"})
_USED = ("run", "does", "whole", "away", "text", "sql", "word", "piped", "server", "tool", "kill")
_CHANGED = ("harm", "sql", "create", "send", "delete", "server", "tool", "merge", "close", "kill", "word")
_BY_VERB = {
    "change": _CHANGED, "touch": (*_CHANGED, "stop"), "move": ("harm",), "create": ("create", "harm", "text", "server", "tool", "sql"),
    "delete": ("delete", "harm", "gone", "kill", "stop"), "run": (*_USED, "harm"), "read": ("read", "server"), "install": ("run", "away"),
    "bypass": ("bypass",), "fetch": ("does", "away", "run", "read", "server", "tool"), "connect": ("word", "run", "away", "does", "server"),
    "kill": ("stop",), "upgrade": ("upgrade",), "deploy": ("run", "word"), "publish": ("run",), "comment": ("send", "run", "server", "tool", "word"),
    "approve": ("run",), "close": ("close", "harm", "server", "tool"), "merge": ("merge",), "spawn": ("does", "run", "tool"), "discard": ("harm",),
    "prune": ("harm",), "reset": ("harm", "delete"), "revert": ("harm",), "work": ("harm", "does"),
}  # fmt: skip
_SURE = frozenset({"create", "delete", "merge"})
"""The verbs whose line of a row is all that they mean."""

_WRITES = frozenset({"change", "touch", "create", "delete", "comment", "close", "move", "merge", "publish"})
_FILED = ("change", "touch", "delete", "move", "read", "work", "discard", "revert", "reset")


@lru_cache(maxsize=2_048)
def targets_of(row: TableRow, key: str) -> tuple[Target, ...]:
    """Return the targets of a line of a row."""
    items = row.of(key)
    if key == "files":
        return tuple(PathTarget(glob) for glob in items)
    if key == "word":
        return tuple(WordTarget(name) for name in items)
    if key in ("sql", "kill"):
        return (SqlTarget(items),) if items else ()
    if key == "text":
        return tuple(TextTarget(text) for text in items)
    if key == "server":
        return tuple(ToolTarget(name, is_server=True) for name in items)
    if key == "tool":
        return tuple(
            ToolTarget("mcp") if name == "mcp__" else ToolTarget(parts=tuple(name.split("+"))) for name in items
        )
    if key == "piped":
        return (CommandTarget(piped=True),) if items else ()
    if key in ("does", "gone", "depend", "generated", "changes"):
        return ()
    found = tuple(target for item in items for target in commands_in(item) if target.words or target.flags)
    return tuple(_as_is_said(row, key, target) for target in found)


def _as_is_said(row: TableRow, key: str, target: CommandTarget) -> CommandTarget:
    if key == "away":
        return CommandTarget(target.words, target.flags, remote=True)
    if key == "whole":
        return CommandTarget(target.words, target.flags, bare=True)
    if row.of("depend") and key == "run":
        return CommandTarget(target.words, target.flags, holds_operand=True)
    if row.of("changes") or target.words[:1] in (("git",), ("crontab",)):
        return CommandTarget(target.words, target.flags, changes=target.words[:1] == ("git",), of_files=target.of_files)
    return target


def bans_of_row(row: TableRow, mood: str, verbs: Sequence[str], *, is_no: bool = False) -> Iterator[Ban]:
    """Yield the bans of a thing, for what is done to it."""
    if mood == "protect":
        verbs = [verb for verb in verbs if verb not in ("leave", "read", "run", "work", "connect")]
    known = [verb for verb in verbs if verb in _BY_VERB]
    if verbs and not known:
        return
    keys, files, writes = _keys(row, mood, known)
    for key in dict.fromkeys(keys):
        for ban in _of_key(row, key, writes=writes):
            yield ban if mood == "forbid" else replace(ban, targets=tuple(map(_if_it_changes, ban.targets)))
    if is_no and not known and files:
        files = frozenset({"create"})
    if files and row.of("files"):
        yield Ban(files, targets_of(row, "files"))
    if row.of("depend") and (not known or set(known) & {"create", "run", "change", "install"}):
        yield Ban(frozenset({"depend"}), (DependTarget(),))


def _if_it_changes(target: Target) -> Target:
    """Return the target without the calls that only show something: who keeps a thing back lets it be looked at."""
    return (
        replace(target, changes=True)
        if isinstance(target, CommandTarget) and len(target.words) == 1 and target.words[0] in SHOWING
        else target
    )


def _keys(row: TableRow, mood: str, known: Sequence[str]) -> tuple[list[str], frozenset[str], bool]:
    """Return the lines of a row that count, the effects on its files, and whether only tools that write count."""
    change = TO_FILES["change"]
    if mood == "protect" and not set(known) - {"touch", "leave", "work", "change"}:
        keys = [*_CHANGED, "stop", "bypass"]
        if not row.of("files") and not any(
            row.of(key) for key in ("harm", "stop", "delete", "sql", "kill", "server", "word", "bypass")
        ):
            keys += _USED
        return keys, change, True
    if mood == "reserve" and not known:
        return [*_CHANGED, *_USED], change, True
    if not known:
        has_use = any(row.of(key) for key in _USED)
        return [*_USED, *(() if has_use else _CHANGED)], frozenset() if has_use else change, False
    keys = [
        key
        for verb in known
        for key in _BY_VERB[verb]
        if not (key == "harm" and verb in _SURE and row.of(verb))
        and not (key == "run" and verb == "comment" and row.of("send"))
    ]
    files = frozenset(does for verb in known if verb in _FILED for does in TO_FILES.get(verb, ()))
    if "create" in known:
        if not any(row.of(key) for key in ("create", "harm", "text")):
            keys += () if row.of("files") else _USED
            files |= frozenset({"create"}) if row.of("files") else frozenset()
        elif row.of("files"):
            files |= {"create"}
    elif not files and not any(row.of(key) for key in keys):
        keys += _USED if set(known) & {"change", "touch", "work", "create", "run"} and not row.of("files") else ()
    if "read" in known and not row.of("files") and not row.of("read"):
        keys += ["run", "away", "does"]
    return keys, files, bool(set(known) & _WRITES)


def _of_key(row: TableRow, key: str, *, writes: bool) -> Iterator[Ban]:
    if not row.of(key):
        return
    targets = targets_of(row, key)
    if key in ("does", "gone"):
        yield Ban(frozenset(row.of(key)))
    elif key in ("server", "tool"):
        yield Ban(frozenset({"write" if writes else "tool"}), targets)
    elif key == "sql":
        yield Ban(frozenset({"run", "write"}), targets)
    elif key == "word":
        yield Ban(frozenset(), targets)
    else:
        yield Ban(_RUN, targets)
