"""Reads the rules of the files that agents are given: those of the project, up to its root, and the person's own.

Law: a file of a project is read only if it lies in the project, links included. A file in the client's own folder is the person's
own, and links in it are followed. All files together are bounded, and nothing in one is followed but its imports, one level.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from undrift.core.rules.crowded import first_of_each
from undrift.core.rules.files import file_rules, imported_paths
from undrift.values.rule import Rule, RuleScope

__all__ = ["FileRules", "MOST_BYTES", "rules_of_files"]

_NAMES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md")
_OWN_NAMES = ("CLAUDE.md", "AGENTS.md")
MOST_BYTES = 256 << 10
"""All files together; agents are given far less."""

_MOST_FOLDERS = 32
_MOST_RULES = 300


@dataclass(frozen=True, slots=True)
class FileRules:
    """The rules of the files, each once. `unread`: the names of the files for which there was no room."""

    rules: tuple[Rule, ...] = ()
    unread: tuple[str, ...] = ()


def rules_of_files(folder: Path | None, root: Path | None, own: Path) -> FileRules:
    """Return the rules of the person's own file, then of the project's files from its root to the folder.

    A file that goes beyond `MOST_BYTES`, with those before it, is not read.

    Args:
        folder: The folder of the work; None: it is not known.
        root: The root of its project.
        own: The client's own folder, such as ``~/.claude``.
    """
    reader = _Reader()
    for path, top, scope in [*_own_files(own), *_project_files(folder, root)]:
        for name in imported_paths(reader.add(path, top, scope)):
            try:
                reader.add(path.parent / Path(name).expanduser(), top, scope)
            except RuntimeError:  # ~USER of a user who does not exist
                continue
    rules = first_of_each(
        tuple(reader.rules.values()), lambda rule: rule.where.rpartition(":")[0], _MOST_RULES, _MOST_RULES
    )
    return FileRules(rules, tuple(dict.fromkeys(reader.unread)))


class _Reader:
    """The files that were read, and the room that is left."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.unread: list[str] = []
        self._left = MOST_BYTES
        self._known: set[Path] = set()

    def add(self, path: Path, top: Path, scope: RuleScope) -> str:
        """Read a file and take its rules; return its text, empty if it is not read."""
        real = _real(path, top, follows=scope == "user")
        if real is None or real in self._known:
            return ""
        self._known.add(real)
        content = _content(real, self._left)
        if content is None:
            return ""
        shown = os.path.relpath(path, top) if scope == "project" else f"{top.name}/{os.path.relpath(path, top)}"
        if len(content) > self._left:
            self.unread.append(shown)
            return ""
        self._left -= len(content)
        text = content.decode("utf-8", "replace")
        for rule in file_rules(text, shown, scope):
            self.rules.setdefault(rule.id, rule)
        return text


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


def _real(path: Path, top: Path, *, follows: bool) -> Path | None:
    """Return the file behind a name below a folder; None if it lies elsewhere. `follows`: a link may lead out of the folder."""
    try:
        real = Path(os.path.realpath(path))
        inside = (
            Path(os.path.normpath(path)).is_relative_to(top) if follows else real.is_relative_to(os.path.realpath(top))
        )
    except (OSError, ValueError):
        return None
    return real if inside else None


def _content(real: Path, most: int) -> bytes | None:
    """Return what a regular file holds, or a byte more than there is room for; None if it is none."""
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
