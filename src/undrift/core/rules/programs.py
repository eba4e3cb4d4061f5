"""Programs: their options with values, other names, and those that run another program. Pure."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from undrift.core.rules.ban_words import words_in

__all__ = [
    "READERS",
    "SHELLS",
    "SHOWING",
    "SILENT",
    "TALKERS",
    "as_written",
    "found_files",
    "has_flag",
    "has_known_options",
    "inner_command",
    "only_checks",
    "operands_of",
    "script_run",
]

SHELLS = frozenset({"bash", "dash", "fish", "ksh", "sh", "zsh"})
READERS = frozenset(
    {"awk", "base64", "bat", "cat", "cut", "grep", "head", "jq", "less", "more", "nl", "od", "rg", "sed", "sort",
     "source", "strings", "tail", "tac", "xxd", "yq", ".", "hexdump", "vim", "nano", "egrep"}
)  # fmt: skip
"""Programs that show what is in a file."""

SILENT = frozenset({"awk", "egrep", "grep", "jq", "rg", "sed", "yq"})
"""Programs whose first operand is what they search for, and no file."""

_OPTIONS: Mapping[str, frozenset[str]] = {
    "git": frozenset(
        {"-C", "-c", "--git-dir", "--work-tree", "-m", "-F", "--message", "--author", "--date", "-b", "-B"}
    ),
    "docker": frozenset(
        {"-f", "--file", "-p", "--project-name", "-H", "--context", "--env-file", "--profile", "-v", "-e"}
    ),
    "docker exec": frozenset(
        {
            "-e",
            "--env",
            "-u",
            "--user",
            "-w",
            "--workdir",
            "-v",
            "--volume",
            "-p",
            "--name",
            "--entrypoint",
            "--network",
            "--env-file",
        }
    ),  # and of ``docker run``
    "kubectl": frozenset({"-n", "--namespace", "--context", "-f", "-o", "-l", "--kubeconfig"}),
    "helm": frozenset({"-n", "--namespace", "--kube-context", "-f", "--values", "--set"}),
    "npm": frozenset({"--prefix", "-w", "--workspace", "-C", "--registry"}),
    "pnpm": frozenset({"-C", "--dir", "--filter", "-F"}),
    "yarn": frozenset({"--cwd"}),
    "make": frozenset({"-C", "-f", "-j"}),
    "gh": frozenset({"-R", "--repo", "-t", "--title", "-b", "--body", "-F", "--body-file"}),
    "uv": frozenset({"--directory", "--project", "-p", "--python", "--with"}),
    "poetry": frozenset({"-C", "--directory"}),
    "pip": frozenset({"-r", "-c", "-i", "-t", "--target", "--python"}),
    "pytest": frozenset({"-k", "-m", "-n", "-p", "-c", "-o", "--maxfail", "--cov", "--tb", "--timeout"}),
    "grep": frozenset({"-A", "-B", "-C", "-m", "--include", "--exclude", "--exclude-dir"}),
    "rg": frozenset({"-A", "-B", "-C", "-m", "-g", "--glob", "-t", "--type"}),
    "head": frozenset({"-n", "-c"}),
    "tail": frozenset({"-n", "-c"}),
    "sed": frozenset({"-e", "-f", "--expression"}),
    "perl": frozenset({"-e", "-pe", "-ne", "-pie", "-i.bak"}),
    "curl": frozenset({"-o", "-H", "-d", "-X", "-u", "--output", "--data", "-F", "-A", "-e", "-m", "--max-time"}),
    "wget": frozenset({"-O", "-P", "-o"}),
    "terraform": frozenset({"-target", "-var", "-var-file"}),
    "cargo": frozenset({"--manifest-path", "-p", "--package", "--features"}),
    "psql": frozenset({"-h", "-U", "-d", "-p", "-c", "-f"}),
    "truncate": frozenset({"-s"}),
    "ssh": frozenset({"-i", "-p", "-l", "-o", "-L", "-R", "-D", "-F", "-J"}),
    "yarn dlx": frozenset({"-p"}),
    "xargs": frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-E", "-s"}),
    "timeout": frozenset({"-k", "-s", "--signal", "--kill-after"}),
    "sudo": frozenset({"-u", "-g", "-C", "-h", "-p"}),
    "env": frozenset({"-u", "-C", "-S"}),
    "nice": frozenset({"-n"}),
    "rsync": frozenset({"-e", "--exclude", "--include"}),
    "python": frozenset({"-W", "-X"}),
    "rm": frozenset(),
}
"""The options whose value is the next word, which is then no operand."""

_RUNNERS: Mapping[str, frozenset[str]] = {
    "poetry": frozenset({"run"}), "uv": frozenset({"run"}), "uvx": frozenset(), "pipenv": frozenset({"run"}),
    "pdm": frozenset({"run"}), "hatch": frozenset({"run"}), "rye": frozenset({"run"}), "npx": frozenset(),
    "bunx": frozenset(), "pnpx": frozenset(), "pnpm": frozenset({"exec", "dlx"}), "yarn": frozenset({"exec", "dlx"}),
    "bundle": frozenset({"exec"}), "mise": frozenset({"exec"}), "npm": frozenset({"exec"}), "xargs": frozenset(),
    "nice": frozenset(), "nohup": frozenset(), "setsid": frozenset(), "stdbuf": frozenset(), "watch": frozenset(),
    "env": frozenset(), "sudo": frozenset(), "doas": frozenset(), "ionice": frozenset(), "caffeinate": frozenset(),
    "unbuffer": frozenset(), "command": frozenset(), "exec": frozenset(), "time": frozenset(), "conda": frozenset({"run"}),
}  # fmt: skip
_BEHIND_DASHES = frozenset(
    {"kubectl", "oc", "doppler", "op", "aws-vault", "dotenv", "infisical", "chamber", "direnv", "nix", "devbox"}
)
"""Programs that run what stands behind ``--``."""

_NUMBERED = re.compile(r"\A(pip|python|node|ruby|perl|gem)(?:\d[\d.]*|js)\Z")
_ASSIGNED = re.compile(r"\w{1,80}=(?!=)")
_UNVERSIONED = re.compile(r"(?<=\w)(?:[=<>~!]=|@)[\w.*^~-]{1,40}\Z")
_PREFIXED = {
    "gsed": "sed",
    "ggrep": "grep",
    "nodejs": "node",
    "gmake": "make",
    "terragrunt": "terraform",
    "ripgrep": "rg",
}
_DEEPEST = 4


def has_known_options(program: str) -> bool:
    """Say whether it is known which options of a program have values."""
    return program in _OPTIONS


def operands_of(program: str, others: Sequence[str], *, all_valued: bool = False) -> list[str]:
    """Return the words of a command that are neither options nor values of options. `all_valued`: each short one has a value."""
    valued = _OPTIONS.get(program, frozenset())
    found: list[str] = []
    skip = behind = False
    for word in others:
        if skip:
            skip = False
        elif behind or word[:1] != "-" or word == "-":
            found.append(word)
        elif word == "--":
            behind = True
        else:
            skip = word in valued or (all_valued and len(word) == 2)
    return found


def as_written(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command under the usual name of its program: ``pip3.11`` is ``pip``, ``python -m pip`` too."""
    program, *others = words
    program = program.removesuffix(".exe")
    numbered = _NUMBERED.match(program)
    program = numbered[1] if numbered else _PREFIXED.get(program, program)
    if program == "docker-compose":
        return ("docker", "compose", *others)
    return (program, *others)


def inner_command(words: tuple[str, ...], before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield a command, and the commands that it is asked to run: by ``xargs``, ``timeout``, ``find -exec`` and their like.

    Each with what stands before it: a program that only runs another is among these words of the inner one.
    """
    for _ in range(_DEEPEST):
        yield words, before
        inner = _inner(as_written(words))
        assigned = next((n for n, word in enumerate(inner) if not _ASSIGNED.match(word)), len(inner))
        if assigned == len(inner):
            return
        before = (*before, words[0], *inner[:assigned])
        words = tuple(inner[assigned:])
        words = (_UNVERSIONED.sub("", words[0].rpartition("/")[2] or words[0]) or words[0], *words[1:])


def _inner(words: Sequence[str]) -> Sequence[str]:
    program, *others = words
    if program == "find":
        at = next((n for n, word in enumerate(others) if word in ("-exec", "-execdir", "-ok")), None)
        if at is not None:
            end = next((n for n in range(at, len(others)) if others[n] in (";", "+")), len(others))
            return [found_files(others) if word == "{}" else word for word in others[at + 1 : end]]
        return ["rm", found_files(others)] if "-delete" in others else []
    if program == "python" and "-m" in others[:3]:
        return others[others.index("-m") + 1 :]
    if program == "ssh":
        return _on_host(others)
    if program == "docker":
        return _in_container(others)
    if program in _BEHIND_DASHES and "--" in others:
        return others[others.index("--") + 1 :]
    if program == "timeout":
        at = _first_operand(program, others)
        return others[at + 1 :]
    if program not in _RUNNERS:
        return []
    at = _first_operand(program, others)
    if verbs := _RUNNERS[program]:
        if at >= len(others) or others[at] not in verbs:
            return []
        at += 1
        at += _first_operand(program, others[at:])
    return others[at:]


def _on_host(others: Sequence[str]) -> Sequence[str]:
    """Return the first command that is run on another machine."""
    behind = others[_first_operand("ssh", others) + 1 :]
    if len(behind) != 1:
        return behind
    return [word.strip("'\"") for word in re.split(r"[;&|]", behind[0][:2_000])[0].split()]


def _in_container(others: Sequence[str]) -> Sequence[str]:
    """Return what ``docker exec NAME`` or ``docker compose run NAME`` runs."""
    plain = operands_of("docker", others)
    verbs = plain[1:] if plain[:1] == ["compose"] else plain
    if verbs[:1] not in (["exec"], ["run"]):
        return []
    at = list(others).index(verbs[0]) + 1
    return others[at + _first_operand("docker exec", others[at:]) + 1 :]


def found_files(others: Sequence[str]) -> str:
    """Return what ``find`` finds, as one path with ``*``."""
    patterns = [
        value
        for name, value in itertools.pairwise(others)
        if name in ("-path", "-name", "-ipath", "-iname", "-wholename")
    ]
    folder = others[0] if others and others[0][:1] != "-" else "."
    inside = next((one for one in patterns if "/" in one), patterns[0] if patterns else "*")
    return f"{folder.rstrip('/')}/{inside.removeprefix('*/') if '/' in inside else inside}"


def _first_operand(program: str, others: Sequence[str]) -> int:
    valued = _OPTIONS.get(program, frozenset())
    skip = False
    for at, word in enumerate(others):
        if skip:
            skip = False
        elif word[:1] == "-" and word != "--":
            skip = word in valued
        elif word != "--":
            return at
    return len(others)


_GETS = frozenset(
    {"get", "describe", "list", "ls", "show", "view", "status", "logs", "version", "help", "info", "inspect"}
)
SHOWING: Mapping[str, frozenset[str]] = {
    "kubectl": _GETS | {"top", "explain", "diff", "api-resources", "events", "cluster-info", "wait", "auth"},
    "terraform": _GETS | {"plan", "validate", "output", "init", "fmt", "graph", "providers"},
    "docker": _GETS | {"ps", "images", "stats", "port", "top", "diff", "config", "search", "history"},
    "helm": _GETS | {"template", "lint", "search", "history"},
    "gh": _GETS | {"diff", "checks", "search"},
    "npm": _GETS | {"outdated", "audit", "why"},
    "aws": _GETS,
    "gcloud": _GETS | {"config"},
    "az": _GETS,
    "systemctl": _GETS | {"list-units", "is-active", "cat"},
    "pip": _GETS | {"freeze", "check"},
}
"""The words behind a program with which it only shows something."""

_SAME_FLAGS: Mapping[str, Sequence[frozenset[str]]] = {
    "git push": [frozenset({"-f", "--force"}), frozenset({"-d", "--delete"})],
    "git commit": [frozenset({"-n", "--no-verify"}), frozenset({"-a", "--all"})],
    "git add": [frozenset({"-A", "--all"}), frozenset({"-f", "--force"})],
    "git branch": [frozenset({"-d", "--delete", "-D"})],
    "git clean": [frozenset({"-f", "--force"})],
    "docker compose": [frozenset({"-v", "--volumes"})],
    "docker system": [frozenset({"-a", "--all"})],
    "rm": [frozenset({"-r", "-R", "--recursive"}), frozenset({"-f", "--force"})],
    "chmod": [frozenset({"-R", "--recursive"})],
    "cp": [frozenset({"-r", "-R", "--recursive", "-a"})],
    "curl": [frozenset({"-k", "--insecure"})],
    "npm": [
        frozenset({"-g", "--global", "--location=global"}),
        frozenset({"-f", "--force"}),
        frozenset({"-D", "--save-dev"}),
    ],
    "sed": [frozenset({"-i", "--in-place"})],
    "tail": [frozenset({"-f", "--follow", "-F"})],
    "docker": [frozenset({"-f", "--force", "--follow"})],
    "kubectl": [frozenset({"-f", "--follow"}), frozenset({"-A", "--all-namespaces"})],
    "terraform": [frozenset({"-auto-approve", "--auto-approve"})],
    "pytest": [frozenset({"-x", "--exitfirst"})],
}
"""Options that mean the same, by the beginning of the command."""

_LONG = re.compile(r"\A--?[A-Za-z][\w-]+\Z")


def has_flag(words: Sequence[str], flag: str) -> bool:
    """Say whether a command has an option, in any of its spellings: ``-rf`` is ``-r`` and ``-f``."""
    same = _same(words, flag)
    is_forced = list(words[:2]) == ["git", "push"] and flag in ("-f", "--force")
    for word in words[1:]:
        if word == "--":
            return False
        if is_forced and word[:1] == "+":  # a forced reference
            return True
        name = word.partition("=")[0]
        if name in same or word in same:
            return True
        is_cluster = word[:1] == "-" and word[1:2] != "-" and word[1:].isalpha() and len(word) <= 6
        if is_cluster and any(len(one) == 2 and one[1] in word[1:] for one in same):
            return True
        if (
            len(flag) == 2
            and word[:2] == flag
            and (word[2:].isdecimal() or (words[0] in ("sed", "perl") and flag == "-i"))
        ):
            return True
    return False


def _same(words: Sequence[str], flag: str) -> frozenset[str]:
    for start in (" ".join(words[:2]), words[0] if words else ""):
        for names in _SAME_FLAGS.get(start, ()):
            if flag in names:
                return names
    return frozenset({flag})


_INTERPRETERS = SHELLS | words_in(". source python node ts-node tsx deno php ruby perl bun")
_CHECKS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(SHELLS, frozenset({"-n"})), "node": frozenset({"--check", "-c"}), "php": frozenset({"-l"}),
    "ruby": frozenset({"-c"}), "perl": frozenset({"-c"}),
}  # fmt: skip
"""The options with which a program only reads whether a script could be run."""


def only_checks(words: Sequence[str]) -> bool:
    """Say whether a command only checks a script: ``bash -n release.sh``."""
    options = list(itertools.takewhile(lambda word: word[:1] == "-", words[1:]))
    return any(has_flag((words[0], *options), flag) for flag in _CHECKS.get(words[0], ()))


def script_run(words: Sequence[str]) -> str:
    """Return the name of the script that a command runs, without its folder; the program itself, if it runs no other."""
    program, *others = words
    if program not in _INTERPRETERS:
        return program
    operands = operands_of(program, others)
    is_module = program == "python" and "-m" in others[:3]
    return "" if is_module or not operands or only_checks(words) else operands[0].rpartition("/")[2]


TALKERS = words_in(
    """echo printf grep egrep rg ag find fd cat sed awk head tail less ls jq diff wc export which man cd test ["""
)
"""Programs whose words name something without using it."""
