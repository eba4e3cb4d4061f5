"""Makes the bans of one clause: of what is done, of what is named, and of what is allowed beside it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_clause import Clause, Said
from undrift.core.rules.ban_concepts import ACTS
from undrift.core.rules.ban_lists import is_exact
from undrift.core.rules.ban_things import GIT_VERBS, TO_BRANCHES, TO_FILES, ban_of_thing, commands_of_verb
from undrift.core.rules.ban_words import FAMILIES, words_in
from undrift.core.rules.programs import SHOWING
from undrift.core.rules.targets import BranchTarget, CommandTarget, PathTarget, Target

__all__ = ["bans_of_clause"]

_RUN = frozenset({"run"})
_INSTALLERS = words_in("npm pip yarn pnpm brew cargo gem apt apt-get go conda poetry uv bun dnf pipx")
_ON_COMMANDS = frozenset(
    ("run", "", "change", "touch", "mine", "install", "create", "commit", "push", "sleep", "kill", "deploy")
)
_ON_FILES = frozenset({"change", "delete", "create", "touch", "move"})
_PLAIN = words_in(
    """anything any changes change code yet it this that to on without until for me directly myself now stuff
    automatically again work your my the ever at all or and please either by yourself own everything them these
    those there from here of anymore files file pls shell terminal machine laptop computer side agent things
    hand first so then is i you we branches branch remote origin remotes as in a an"""
)
"""Words behind a verb with which it still means all of what it can be done to: ``don't commit anything yet``."""

_ALL_FILES = words_in(
    """anything file files code everything a any the yet for now please in here just at all single source new more
    existing our my of you me and or"""
)


def bans_of_clause(
    clause: Clause, earlier: Sequence[Said], only: Sequence[Said], permitted: Sequence[Target]
) -> list[Ban]:
    """Return what a clause forbids.

    `earlier`: what was named before it, for its pronouns. `only`: what alone was allowed. `permitted`: by any clause.
    """
    if (clause.needs_spare and not clause.spared) or clause.conditional or clause.mood not in ("forbid", "only"):
        return []
    if clause.mood == "only":
        return _only(clause, permitted)
    mentions: Sequence[Said] = clause.mentions
    if not mentions and (clause.pronoun or "there" in clause.tail):
        mentions = [replace(one, verbs=tuple(clause.verbs)) for one in earlier] if clause.verbs else []
    if clause.other and only and not mentions:
        return _of_others(clause, only)
    if clause.lacking:
        return _lacking(clause)
    spared = tuple(target for one in clause.spared for target in one.targets)
    return _of_said(clause, mentions, (*spared, *permitted)) if mentions else _of_verbs(clause, spared)


def _of_said(clause: Clause, mentions: Sequence[Said], spared: tuple[Target, ...]) -> list[Ban]:
    found: list[Ban] = []
    commands: tuple[CommandTarget, ...] = ()
    for one in mentions:
        kept = tuple(target for target in spared if not any(_is_wider(target, other) for other in one.named.targets))
        for verb in one.verbs or ("",):
            if one.named.kind == "flag" and clause.joins and commands:
                found = [ban for ban in found if not set(ban.targets) <= set(commands)]
            if one.named.kind == "flag":
                found.append(Ban(_RUN, _with_flags(commands, one), kept))
            elif one.named.kind == "command":
                found += _of_command(one, verb, kept)
                commands = tuple(_commands([one]))
            elif (ban := ban_of_thing(one.named, verb, kept, clause)) is not None:
                found.append(ban)
    return [_limited(ban, clause, mentions) for ban in found] if commands else found


def _limited(ban: Ban, clause: Clause, mentions: Sequence[Said]) -> Ban:
    """Return the ban of a command with what limits it: a purpose, a host, a folder."""
    commands = [target for target in ban.targets if isinstance(target, CommandTarget)]
    if not commands or len(commands) < len(ban.targets):
        return ban
    if clause.purpose == "install":
        return replace(ban, targets=tuple(replace(one, words=(*one.words[:1], "install")) for one in commands))
    if clause.purpose:
        changing = tuple(replace(one, changes=True) for one in commands)
        return replace(ban, targets=changing) if clause.purpose in ("change", "create") else Ban(frozenset({"none"}))
    also = tuple(
        target for one in mentions if one.named.kind in ("host", "path", "branch") for target in one.named.targets
    )
    if also and clause.outside and all(isinstance(target, PathTarget) for target in also):
        return replace(ban, spared=(*ban.spared, *also))
    if clause.outside and not also:
        is_away = bool({"world", "network", "internet"} & set(clause.tail))
        return (
            replace(ban, targets=tuple(replace(one, remote=True) for one in commands))
            if is_away
            else Ban(frozenset({"none"}))
        )
    return replace(ban, also=also)


def _is_wider(spared: Target, banned: Target) -> bool:
    """Return whether what is allowed holds all of what is forbidden: ``chmod is fine`` does not allow ``chmod 777``."""
    if isinstance(spared, CommandTarget) and isinstance(banned, CommandTarget) and spared.words:
        return spared.words == banned.words[: len(spared.words)] and set(spared.flags) <= set(banned.flags)
    return spared == banned


def _commands(mentions: Iterable[Said]) -> Iterable[CommandTarget]:
    return (target for one in mentions for target in one.named.targets if isinstance(target, CommandTarget))


def _with_flags(commands: Sequence[CommandTarget], one: Said) -> tuple[Target, ...]:
    """Return options with the command that was named before them: ``git push --force or -f``."""
    if not commands:
        return one.named.targets
    return tuple(CommandTarget(command.words, option.flags) for command in commands for option in _commands([one]))


def _of_command(one: Said, verb: str, spared: tuple[Target, ...]) -> list[Ban]:
    if verb not in _ON_COMMANDS and not is_exact(one.named):
        return []
    commands = tuple(_commands([one]))
    if verb == "install":
        installs = [
            replace(target, words=(*target.words, "install")) if len(target.words) == 1 else target
            for target in commands
        ]
        return [Ban(_RUN, tuple(target for target in installs if target.words[0] in _INSTALLERS), spared)]
    if verb in ("mine", "change", "touch"):
        commands = tuple(replace(target, changes=_can_only_show(target)) for target in commands)
    return [Ban(_RUN, commands, spared)]


def _can_only_show(target: CommandTarget) -> bool:
    """Return whether it is known of a program which of its commands change nothing: ``git is mine`` leaves ``git log``."""
    return len(target.words) == 1 and not target.flags and (target.words[0] == "git" or target.words[0] in SHOWING)


def _of_verbs(clause: Clause, spared: tuple[Target, ...]) -> list[Ban]:
    """Return the bans of verbs that stand alone: ``don't commit``."""
    is_plain = all(word in _PLAIN for word in clause.tail[:4])
    is_all = bool(clause.tail) and all(word in _ALL_FILES for word in clause.tail)
    found: list[Ban] = []
    for verb in clause.verbs:
        if verb in _ON_FILES and is_all:
            found.append(Ban(TO_FILES[verb], (PathTarget(""),), spared, is_of_task=True))
        elif verb not in _ON_FILES and is_plain:
            found += _of_verb(verb, clause, spared)
    return found


def _of_verb(verb: str, clause: Clause, spared: tuple[Target, ...]) -> list[Ban]:
    if verb in GIT_VERBS and clause.beside:
        does = frozenset({verb}) if verb == "commit" else TO_BRANCHES.get(verb, frozenset({verb}))
        return [Ban(does, clause.beside, spared)]
    if verb in GIT_VERBS:
        return [Ban(frozenset({verb}), (), spared)]
    if verb in ACTS:
        is_of_git = ACTS[verb][0].startswith("git")
        return [Ban(_RUN, commands_of_verb(verb), spared, also=clause.beside if is_of_git else ())]
    return [Ban(frozenset({"agent"}))] if verb == "spawn" and not clause.tail else []


def _only(clause: Clause, permitted: Sequence[Target]) -> list[Ban]:
    """Return the bans of what alone is allowed: all other files, branches, or programs that do the same."""
    targets = [target for one in clause.mentions for target in one.named.targets]
    paths = tuple(target for target in targets if isinstance(target, PathTarget))
    branches = tuple(target for target in targets if isinstance(target, BranchTarget))
    if paths and (not clause.verbs or clause.verb in (*_ON_FILES, "work", "mine")):
        more = tuple(target for target in permitted if isinstance(target, PathTarget))
        return [Ban(frozenset({"change"}), (*paths, *more), outside=True)]
    if branches:
        does = frozenset(does for verb in clause.verbs for does in TO_BRANCHES.get(verb, ()))
        return [Ban(does or frozenset({"push", "commit", "switch"}), branches, outside=True)]
    programs = {target.words[0] for target in targets if isinstance(target, CommandTarget) and len(target.words) == 1}
    others = {other for family in FAMILIES if family & programs for other in family} - programs
    kept = tuple(target for target in permitted if isinstance(target, CommandTarget))
    return [Ban(_RUN, tuple(CommandTarget((name,)) for name in sorted(others)), kept)] if others else []


def _of_others(clause: Clause, only: Sequence[Said]) -> list[Ban]:
    """Return the bans of ``any other branch``, after what alone is allowed was named."""
    return [
        Ban(table[verb], targets, outside=True)
        for kind, table in (("branch", TO_BRANCHES), ("path", TO_FILES))
        if (targets := tuple(target for one in only if one.named.kind == kind for target in one.named.targets))
        for verb in clause.verbs
        if verb in table
    ]


def _lacking(clause: Clause) -> list[Ban]:
    """Return the bans of ``never pytest without -x``."""
    flags = tuple(
        flag for target in _commands(one for one in clause.mentions if one.is_lacking) for flag in target.flags
    )
    commands = [one for one in clause.mentions if not one.is_lacking and one.named.kind == "command"]
    targets = tuple(replace(target, lacking=flags) for target in _commands(commands))
    return [Ban(_RUN, targets)] if flags and targets else []
