"""The sessions that ``undrift status`` is about: those of one project, or of all projects."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from undrift.stores.projects import project_of
from undrift.values.project import Project

__all__ = ["StatusScope", "scope_of"]


@dataclass(frozen=True, slots=True)
class StatusScope:
    """The sessions that are counted.

    Args:
        words: Names the scope in a sentence.
        root_of: A folder -> the root of its project; empty if the folder is not known.
        root: The only project that counts; None for all.
    """

    words: str
    root_of: Callable[[str], str]
    root: str | None = None

    def holds(self, folder: str) -> bool:
        """Tell whether a session that was held in a folder counts."""
        return self.root is None or self.root_of(folder) == self.root


def scope_of(project: Project | None, words: str = "this project") -> StatusScope:
    """Return the scope of a project; None: all projects count."""

    @cache
    def root_of(folder: str) -> str:
        """Look once at each folder; a link and its target are one project. A folder of another system is none here."""
        return project_of(Path(folder)).root if "\0" not in folder and Path(folder).is_absolute() else ""

    if project is None:
        return StatusScope("all your projects", root_of)
    return StatusScope(words, root_of, project.root)
