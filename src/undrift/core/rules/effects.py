"""Reads what a call would do, in the terms in which people forbid it: files changed, commands run, branches pushed. Pure.

Law: nothing is expanded or looked up. Nothing is an effect that is not plainly in the call: words in a text that is printed,
searched for or written into a message are not commands. Linear in the call, at most 400 effects.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from posixpath import join, normpath

from undrift.core.rules.ban_words import words_in
from undrift.core.rules.code_effects import changed_lists, written_paths
from undrift.core.rules.git_effects import git_branches, git_files
from undrift.core.rules.programs import READERS, SHELLS, SILENT, as_written, found_files, inner_command, operands_of
from undrift.profiles import Act, ShellCommand, bare_name, commands_of, is_reading

__all__ = ["Effect", "effects_of"]

_MOST_EFFECTS = 400
_READ_CHARACTERS = 20_000
_REQUIREMENTS = re.compile(r"requirements[\w.-]{0,60}\.txt")
_LISTED = re.compile(r"^\s{0,9}([A-Za-z][\w.-]{0,80})(?:\[[\w,]{0,80}\])?\s{0,3}(?:[=<>~!]=|$)", re.MULTILINE)
_MANIFESTS = {
    "package.json": re.compile(r"""^\s{0,20}"(@?[\w./-]{1,100})":\s{0,3}"[\^~>=<]{0,2}\d""", re.MULTILINE),
    "Cargo.toml": re.compile(
        r"""^([\w-]{1,80})(?:\.\w{1,20})?\s{0,3}=\s{0,3}(?:"[\^~>=<]{0,2}\d|\{[^}\n]{0,200}version|\{ ?workspace)""",
        re.MULTILINE,
    ),
    "pyproject.toml": re.compile(
        r"""^\s{0,20}["']?([A-Za-z][\w.-]{0,80})(?:\[[\w,]{0,80}\])?\s{0,3}(?:[=<>~!]=|=\s{0,3}["'][\^~>=<]{0,2}\d)""",
        re.MULTILINE,
    ),
    "go.mod": re.compile(r"^\s{0,9}(?:require )?([\w.-]{1,80}/[\w./-]{1,120}) v\d", re.MULTILINE),
    "Gemfile": re.compile(r"""^\s{0,9}gem ["']([\w-]{1,80})""", re.MULTILINE),
}
"""How a line of a list of dependencies begins, by the file's name."""

_READS = ("get", "list", "search", "read", "fetch", "view", "find", "query", "describe", "show", "lookup", "download")


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a call does.

    Args:
        does: Some of ``change create delete read run tool write fetch agent`` and the verbs of git that concern branches.
        paths: The files it is done to, absolute if the folder is known; they may hold ``*``.
        words: The command, its program first; empty for another tool.
        before: The assignments and ``sudo`` before it.
        branches: The branches it is done to; an empty name is one that is not known.
        tool: The name of the tool as called.
        source: The program whose output it is given.
        outer: The command that runs this one, if another does.
        writes: Whether the command writes files.
        text: What it is given to read, if the call holds it.
        shown: The part of the call, for a person.
    """

    does: frozenset[str]
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    tool: str = ""
    source: str = ""
    outer: tuple[str, ...] = ()
    writes: bool = False
    text: str = ""
    shown: str = ""


def effects_of(acts: Iterable[Act], cwd: str = "", branch: str = "") -> tuple[Effect, ...]:
    """Return what a call's acts would do, in their order."""
    found: list[Effect] = []
    for act in acts:
        for effect in _of(act, cwd, branch):
            found.append(effect)
            if len(found) == _MOST_EFFECTS:
                return tuple(found)
    return tuple(found)


def _of(act: Act, cwd: str, branch: str) -> Iterator[Effect]:
    if act.command:
        yield from _shell(act, cwd, branch)
        return
    does = {act.kind, "tool"}
    if act.kind == "edit":
        does |= {"change"}
        does |= {"create"} if "*** Add File" in act.patch or not (act.patch or act.old) else set()
        does |= {"delete"} if "*** Delete File" in act.patch else set()
        does |= {"depend"} if _depends_on_more(act) else set()
    elif act.kind == "agent" and bare_name(act.tool).startswith(("wait", "close", "list", "interrupt", "send")):
        does -= {"agent"}
    elif act.kind == "other":
        does |= {"read"} if _only_reads(act) else {"write"}
    elif act.kind == "search" and act.path:
        does |= {"read"}
    place = act.path if "://" in act.path or not act.path else placed(act.path, cwd)
    text = " ".join(str(value) for value in list(act.given.values())[:20])[:4_000] if act.kind == "other" else ""
    yield Effect(frozenset(does), (place,) if place else (), tool=act.tool, text=text, shown=act.path or act.tool)


def _depends_on_more(act: Act) -> bool:
    """Say whether an edit of a list of dependencies adds one; another version of one is none."""
    name = act.path.rpartition("/")[2]
    pattern = _MANIFESTS.get(name) or (_LISTED if _REQUIREMENTS.fullmatch(name) else None)
    if pattern is None:
        return False
    new, old = "\n".join(act.new), "\n".join(act.old)
    if act.patch:
        lines = act.patch[:_READ_CHARACTERS].split("\n")
        new = "\n".join(line[1:] for line in lines if line[:1] == "+")
        old = "\n".join(line[1:] for line in lines if line[:1] == "-")
    more = set(pattern.findall(new[:_READ_CHARACTERS])) - set(pattern.findall(old[:_READ_CHARACTERS]))
    return bool(more - {"version", "rust-version", "node", "npm", "edition", "python", "requires-python"})


def _only_reads(act: Act) -> bool:
    words = re.split(r"[_\W]+", bare_name(act.tool), maxsplit=9)
    return is_reading(act) or any(word.startswith(_READS) for word in words[:3])


def placed(path: str, cwd: str) -> str:
    """Return a path as it is from a folder, without ``..`` as far as that can be known."""
    path = path.replace("\\", "/")
    if re.match(r"[A-Za-z]:/", path):
        return normpath(path)
    if path.startswith(("~", "$HOME")):
        return "~" + normpath("/" + path.lstrip("~").removeprefix("$HOME"))
    return normpath(path if path.startswith("/") or not cwd else join(cwd, path))


def _shell(act: Act, cwd: str, branch: str) -> Iterator[Effect]:
    """Yield the effects of each simple command; `cd` and `git switch` count for those behind them."""
    is_aside = (
        act.given.get("run_in_background") is True
        or re.search(r"(?<![&>])&\s*(?:\Z|\n|\w|\))", act.command[:_READ_CHARACTERS]) is not None
    )
    text = _command_text(act)
    yield Effect(
        frozenset({"tool", "shell"} | ({"aside"} if is_aside else set())), tool=act.tool, shown=act.command[:80]
    )
    source = said = fed = ""
    for one in commands_of(text, _READ_CHARACTERS):
        for words, before in inner_command(one.words, one.before):
            words = as_written(words)
            if fed and "xargs" in before and words == as_written(words):
                words = (*words, fed)
            shown = " ".join((*before, *words))[:120]
            files = tuple(_files(replace(one, words=words), cwd, shown))
            paths = tuple(path for effect in files for path in effect.paths)
            writes = any("change" in effect.does for effect in files) or _edits(words)
            outer = as_written(one.words) if words[0] != one.words[0] else ()
            found = git_branches(words, branch)
            yield Effect(
                frozenset({"run"}),
                paths,
                words,
                before,
                found.branches,
                source=source,
                outer=outer,
                writes=writes,
                text=one.given or said,
                shown=shown,
            )
            if found.does:
                yield Effect(found.does, (), words, before, found.branches, shown=shown)
            branch = found.then
            yield from files
        if one.words[0] in ("cd", "pushd") and len(one.words) > 1:
            cwd = placed(one.words[1], cwd)
        source = one.words[0] if one.feeds else ""
        fed = (_listed(one.words) or (fed if one.words[0] in _FILTERS else "")) if one.feeds else ""
        said = " ".join(one.words[1:]) or one.given if source in ("echo", "printf", "cat") else ""


_FILTERS = frozenset({"head", "tail", "sort", "uniq", "grep", "sed", "awk", "tr"})


def _listed(words: Sequence[str]) -> str:
    """Return the files that a command lists for the next one; empty if it lists none."""
    program, *others = words
    if program == "find":
        return found_files(others)
    if (
        program in ("ls", "fd")
        or (program == "git" and others[:1] in (["ls-files"], ["grep"]))
        or (program in ("grep", "rg") and any(word[:1] == "-" and word[1:2] != "-" and "l" in word for word in others))
    ):
        plain = [word for word in operands_of(program, others) if "/" in word or "." in word]
        return plain[-1] if plain else ""
    return ""


def _command_text(act: Act) -> str:
    """Return the text of a command; of one that is given as a list of words, what its shell runs."""
    listed = next((value for name in ("command", "cmd") if isinstance(value := act.given.get(name), list)), None)
    if listed is None:
        return act.command
    words = [str(word) for word in listed[:200]]
    if len(words) > 2 and words[0].rpartition("/")[2] in SHELLS and words[1].endswith("c"):
        return words[2]
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _files(one: ShellCommand, cwd: str, shown: str) -> Iterator[Effect]:
    program, *others = one.words
    if program == "git" and "-C" in others[:-1]:
        cwd = placed(others[others.index("-C") + 1], cwd)
    for does, paths in _touched(program, others, one):
        placed_ = tuple(placed(path, cwd) for path in paths[:100] if path and not path.startswith("/dev/"))
        if placed_:
            yield Effect(frozenset(does), placed_, one.words, shown=shown)


def _touched(program: str, others: Sequence[str], one: ShellCommand) -> Iterator[tuple[set[str], Sequence[str]]]:
    """Yield what is done to which files."""
    operands = operands_of(program, others)
    if one.into:
        yield {"change", "create"}, one.into
    if made := _results(program, others):
        yield {"change", "create", "made"}, made
    if lists := changed_lists((program, *others)):
        yield {"change", "listed"}, lists
    if does := _OPERANDS.get(program):
        yield set(does.split()), operands
    elif program == "mv":
        yield {"change", "moved"}, operands[:-1]
        yield {"change", "create"}, [*operands[-1:], *_inside(operands)]
    elif program in ("cp", "install", "ln", "rsync"):
        yield {"read"}, operands[:-1]
        yield {"change", "create"}, operands[-1:]
    elif program in ("chmod", "chown", "chgrp"):
        yield {"change"}, operands[1:]
    elif program == "git":
        yield git_files(others)
    else:
        yield from _written(program, others, operands, one.given)


def _written(
    program: str, others: Sequence[str], operands: Sequence[str], given: str
) -> Iterator[tuple[set[str], Sequence[str]]]:
    """Yield what programs do to files that change them only if they are asked to."""
    if program in _EDITORS and _in_place(others):
        yield {"change"}, operands[1:] if not _has_script(others) else operands
    elif program in _TOOLS and (_in_place(others) or {"--inplace", "-replace", "-insert", "-I"} & set(others)):
        yield {"change"}, operands
    elif program == "dd":
        yield {"change"}, [word[3:] for word in others if word.startswith("of=")]
    elif _formats(program, others):
        yield {"change"}, [path for path in operands if "/" in path or "." in path]
    elif program in ("curl", "wget", "sort"):
        pairs = [
            (flag, path) for flag, path in pairwise(others) if flag in ("-o", "-O", "--output") and path[:1] != "-"
        ]
        yield {"change", "create"}, [path for _, path in pairs]
    elif program in ("python", "node", "ruby", "perl"):
        yield {"change"}, written_paths("\n".join((*others, given)))
    elif program in _REWRITERS and operands:
        yield {"change"}, operands[-1:]
    elif program in READERS:
        yield {"read"}, operands[1:] if program in SILENT else operands


_OPERANDS = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "trash"), "change delete"),
    **dict.fromkeys(("tee", "touch", "mkdir"), "change create"),
    **dict.fromkeys(
        ("truncate", "patch", "gzip", "gunzip", "bzip2", "xz", "unxz", "optipng", "jpegoptim", "pngquant"), "change"
    ),
}
"""Program -> its effects on all of its operands."""

_EDITORS = frozenset({"sed", "perl", "ruby", "awk", "gawk"})
_REWRITERS = words_in("sponge mogrify convert magick ffmpeg pdfcrop xmlstarlet exiftool svgo imagemin rename")
"""Programs whose last operand is the file that they write."""

_TOOLS = frozenset({"yq", "jupyter", "plutil", "dos2unix", "nbconvert", "json"})


def _results(program: str, others: Sequence[str]) -> list[str]:
    """Return the files that a command writes its result to, as its options say."""
    if program in (
        "git",
        "grep",
        "rg",
        "kubectl",
        "ps",
        "find",
        "sort",
        "ssh",
        "set",
        "tar",
        "oc",
        "docker",
        "gh",
        "chown",
        "aws",
    ):
        return []
    found: list[str] = []
    for at, word in enumerate(others[:60]):
        name, is_joined, value = word.partition("=")
        if name in _OUTPUTS or (word == "-o" and at + 1 < len(others)):
            value = value if is_joined else (others[at + 1] if at + 1 < len(others) else "")
            found += [value] if value and value[:1] not in "-{" and ("/" in value or "." in value) else []
    return found


_OUTPUTS = words_in("--out --output --outdir --out-dir --outfile --out-file --output-dir --output-file --dest --dst")


def _inside(operands: Sequence[str]) -> list[str]:
    """Return the files as they are called in the folder that they are moved to."""
    return [join(operands[-1], path.rpartition("/")[2]) for path in operands[:-1]]


def _in_place(others: Sequence[str]) -> bool:
    return any(re.match(r"-(?:[a-zA-Z]{0,4}i|-in-place)", word) for word in others[:6]) or "inplace" in others[:3]


def _edits(words: Sequence[str]) -> bool:
    return words[0] in _EDITORS and _in_place(words[1:])


def _has_script(others: Sequence[str]) -> bool:
    """Return whether the script is the value of an option, which operands leave out."""
    return any(
        word in ("-e", "-f", "--expression") or re.fullmatch(r"-[a-z]{0,3}e", word) is not None for word in others[:6]
    )


def _formats(program: str, others: Sequence[str]) -> bool:
    if program in ("black", "isort", "autopep8", "gofmt", "rustfmt", "clang-format"):
        return "--check" not in others and (
            program not in ("gofmt", "clang-format") or "-w" in others or "-i" in others
        )
    if program in ("prettier", "eslint", "ruff"):
        return bool({"--write", "-w", "--fix", "format"} & set(others)) and "--check" not in others
    return False
