"""The effects of a git command on branches and on files. Pure, linear in the command."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["GitBranches", "changes_repository", "git_branches", "git_files"]

_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_PUSH_VALUED = frozenset({"-o", "--push-option", "--repo", "--receive-pack", "--exec"})
_SHOWS = frozenset(
    {"blame", "cat-file", "check-ignore", "count-objects", "describe", "diff", "diff-tree", "for-each-ref", "fsck", "grep",
     "help", "log", "ls-files", "ls-remote", "ls-tree", "merge-base", "name-rev", "range-diff", "reflog", "rev-list",
     "rev-parse", "shortlog", "show", "show-ref", "status", "var", "version", "whatchanged", "fetch", "--version"}
)  # fmt: skip
_ONTO = frozenset({"am", "cherry-pick", "commit", "merge", "pull", "rebase", "reset", "revert"})


@dataclass(frozen=True, slots=True)
class GitBranches:
    """The effects of a command on branches. `then`: the branch that is checked out behind it, empty if it is not known."""

    does: frozenset[str]
    branches: tuple[str, ...]
    then: str


def subcommand(others: Sequence[str]) -> tuple[str, list[str]]:
    """Return the verb of a git command and the words behind it."""
    at = 0
    while at < len(others) and others[at][:1] == "-" and others[at] != "--version":
        at += 2 if others[at] in _VALUED else 1
    return (others[at], list(others[at + 1 :])) if at < len(others) else ("", [])


def changes_repository(words: Sequence[str]) -> bool:
    """Say whether a git command changes anything: commits, the index, branches, files."""
    verb, rest = subcommand(words[1:])
    plain = [word for word in rest if word[:1] != "-"]
    if verb in _SHOWS or not verb:
        return False
    if verb in ("branch", "tag"):
        listing = {
            "-l",
            "--list",
            *(("-a", "-r") if verb == "branch" else ()),
            "-v",
            "-vv",
            "--show-current",
            "--contains",
            "--merged",
            "--all",
            "-n",
        }
        return bool(plain or {"-d", "-D", "-m", "-M"} & set(rest)) and not listing & set(rest)
    if verb in ("stash", "worktree", "remote", "bisect", "submodule", "notes"):
        return (plain[:1] or [""])[0] not in ("list", "show", "get-url", "status", "log") and bool(
            plain or verb == "stash"
        )
    if verb == "config":
        return len(plain) > 1 and not {"--get", "--list", "-l"} & set(rest)
    return True


def git_branches(words: Sequence[str], branch: str) -> GitBranches:
    """Return what a command does to branches. `branch`: the one that is checked out."""
    nothing = GitBranches(frozenset(), (), branch)
    if words[0] == "gh" and list(words[1:3]) == ["pr", "merge"]:
        is_with = bool({"--delete-branch", "-d"} & set(words))
        return GitBranches(frozenset({"merge", "unbranch"} if is_with else {"merge"}), ("main", "master"), branch)
    if words[0] == "gh" and list(words[1:3]) == ["pr", "checkout"]:
        return GitBranches(frozenset({"switch"}), ("",), "")
    if words[0] != "git":
        return nothing
    verb, rest = subcommand(words[1:])
    if verb == "subtree" and rest[:1] == ["push"]:
        return GitBranches(frozenset({"push"}), tuple(word for word in rest[-1:]), branch)
    if verb == "push":
        is_gone = {"-d", "--delete"} & set(rest) or any(word[:1] == ":" for word in rest)
        return GitBranches(
            frozenset({"push", "unbranch"} if is_gone else {"push"}), tuple(_pushed(rest, branch)), branch
        )
    if verb in _ONTO:
        is_over = {"--abort", "--quit"} & set(rest)
        plain = [word for word in rest if word[:1] != "-"]
        if verb == "rebase" and len(plain) > (2 if "--onto" in rest else 1):
            branch = plain[-1]
        does = {verb, "rebase"} if verb == "pull" and {"--rebase", "-r"} & set(rest) else {verb}
        return nothing if is_over else GitBranches(frozenset(does), (branch,), branch)
    if verb in ("checkout", "switch"):
        target, is_new = _switched(rest)
        does = {"switch", "branch"} if is_new else {"switch"}
        return GitBranches(frozenset(does), (target,), target) if target else nothing
    if verb == "worktree" and rest[:1] == ["add"]:
        return GitBranches(frozenset({"branch"}), ("",), branch)
    if verb == "branch" and changes_repository(words):
        names = [word for word in rest if word[:1] != "-"][:1]
        is_gone = bool({"-d", "-D", "--delete"} & set(rest))
        return GitBranches(frozenset({"unbranch" if is_gone else "branch"}), tuple(names or [branch]), branch)
    return nothing


def _pushed(rest: Sequence[str], branch: str) -> list[str]:
    plain: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word[:1] == "-":
            skip = word in _PUSH_VALUED
        else:
            plain.append(word)
    if {"--all", "--mirror"} & set(rest):
        return ["*"]
    targets = [_named(word.removeprefix("+").rpartition(":")[2], branch) for word in plain[1:]]
    return [target for target in targets if target] or [branch]


def _named(name: str, branch: str) -> str:
    name = name.removeprefix("refs/heads/")
    return branch if name in ("HEAD", "@") else name


def _switched(rest: Sequence[str]) -> tuple[str, bool]:
    """Return the branch that is checked out, and whether it is new; empty if files are restored."""
    new = next((n for n, word in enumerate(rest) if word in ("-b", "-B", "-c", "-C", "--create", "--orphan")), None)
    if new is not None:
        return (rest[new + 1] if new + 1 < len(rest) else ""), True
    plain = [word for word in rest if word[:1] != "-" or word == "-"]
    is_of_files = "--" in rest or len(plain) != 1 or plain[0] == "." or "--detach" in rest
    return ("" if is_of_files else plain[0].removeprefix("origin/")), False


def git_files(others: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return what a git command does to which files of the working folder; nothing if it does not name them."""
    verb, rest = subcommand(others)
    plain = [word for word in rest if word[:1] != "-"]
    behind = list(rest[rest.index("--") + 1 :]) if "--" in rest else []
    if verb == "rm":
        return ({"change", "delete"}, plain) if "--cached" not in rest else (set(), [])
    if verb == "mv":
        return {"change", "moved", "create"}, plain
    if verb == "restore":
        is_staged = "--staged" in rest and "--worktree" not in rest
        return (set(), []) if is_staged else ({"change", "revert"}, behind or plain)
    if verb == "checkout" and (behind or (len(plain) > 1 and "-b" not in rest) or plain == ["."]):
        return {"change", "revert"}, behind or plain[len(plain) > 1 :]
    if verb == "add":
        return {"add"}, plain
    if verb == "commit" and behind:
        return {"add"}, behind
    return set(), []
