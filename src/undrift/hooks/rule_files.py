"""Reads the rules of the files that agents are given: those of the project, up to its root, and the person's own.

Law: a file is read only if it lies in the project or in the client's own folder, links included; it is bounded, and nothing in
it is followed but its imports, one level.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from undrift.core.rules.files import file_rules, imported_paths
from undrift.values.rule import Rule, RuleScope

__all__ = ["rules_of_files"]

_NAMES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md")
_OWN_NAMES = ("CLAUDE.md", "AGENTS.md")
_MOST_BYTES = 1 << 20
_MOST_FOLDERS = 32
_MOST_RULES = 300


def rules_of_files(folder: Path | None, root: Path | None, own: Path) -> tuple[Rule, ...]:
    """Return the rules of the person's own file, then of the project's files from its root to the folder; each once.

    Args:
        folder: The folder of the work; None: it is not known.
        root: The root of its project.
        own: The client's own folder, such as ``~/.claude``.
    """
    found: dict[str, Rule] = {}
    for path, top, scope in [*_own_files(own), *_project_files(folder, root)]:
        text = _text(path, top)
        if not text:
            continue
        files = [(path, text)]
        for name in imported_paths(text):
            try:
                inner = path.parent / Path(name).expanduser()
            except RuntimeError:  # ~USER of a user who does not exist
                continue
            files.append((inner, _text(inner, top)))
        for one, words in files:
            shown = os.path.relpath(one, top) if scope == "project" else f"{own.name}/{os.path.relpath(one, own)}"
            for rule in file_rules(words, shown, scope):
                found.setdefault(rule.id, rule)
    return tuple(found.values())[:_MOST_RULES]


def _own_files(own: Path) -> Iterator[tuple[Path, Path, RuleScope]]:
    for name in _OWN_NAMES:
        yield own / name, own, "user"


def _project_files(folder: Path | None, root: Path | None) -> Iterator[tuple[Path, Path, RuleScope]]:
    if folder is None or root is None:
        return
    folder, root = Path(os.path.realpath(folder)), Path(os.path.realpath(root))
    if not folder.is_relative_to(root):
        return
    steps = [folder, *folder.parents][:_MOST_FOLDERS]
    for one in reversed([step for step in steps if step.is_relative_to(root)]):
        for name in _NAMES:
            yield one / name, root, "project"


def _text(path: Path, top: Path) -> str:
    """Return the text of a regular file below a folder; empty if it is none, or lies elsewhere."""
    try:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(top)):
            return ""
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
