"""The things that a rule can forbid: files, commands, branches, tools, servers. Frozen values, each with whether an effect is of it. Pure.

Law: a name means the whole name. ``tests/`` is not ``tests_data``, ``main`` is not ``feature/main-menu``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from undrift.core.rules.ban_stems import parts_of, stem_of
from undrift.core.rules.ban_words import words_in
from undrift.core.rules.effects import Effect, placed
from undrift.core.rules.git_effects import changes_repository
from undrift.core.rules.programs import SHELLS, SHOWING, TALKERS, has_flag, has_known_options, only_checks, operands_of
from undrift.core.rules.soft_targets import DoesTarget, PartsTarget
from undrift.core.rules.text_targets import DependTarget, SqlTarget, TextTarget, WordTarget
from undrift.profiles import bare_name

__all__ = [
    "BranchTarget",
    "CommandTarget",
    "DependTarget",
    "PathTarget",
    "SqlTarget",
    "Target",
    "TextTarget",
    "ToolTarget",
    "WordTarget",
]

_SAMPLES = (".example", ".sample", ".template", ".dist")


@dataclass(frozen=True, slots=True)
class PathTarget:
    """Files by a path or glob, relative to the project or absolute; `is_folder`: what is in it too. Empty: all files."""

    glob: str
    is_folder: bool = True
    anywhere: bool = True

    def holds(self, effect: Effect, cwd: str) -> bool:
        return any(
            self.names(path, cwd)
            for path in effect.paths
            if not (self.glob.startswith(".env") and path.endswith(_SAMPLES))
        )

    def names(self, path: str, cwd: str) -> bool:
        """Say whether a path is one of these files."""
        if not self.glob:
            return True
        glob = self.glob
        if glob in (".", "./"):
            return bool(cwd) and (path == cwd or path.startswith(cwd.rstrip("/") + "/"))
        if glob.startswith(("/", "~", "..")):
            path = re.sub(r"\A/(?:home|Users)/[^/]+(?=/|\Z)", "~", path) if glob[0] == "~" else path
            return _begins(path, placed(glob, cwd), self.is_folder)
        parts, wanted = path.strip("/").split("/")[-40:], glob.removeprefix("./").strip("/").split("/")[:20]
        if wanted[:1] == ["**"]:
            wanted = wanted[1:]
        for start in range(len(parts) - len(wanted) + 1):
            if all(_same(part, want) for part, want in zip(parts[start:], wanted, strict=False)):
                is_whole = start + len(wanted) == len(parts)
                if (is_whole or self.is_folder) and (self.anywhere or self._is_root(parts[:start], cwd)):
                    return True
        return False

    @staticmethod
    def _is_root(before: Sequence[str], cwd: str) -> bool:
        """Return whether a path begins at the project: at the folder of the session, or above it."""
        here = cwd.strip("/").split("/") if cwd.strip("/") else []
        return list(before) == here[: len(before)] or not here


def _same(part: str, want: str) -> bool:
    if want in ("*", "**"):
        return True
    if "*" in part and "*" not in want:  # a glob of the call's own: it may be meant
        return len(part) > 1 and fnmatchcase(want, part)
    return part == want or (any(sign in want for sign in "*?[") and fnmatchcase(part, want))


def _begins(path: str, start: str, is_folder: bool) -> bool:
    if any(sign in start for sign in "*?["):
        return fnmatchcase(path, start) or fnmatchcase(path, start.rstrip("/") + "/*")
    return path == start or (is_folder and path.startswith(start.rstrip("/") + "/"))


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """A command by its beginning: ``git push``, with all of its `flags`, or any command with them if `words` is empty.

    Args:
        words: The program and its first words; a name with ``*`` is a pattern.
        flags: Options that must all be there.
        lacking: Options one of which must be there for the command to be allowed.
        assigned: An assignment before it, ``HUSKY=0``.
        into: It must pipe what it downloads or prints into this program.
        holds_operand: It must name something: ``pip install x``.
        changes: Only if it changes a repository or a file.
    """

    words: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    assigned: str = ""
    piped: bool = False
    holds_operand: bool = False
    bare: bool = False
    changes: bool = False
    remote: bool = False
    of_files: bool = False

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        if "run" not in effect.does or not effect.words or self._is_another(effect.words[0]):
            return False
        if self.assigned:
            return self.assigned in effect.before
        if self.piped:
            return effect.words[0] in SHELLS and effect.source in ("curl", "wget")
        if self.words[:1] == ("sudo",):
            return effect.words[0] == "sudo" or "sudo" in effect.before
        if len(self.words) == 1 and not self.flags and self.words[0] in effect.before:
            return True
        if not self._begins(effect.words) or (not self.flags and self._is_idle(effect.words)):
            return False
        if not self.words and effect.words[0] in TALKERS:
            return False
        if self.of_files and not effect.paths:
            return False
        if self.remote and any(re.search(_LOCAL, word) for word in effect.words[1:]):
            return False
        if self.lacking and any(has_flag(effect.words, flag) for flag in self.lacking):
            return False
        if self.changes and not _changes(effect):
            return False
        return all(self._flag(effect.words, flag) for flag in self.flags)

    def _is_idle(self, words: Sequence[str]) -> bool:
        """Return whether the command only tells what there is; what a script does with ``--dry-run`` is not known."""
        is_script = len(self.words) == 1 and self.words[0].endswith(_SCRIPTS)
        return _is_idle([word for word in words if not (is_script and word.startswith("--dry"))])

    def _is_another(self, program: str) -> bool:
        """Return whether a program is plainly another one; most are, so this is asked first."""
        if len(self.words) < 2 or self.words[0] == program or program == "apt":
            return False
        return program.isalpha() and self.words[0].isalpha()

    def _flag(self, words: Sequence[str], flag: str) -> bool:
        letters = flag[1:]
        if flag[:2] != "--" and letters.isalpha() and 1 < len(letters) <= 4 and not has_flag(words, flag):
            return all(has_flag(words, f"-{letter}") for letter in letters)
        return has_flag(words, flag)

    def _begins(self, words: Sequence[str]) -> bool:
        if not self.words:
            return bool(self.flags)
        program, *others = words
        wanted, *more = self.words
        if more and "-" in program and parts_of(program) == {stem_of(word) for word in self.words}:
            return True
        if not _is_program(program, wanted):
            return self._is_script(words)
        operands = operands_of(program, others)
        if program == "git" and others:
            operands = [word for word in operands if word]
        whole = _WHOLE if program != "make" else ("all",)
        if self.bare and any(word.rstrip("/") not in whole for word in operands[len(more) :]):
            return False
        if self.holds_operand and len(operands) <= len(more):
            return False
        if not more:
            return True
        if program in _MANY_TARGETS and any(_is_word(word, more[0]) for word in operands):
            return len(more) == 1 or _is_word(operands[-1], more[-1])
        if operands and not _is_word(operands[0], more[0]) and not has_known_options(program):
            operands = operands_of(program, others, all_valued=True)
        if not operands or not _is_word(operands[0], more[0]):
            return False
        rest = iter(operands[1:])
        return all(any(_is_word(word, want) for word in rest) for want in more[1:])

    def _is_script(self, words: Sequence[str]) -> bool:
        """Return whether a runner is given this name: ``npm run deploy``, ``make deploy``, ``bash deploy.sh``."""
        if not self.words or self.bare or self.holds_operand or words[0] not in _SCRIPT_RUNNERS:
            return False
        name, *more = self.words
        if more and not name.endswith(_SCRIPTS):
            return False
        operands = [] if only_checks(words) else operands_of(words[0], words[1:])
        place = 1 if operands[:1] in (["run"], ["tool"]) else 0
        is_named = any(
            one in (name, name.removeprefix("./")) or one.rpartition("/")[2] == name
            for one in operands[place : place + 1]
        )
        return is_named and operands[place + 1 : place + 1 + len(more)] == more


_SCRIPTS = (".sh", ".bash", ".zsh", ".py", ".js", ".ts", ".rb", ".pl", ".ps1")
_MANY_TARGETS = words_in("ant fab gradle gradlew idf.py invoke just make mvn ninja nox rake sbt task")
"""Programs that do several things in one command."""

_WHOLE = frozenset({"tests", "test", ".", "./...", "spec", "src", "all"})
"""Operands that still mean all tests."""

_LOCAL = r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal|\.local(?:[:/]|$)"


def _changes(effect: Effect) -> bool:
    """Say whether a command changes what it is for: a repository, a cluster, files."""
    program, *others = effect.words
    if program == "git":
        return changes_repository(effect.words)
    if shows := SHOWING.get(program):
        operands = operands_of(program, others)
        return bool(operands) and not any(
            word in shows or word.startswith(("describe", "list", "get-")) for word in operands[:2]
        )
    return effect.writes


def _is_idle(words: Sequence[str]) -> bool:
    """Say whether a command only tells what it would do, or how it is used, or what there is."""
    if words[0] in ("crontab", "iptables", "nft", "helm", "kill") and {"-l", "-L", "--list", "-S", "list"} & set(
        words[1:3]
    ):
        return True
    return any(
        word.startswith("--dry-run") or word in ("--dryrun", "--help", "--collect-only", "--co", "--version")
        for word in words[1:20]
    )


_SCRIPT_RUNNERS = frozenset(
    {
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "make",
        "just",
        "task",
        "rake",
        "rails",
        "invoke",
        "mise",
        "composer",
        "node",
        "python",
        "ts-node",
        "tsx",
        "deno",
        "php",
        "ruby",
        "perl",
        "source",
        ".",
        *SHELLS,
    }
)


def _is_program(program: str, wanted: str) -> bool:
    program, wanted = program.removesuffix(".py"), wanted.removesuffix(".py")
    if {program, wanted} == {"apt", "apt-get"}:
        return True
    return program == wanted.rpartition("/")[2] or ("*" in wanted and fnmatchcase(program, wanted))


def _is_word(word: str, want: str) -> bool:
    if want.isalpha() and word.isalpha() and len(want) > 3:
        return stem_of(word) == stem_of(want)
    return word.removeprefix("./") == want.removeprefix("./") or (
        "*" in want and len(want) > 1 and fnmatchcase(word, want)
    )


@dataclass(frozen=True, slots=True)
class BranchTarget:
    """Branches by name or glob."""

    glob: str

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        return any(name == "*" or (name and fnmatchcase(name, self.glob)) for name in effect.branches)


@dataclass(frozen=True, slots=True)
class ToolTarget:
    """Tools by a name, or by the name of their server; `kind`: all tools of a kind."""

    name: str = ""
    kind: str = ""
    is_server: bool = False
    parts: tuple[str, ...] = ()

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        if "tool" not in effect.does:
            return False
        if self.kind:
            return self.kind in effect.does
        if self.name == "mcp":
            return effect.tool.lower().startswith("mcp__")
        if self.parts:
            return all(part in bare_name(effect.tool) for part in self.parts)
        server, _, _ = effect.tool.lower().removeprefix("mcp__").partition("__")
        is_servers = effect.tool.lower().startswith("mcp__") and self.name in re.split(r"[_\W]+", server)
        if self.is_server:
            return is_servers
        return self.name in (effect.tool.lower(), bare_name(effect.tool)) or is_servers


Target = (
    PartsTarget
    | DoesTarget
    | TextTarget
    | DependTarget
    | SqlTarget
    | PathTarget
    | CommandTarget
    | BranchTarget
    | ToolTarget
    | WordTarget
)
