"""Reads a rule by broad classes of words: which of its clauses forbid, and which things they name. Pure, linear in the rule.

Law: nothing is forbidden that another clause allows or excepts. A clause about the text of a program or of an answer forbids no call.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_frames import Frame, frame_of
from undrift.core.rules.ban_moods import MAY_EXCEPT, clauses_of
from undrift.core.rules.ban_row_bans import bans_of_row, targets_of
from undrift.core.rules.ban_settle import BANS, by_default, joined, settle
from undrift.core.rules.ban_table import TableRow
from undrift.core.rules.ban_things import TO_BRANCHES, TO_FILES
from undrift.core.rules.ban_words import FAMILIES
from undrift.core.rules.programs import SHOWING
from undrift.core.rules.soft_targets import DoesTarget, PartsTarget
from undrift.core.rules.targets import BranchTarget, CommandTarget, PathTarget, SqlTarget, Target, ToolTarget

__all__ = ["broad_bans", "excepted"]

_RUN = frozenset({"run"})
_CHANGE = frozenset({"change"})
_GIT_ACTS = frozenset({"push", "commit", "merge", "rebase", "pull", "cherry-pick", "revert"})
_FILE_VERBS = ("change", "touch", "delete", "move", "create", "read", "discard", "work")
_IN_CODE = re.compile(
    r"\bin (?:the |our |any |a )?(?:\w+ )?(?:code|tests?|components?|scripts?|modules?|functions?|library|source|sources|templates?|handlers?|queries|hooks)\b"
)
_WRITES = re.compile(r"\b(?:write|writing|add|adding|create|creating|generate)\b")
_AS_ROOT = re.compile(r"\b(?:as root|(?:with|under|using) sudo)\b")
_PRIVATE = re.compile(
    r"\b(?:private|confidential|secret|no[- ]fly|no business in|personal|none of your|classified|sensitive)\b"
)
_SHOWERS = frozenset({"sed", "awk", "perl", "cat", "echo", "python", "node", "tee", "ruby", "jq", "yq"})
_DELEGATED = frozenset({"sub agent", "web", "browser"})
_RESTARTERS = (
    "systemctl restart",
    "systemctl stop",
    "service restart",
    "docker restart",
    "docker stop",
    "docker compose restart",
    "pm2 restart",
    "pm2 stop",
    "kubectl rollout restart",
)
_MADE = DoesTarget(frozenset({"made", "listed"}))
_DONE_TO = frozenset({"reset", "revert", "upgrade", "deploy", "prune", "change", "discard", "merge"})
"""Verbs that are things themselves, with which something is done to another thing."""

_MOST_WORDS = 3
_LONGEST_BY_DEFAULT = 160


def excepted(text: str) -> tuple[Target, ...]:
    """Return the files that a rule excepts."""
    if not MAY_EXCEPT.search(text):
        return ()
    return tuple(path for clause in clauses_of(text) if clause.mood == "spare" for path in frame_of(clause).paths)


def broad_bans(text: str, *, is_typed: bool) -> list[Ban]:
    """Return what a rule forbids, as far as its words alone tell it.

    `is_typed`: a person typed it as a rule; a sentence of a file without a word of a ban is rather one that tells something.
    """
    frames = joined([frame_of(clause) for clause in clauses_of(text)])
    for frame in frames:
        frame.is_typed = is_typed
    settle(frames)
    found = _of_frames(frames)
    is_sure = any(frame.mood in (*BANS, "only") and frame.has_things for frame in frames)
    if not is_sure and is_typed and len(text) < _LONGEST_BY_DEFAULT and by_default(frames):
        found = _of_frames(frames)
    return found


def _of_frames(frames: Sequence[Frame]) -> list[Ban]:
    spared = tuple(_spared(frames))
    found: list[Ban] = []
    for at, frame in enumerate(frames):
        if frame.mood == "instead":
            if at and "prefer" not in frames[at - 1].clause.text and frames[at - 1].mood not in BANS:
                found += _of_commands(frame, spared, ())
                found += [ban for row in frame.rows if row.name in _DELEGATED for ban in bans_of_row(row, "forbid", ())]
                found += _of_others(frame, spared)
        elif frame.mood in BANS:
            found += _bans_of(frame, spared)
        elif frame.mood in ("only", "order"):
            found += _only(frame, frames)
    return found


def _spared(frames: Sequence[Frame]) -> Iterator[Target]:
    """Yield what the rule allows."""
    for frame in frames:
        if frame.mood == "spare":
            yield from frame.paths
            yield from frame.branches
            yield from (
                target
                for row in frame.rows
                for key in ("files", "run", "harm", "word")
                for target in targets_of(row, key)
            )
            yield from frame.commands
            if frame.words and not frame.has_things:
                yield PartsTarget(frozenset(frame.words))
        elif frame.mood in ("permit", "order", "only"):
            yield from frame.paths
            yield from frame.commands
            yield from (target for row in frame.rows for target in targets_of(row, "word"))


def _bans_of(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    """Yield the bans of a clause that forbids."""
    if frame.is_of_texts:
        texts = tuple(target for row in frame.rows for target in targets_of(row, "text"))
        yield from [Ban(_RUN, texts, spared)] if texts else []
        yield from _of_others(frame, spared)
        return
    if frame.scripts and (not frame.verbs or set(frame.verbs) & {"run", "touch", "leave"}):
        yield Ban(_RUN, tuple(frame.scripts), spared)
    acts = [row for row in frame.rows if set(row.of("does")) & _GIT_ACTS]
    if acts:
        yield from _of_acts(frame, len(acts) == len(frame.rows), spared)
    elif frame.branches:
        yield from _of_branches(frame, spared)
    if frame.is_typed and frame.words and "" not in frame.words:
        yield from _of_loose(frame, spared)
    if acts and (frame.paths or frame.branches):
        return
    rows = _rows_that_count(frame, [row for row in frame.rows if row not in acts])
    if acts and frame.mood == "forbid" and not frame.verbs:
        rows = [row for row in rows if not row.of("files")]
        frame.verbs = (
            ["merge"] if any(row.name == "merge" for row in acts) and any(row.of("merge") for row in rows) else []
        )
    runs = [row for row in rows if (row.of("run") or row.of("away")) and not row.of("files")]
    kept = (*spared, _MADE) if frame.is_by_hand or any(row.of("generated") for row in rows) else spared
    hosts = _limits(frame, rows)
    if _AS_ROOT.search(frame.clause.text) and (roots := [row for row in rows if row.name == "sudo"]):
        rows, hosts = roots, tuple(target for row in runs if row not in roots for target in targets_of(row, "run"))
    is_on = ("run" in frame.verbs and " on " in frame.clause.text) or (
        frame.doing and not frame.verbs and " on " not in frame.clause.text
    )
    if is_on and runs and (on := [row for row in rows if row.of("files") and not row.of("run")]):
        rows = rows if frame.doing in _DONE_TO else runs
        hosts = tuple(target for row in on for target in targets_of(row, "files"))
    yield from _of_rows(frame, rows, kept, (*hosts, *(frame.paths if runs else ())))
    yield from _of_commands(frame, spared, hosts)
    if not runs or not frame.paths:
        yield from _of_paths(frame, kept)
    yield from _of_others(frame, spared)
    if frame.is_typed and not frame.has_things:
        yield from _of_words(frame, kept)


def _rows_that_count(frame: Frame, rows: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows without those that only describe a path, or another row."""
    if frame.paths and frame.mood == "protect":
        return []
    if any(row.name == "global install" for row in rows):
        rows = [row for row in rows if row.name != "install"]
    if frame.commands and " with " in frame.clause.text:
        rows = [row for row in rows if row.name != "install"]  # ``don't install anything with brew``
    is_list = " and " in frame.clause.text or " or " in frame.clause.text
    return [row for row in rows if is_list or not frame.paths or not row.of("files") or row.of("run")]


def _limits(frame: Frame, rows: Sequence[TableRow]) -> tuple[Target, ...]:
    """Return what a call must be about as well: a place, something that is done there."""
    hosts = tuple(target for row in frame.rows for target in targets_of(row, "word"))
    if frame.acts and (rows or frame.commands) and not frame.verbs:
        return (*hosts, PartsTarget(frozenset(frame.acts), of="act"))
    return hosts if len(rows) > 1 or frame.commands else ()


def _of_rows(
    frame: Frame, rows: Sequence[TableRow], spared: tuple[Target, ...], also: tuple[Target, ...]
) -> Iterator[Ban]:
    said = frame.clause.text.split()
    is_no = "no" in said
    is_in_code = frame.mood == "forbid" and _IN_CODE.search(frame.clause.text) is not None
    for row in rows:
        if (also and row.of("word")) or (is_in_code and row.of("run") and not row.of("files")):
            continue
        if frame.mood == "forbid" and frame.words and row.of("files") and _WRITES.search(frame.clause.text):
            continue  # ``don't write tests for what has some``
        verbs = _verbs(frame)
        is_object = row is not frame.rows[0] and row.name != "global install"
        if frame.doing and is_object and not verbs and frame.mood == "forbid":
            if frame.doing not in _DONE_TO:
                continue  # ``never publish packages``
            verbs = (frame.doing,)
        if row.of("close") and {"open", "opening", "raise", "make"} & set(said):
            verbs = tuple("create" if verb == "read" else verb for verb in verbs)
        for ban in bans_of_row(row, frame.mood, verbs, is_no=is_no):
            yield replace(ban, spared=_narrower(ban, spared), also=(*ban.also, *also))


def _verbs(frame: Frame) -> tuple[str, ...]:
    """Return the verbs; to skip something is no verb of its own if nothing denies it."""
    words = set(frame.clause.text.split())
    is_denied = (
        bool(
            words
            & {"not", "never", "don't", "dont", "no", "nobody", "nothing", "without", "cannot", "can't", "mustn't"}
        )
        or "n't" in frame.clause.text
    )
    return tuple(
        verb for verb in frame.verbs if verb != "bypass" or is_denied or "by" in words or frame.mood != "forbid"
    )


def _narrower(ban: Ban, spared: tuple[Target, ...]) -> tuple[Target, ...]:
    return tuple(one for one in spared if one not in ban.targets)


def _of_acts(frame: Frame, is_all: bool, spared: tuple[Target, ...]) -> Iterator[Ban]:
    """Yield the bans of acts of git: on branches, to files, or at all. `is_all`: nothing else is named."""
    does = frozenset(one for row in frame.rows for one in row.of("does")) & _GIT_ACTS
    if frame.branches:
        wide = does | {"push"} if "commit" in does else does
        yield Ban(wide, tuple(frame.branches), spared)
    elif frame.paths:
        yield Ban(frozenset({"add"}), tuple(frame.paths), spared)
        slashed = tuple(
            BranchTarget(one.glob)
            for one in frame.paths
            if isinstance(one, PathTarget) and "/" in one.glob and "*" not in one.glob
        )
        if slashed and "commit" not in does:
            yield Ban(does, slashed, spared)
    elif frame.flags:
        words = [("git", one) for one in sorted(does)]
        yield Ban(_RUN, tuple(CommandTarget(start, flag.flags) for start in words for flag in frame.flags), spared)
    elif files := tuple(target for row in frame.rows for target in targets_of(row, "files")):
        if does & {"commit", "push"}:
            yield Ban(frozenset({"add"}), files, spared)
    elif is_all and not frame.beside and not frame.others:
        yield Ban(does, (), spared)


def _of_branches(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    does = frozenset(one for verb in frame.verbs for one in TO_BRANCHES.get(verb, ()))
    more = frozenset({"branch", "unbranch"}) if frame.mood == "reserve" else frozenset()
    yield Ban((does or TO_BRANCHES["touch"]) | more, tuple(frame.branches), spared)


def _of_commands(frame: Frame, spared: tuple[Target, ...], hosts: tuple[Target, ...]) -> Iterator[Ban]:
    if frame.commands and not _IN_CODE.search(frame.clause.text):
        commands = tuple(frame.commands)
        if frame.flags:
            commands = tuple(replace(one, flags=(*one.flags, *flag.flags)) for one in commands for flag in frame.flags)
        looks = frame.mood in ("protect", "reserve") or "touch" in frame.verbs
        if set(frame.verbs) & {"change", "create"}:
            commands = tuple(
                replace(one, changes=True) if len(one.words) == 1 and one.words[0] in _SHOWERS else one
                for one in commands
            )
        commands = tuple(
            replace(one, changes=True)
            if looks and len(one.words) == 1 and (one.words[0] in SHOWING or one.words[0] == "git")
            else one
            for one in commands
        )
        if (
            set(frame.verbs) - {"run", "touch", "change", "work", "read", "create"}
            and not hosts
            and any(verb in ("kill", "delete", "bypass") for verb in _verbs(frame))
        ):
            return
        ban = Ban(_RUN, commands, also=(*hosts, *frame.paths))
        yield replace(
            ban, spared=tuple(one for one in spared if not any(_is_wider(one, command) for command in commands))
        )
    elif frame.flags and not any(set(row.of("does")) & _GIT_ACTS for row in frame.rows):
        yield Ban(_RUN, tuple(frame.flags), spared)


def _is_wider(spared: Target, banned: CommandTarget) -> bool:
    """Return whether what is allowed is all of what is forbidden, or a beginning of it."""
    return (
        isinstance(spared, CommandTarget)
        and spared.words == banned.words[: len(spared.words)]
        and set(spared.flags) <= set(banned.flags)
    )


def _of_paths(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    if not frame.paths or (frame.commands and frame.mood == "forbid"):
        return
    verbs = [verb for verb in frame.verbs if verb in TO_FILES]
    does = frozenset(one for verb in verbs for one in TO_FILES[verb])
    if frame.mood in ("protect", "reserve") and not verbs:
        does = _CHANGE
    elif not verbs:
        does = _CHANGE if not frame.verbs else frozenset()
        if "run" in frame.verbs:
            scripts = tuple(
                CommandTarget((one.glob.removeprefix("./"),)) for one in frame.paths if isinstance(one, PathTarget)
            )
            yield Ban(_RUN, scripts, spared)
    if does and _PRIVATE.search(frame.clause.text):
        does |= {"read"}
    if does:
        yield Ban(does, tuple(frame.paths), spared)


def _of_loose(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    """Yield the bans of words that nothing is known of: a program, what a program does, what is restarted."""
    is_of_files = bool(frame.verbs) and set(frame.verbs) <= set(_FILE_VERBS)
    if not is_of_files and "kill" not in frame.verbs:
        yield Ban(_RUN, (PartsTarget(frozenset(frame.raw), of="program"),), spared)
    if frame.acts and not frame.has_things:
        yield Ban(frozenset({"run", "tool"}), (PartsTarget(frozenset(frame.acts), of="act"),), spared)
    if "kill" in frame.verbs:
        named = [word for word in (*frame.raw, *(row.name for row in frame.rows)) if len(word) > 2 and word.isalpha()]
        yield Ban(_RUN, tuple(CommandTarget((*start.split(), word)) for start in _RESTARTERS for word in named), spared)


def _of_others(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    on_files = (PartsTarget(frozenset(frame.words[:3])),) if frame.words and "" not in frame.words else ()
    for named in frame.others:
        if named.kind == "agent":
            yield Ban(frozenset({"agent"}), (), spared)
        elif named.kind == "tool":
            is_read_only = frame.mood == "protect"
            also = tuple(frame.paths) or (on_files if re.search(r"\b(?:on|for|in|to)\b", frame.clause.text) else ())
            yield Ban(frozenset({"write" if is_read_only else "tool"}), named.targets, spared, also=also)
        elif named.targets and isinstance(named.targets[0], SqlTarget | ToolTarget):
            yield Ban(frozenset({"run", "tool"}), named.targets, spared)
        else:
            yield Ban(_RUN, named.targets, spared)


def _of_words(frame: Frame, spared: tuple[Target, ...]) -> Iterator[Ban]:
    """Yield the bans of words that are perhaps parts of names."""
    words = frozenset(frame.words)
    if not words or "" in words or len(words) > _MOST_WORDS:
        return
    verbs = [verb for verb in frame.verbs if verb in _FILE_VERBS]
    does = frozenset(one for verb in verbs for one in TO_FILES.get(verb, ()) if verb != "create")
    if frame.mood in ("protect", "reserve") and not frame.verbs:
        does = _CHANGE
    if does and max(map(len, words)) > 2:
        yield Ban(does, (PartsTarget(words),), spared)
    if (set(verbs) <= {"create"} and "kill" not in frame.verbs) or frame.mood == "reserve":
        yield Ban(frozenset({"run", "tool"}), (PartsTarget(words, of="call"),), spared)


def _only(frame: Frame, frames: Sequence[Frame]) -> Iterator[Ban]:
    """Yield the bans of the programs that do the same as one that is wanted."""
    if any(one.mood in BANS and one.commands for one in frames):
        return
    if "stay" in frame.clause.text and any(row.name == "branch" for row in frame.rows):
        yield Ban(frozenset({"switch", "branch"}))
    programs = {command.words[0] for command in frame.commands if len(command.words) == 1}
    others = {other for family in FAMILIES if family & programs for other in family} - programs
    if others and (frame.mood == "only" or "prefer" not in frame.clause.text):
        yield Ban(_RUN, tuple(CommandTarget((name,)) for name in sorted(others)))
