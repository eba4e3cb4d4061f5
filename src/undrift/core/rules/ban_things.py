"""Makes the ban of one thing that a clause names: a file, a branch, a tool, a service, something well-known. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_clause import Clause
from undrift.core.rules.ban_commands import commands_in
from undrift.core.rules.ban_concepts import ACTS
from undrift.core.rules.ban_spot import NamedThing
from undrift.core.rules.ban_words import words_in
from undrift.core.rules.targets import CommandTarget, DependTarget, PathTarget, SqlTarget, Target, ToolTarget

__all__ = ["GIT_VERBS", "TO_BRANCHES", "TO_FILES", "ban_of_thing", "commands_of_verb"]

GIT_VERBS = words_in("push commit merge rebase switch pull cherry-pick revert reset")
"""Verbs that are effects of their own."""

_ANY = words_in("push commit merge rebase reset cherry-pick revert")
TO_FILES: Mapping[str, frozenset[str]] = {
    verb: frozenset({does})
    for does, verbs in {
        "change": "change mine touch work leave", "create": "create", "delete": "delete prune", "read": "read", "moved": "move",
        "revert": "discard revert reset", "add": "commit stage push",
    }.items()
    for verb in verbs.split()
}  # fmt: skip
"""Verb -> its effects on files."""

TO_BRANCHES: Mapping[str, frozenset[str]] = {
    **{verb: frozenset({verb}) for verb in ("push", "rebase", "switch", "pull", "reset")},
    **dict.fromkeys(("mine", "change", "touch"), _ANY),
    "commit": frozenset({"commit", "push"}), "merge": frozenset({"merge"}),
    **dict.fromkeys(("work", ""), frozenset({"push", "commit", "merge"})),
    "delete": frozenset({"unbranch"}), "create": frozenset({"branch"}),
}  # fmt: skip
"""Verb -> its effects on branches."""

_RESETS = (
    "dropdb, prisma migrate reset, rails db:reset, rails db:drop, rake db:reset, rake db:drop, npm run db:reset, supabase db reset, "
    "python manage.py flush, make db-reset, make reset-db, mix ecto.reset, mix ecto.drop, php artisan migrate:fresh, pnpm db:reset, "
    "yarn db:reset"
)
_DROPS = SqlTarget(("drop database", "drop table", "truncate ", "drop schema"))
_WRITES = words_in("change create delete comment close merge publish write mine touch move")
_BROWSERS = ("playwright", "puppeteer", "chrome", "browser", "browsermcp")
_RUN = frozenset({"run"})
_ON_FORGE = {
    "create": "create", "read": "create", "": "create", "merge": "merge", "close": "close", "comment": "comment",
    "change": "edit", "approve": "review",
}  # fmt: skip
_ON_MANY_BRANCHES = {"": "branch", "create": "branch", "delete": "unbranch", "switch": "switch", "leave": "switch"}
_RUN_VERBS: Mapping[str, tuple[str, ...]] = {
    "install": ("install", "create", "", "fetch"), "full-tests": ("run", ""), "tests": ("run",), "server": ("run", ""),
    "migrations": ("run",), "processes": ("kill",), "verb": ("", "create", "run"), "hooks": ("bypass",),
}  # fmt: skip
"""The verbs with which things that are commands are forbidden; for the others ``no`` and ``run``."""

Spared = tuple[Target, ...]


def ban_of_thing(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    """Return the ban of something for what is done to it; None if that is no effect of a call."""
    make = _MAKERS.get(one.kind, _of_run)
    return make(one, verb, spared, clause)


def commands_of_verb(word: str) -> tuple[CommandTarget, ...]:
    """Return the commands of a verb that stands alone: ``deploy``."""
    return tuple(
        replace(target, changes=target.words[:1] == ("git",))
        for text in ACTS.get(word, ())
        for target in commands_in(text)
    )


def _of_path(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    is_outside = one in clause.outsiders
    if (verb == "run" and clause.verbs) or (one.kind == "project" and not is_outside):
        return None
    does = TO_FILES.get(verb, TO_FILES["change"] if clause.outside and not verb else None)
    return Ban(does, one.targets, spared, outside=is_outside or verb == "leave") if does else None


def _of_branch(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    if verb == "leave":
        return Ban(frozenset({"switch"}), spared=one.targets)
    if not verb and not {"to", "into", "onto", "straight", "directly"} & set(clause.tail):
        return None
    does = TO_BRANCHES.get(verb)
    return Ban(does, one.targets, spared, outside=clause.outside) if does else None


def _of_branches(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, spared
    does = _ON_MANY_BRANCHES.get(verb)
    return Ban(frozenset({does})) if does and (verb or "new" in clause.tail) else None


def _of_agent(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, clause
    return Ban(frozenset({"agent"}), spared=spared) if verb in ("", "run", "spawn", "create") else None


def _of_web(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del clause
    programs = tuple(replace(target, remote=True) for target in one.targets if isinstance(target, CommandTarget))
    is_used = verb in ("", "run", "fetch", "connect", "read", "create")
    return Ban(frozenset(), (ToolTarget(kind="fetch"), *programs), spared) if is_used else None


def _of_tool(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del clause
    if verb in ("", "run", "mine", "touch"):
        return Ban(frozenset({"tool"}), one.targets, spared)
    return Ban(frozenset({"write"}), one.targets, spared) if verb in _WRITES else None


def _of_browser(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, spared, clause
    tools = (*(ToolTarget(name, is_server=True) for name in _BROWSERS), ToolTarget(parts=("browser",)))
    return Ban(frozenset({"tool"}), tools) if verb in ("", "run", "read", "create") else None


def _of_servers(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, spared, clause
    return Ban(frozenset({"tool"}), (ToolTarget("mcp"),)) if verb in ("", "run") else None


def _of_service(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del clause
    does = "write" if verb in _WRITES else "tool" if verb in ("run", "", "connect") else ""
    return Ban(frozenset({does}), one.targets, spared) if does else None


def _of_host(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del clause
    is_reached = verb in ("connect", "run", "fetch", "touch", "deploy", "mine")
    return Ban(frozenset(), one.targets, spared) if is_reached else None


def _of_any_run(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del verb, clause
    return Ban(_RUN, one.targets, spared)


def _of_history(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    return Ban(_RUN, one.targets, spared, also=clause.beside) if verb == "change" else None


def _of_work(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    """Make the ban of losing work that is not committed."""
    del spared, clause
    is_lost = verb in ("discard", "revert", "reset", "delete", "change", "stash")
    return Ban(_RUN, one.targets) if is_lost else None


def _of_database(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, clause
    resets = tuple(target for text in _RESETS.split(", ") for target in commands_in(text))
    return Ban(_RUN, (*resets, _DROPS), spared) if verb in ("delete", "reset") else None


def _of_forge(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    """Make the ban of what is done to pull requests or issues, by a command or by a tool of a server."""
    del clause
    does = _ON_FORGE.get(verb)
    if does is None:
        return None
    is_pull = one.kind == "pull"
    starts = (("gh", "pr"), ("glab", "mr")) if is_pull else (("gh", "issue"), ("glab", "issue"))
    commands = tuple(CommandTarget((*start, does)) for start in starts)
    return Ban(frozenset(), (*commands, ToolTarget(parts=(does, "pull_request" if is_pull else "issue"))), spared)


def _of_aside(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del one, spared, clause
    return Ban(frozenset({"aside"})) if verb in ("run", "") else None


def _of_verb(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    """Make the ban of a verb that stands as a noun: ``no commits``."""
    del clause
    first = one.targets[0] if one.targets else None
    word = first.words[0] if isinstance(first, CommandTarget) and first.words else ""
    if not word or verb not in _RUN_VERBS["verb"]:
        return None
    return Ban(frozenset({word}), (), spared) if word in GIT_VERBS else Ban(_RUN, commands_of_verb(word), spared)


def _of_packages(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    del clause
    if verb == "upgrade":
        return Ban(_RUN, commands_of_verb("upgrade"), spared)
    if verb not in _RUN_VERBS["install"]:
        return None
    commands = tuple(replace(target, holds_operand=True) for target in one.targets if isinstance(target, CommandTarget))
    kept = tuple(target for target in spared if not isinstance(target, PathTarget))
    lists = (DependTarget(),) if verb in ("create", "") else ()
    return Ban(frozenset({"run", "depend"}), (*commands, *lists), kept)


def _of_run(one: NamedThing, verb: str, spared: Spared, clause: Clause) -> Ban | None:
    """Make the ban of something that is a group of commands: tests, servers, builds."""
    del clause
    commands = tuple(target for target in one.targets if isinstance(target, CommandTarget))
    if verb not in _RUN_VERBS.get(one.kind, ("", "run")) or not commands:
        return None
    if one.kind == "server":
        alone = ("vite", "next", "nodemon")
        commands = tuple(replace(target, bare=target.words in tuple((name,) for name in alone)) for target in commands)
    commands = tuple(replace(target, bare=target.bare or target.words == ("make",)) for target in commands)
    if one.kind == "full-tests":
        commands = tuple(replace(target, bare=True) for target in commands)
    return Ban(_RUN, commands, spared)


_MAKERS: Mapping[str, Callable[[NamedThing, str, Spared, Clause], Ban | None]] = {
    "path": _of_path, "project": _of_path, "branch": _of_branch, "branches": _of_branches, "agent": _of_agent, "fetch": _of_web,
    "tool": _of_tool, "browser": _of_browser, "mcp": _of_servers, "service": _of_service, "host": _of_host, "sql": _of_any_run,
    "text": _of_any_run, "process": _of_any_run, "history": _of_history, "discard": _of_work, "database": _of_database,
    "pull": _of_forge, "issue": _of_forge, "aside": _of_aside, "verb": _of_verb, "install": _of_packages,
}  # fmt: skip
