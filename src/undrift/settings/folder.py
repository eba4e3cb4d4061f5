"""The folder that a process works for, which tells its project."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["folder_of", "named_folder"]

_CLIENTS_FOLDER = "CLAUDE_PROJECT_DIR"
"""Claude Code sets it for hooks and MCP servers."""


def named_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder that the client names which started the process. None means: it names none that is there."""
    named = Path(environ.get(_CLIENTS_FOLDER, ""))
    return named if named.is_absolute() and named.is_dir() else None


def folder_of(environ: Mapping[str, str]) -> Path:
    """Return the folder that the process works for: the one that its client names, else the current folder."""
    if (named := named_folder(environ)) is not None:
        return named
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return Path(os.path.expanduser("~"))  # noqa: PTH111 - it does not raise
