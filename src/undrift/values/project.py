"""A project, and the folders in which its records and its agent's files lie. Pure values."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Place", "Project", "file_word"]

_NAME_CHARACTERS = 40
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A repository, or a folder outside of one.

    Args:
        root: The absolute path of the repository's main working folder. Its worktrees belong to the same project.
        remote: The address of ``origin`` without scheme and credentials; empty if there is none.
        checkout: The folder that the client works in: the root, or the root of a worktree.
    """

    root: str
    remote: str = ""
    checkout: str = ""

    @property
    def name(self) -> str:
        """The last part of the root, for people."""
        return os.path.basename(self.root.rstrip("/\\")) or self.root  # noqa: PTH119 - of any system

    @property
    def key(self) -> str:
        """A file name for the project: its name and a hash of its root."""
        return f"{file_word(self.name) or 'project'}-{hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one project in one home. As a path it is the folder of its records.

    Args:
        home: The home: it has the token, the log and the records of all its projects.
        records: The folder of this project's store.
        files: The folder of the files that an agent reads and writes itself: notes, and logs for grep.
        project: None: the home keeps the records of one project, in its own folder.
    """

    home: Path
    records: Path
    files: Path
    project: Project | None = None

    def __fspath__(self) -> str:
        return str(self.records)


def file_word(name: str) -> str:
    """Return a name as a part of a file name: at most 40 small letters, digits and hyphens; empty if it has none of them."""
    return _NOT_A_NAME.sub("-", name.casefold())[:_NAME_CHARACTERS].strip("-")
