"""The folder that a process works for, which tells its project."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["existing_folder", "folder_of", "named_folder"]

_CLIENTS_FOLDER = "CLAUDE_PROJECT_DIR"
"""Claude Code sets it for hooks and MCP servers."""


def existing_folder(path: str) -> Path | None:
    """Return the folder that a client's text names, if it is an absolute path and the folder is there."""
    folder = Path(path)
    try:
        return folder if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return None


def named_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder that the client names which started the process. None means: it names none that is there."""
    return existing_folder(environ.get(_CLIENTS_FOLDER, ""))


def folder_of(environ: Mapping[str, str]) -> Path:
    """Return the folder that the process works for: the one that its client names, else the current folder."""
    if (named := named_folder(environ)) is not None:
        return named
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return Path(os.path.expanduser("~"))  # noqa: PTH111 - it does not raise
