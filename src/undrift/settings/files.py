"""The file `undrift.toml` of a project and of a user: found, read, checked.

Law: a project's file is hostile input, because it can come with a cloned repository. It sets nothing that could open or
leak something (`Setting.is_private`). It is read only up to the root of the repository, and only if it is a small regular
file.
"""

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undrift.errors import SettingsError
from undrift.settings.removed import REMOVED
from undrift.settings.rules import Setting, shown, suggestion

__all__ = ["NAME", "Placed", "from_files", "project_file", "user_file"]

NAME = "undrift.toml"

_MOST_BYTES = 64 << 10
"""The largest file of all settings with comments takes 6 KiB."""

_PATHS = ("home", "models_file")
"""Settings in which a leading ``~`` means the user's own folder: no shell reads a file."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The value of a setting, and the place that sets it: a variable, or ``FILE:LINE``."""

    value: Any
    source: str


def from_files(settings: Sequence[Setting], folder: Path | None, environ: Mapping[str, str]) -> dict[str, Placed]:
    """Return what the files set; the project's wins over the user's.

    `folder`: the working directory; None: there is no project. `environ`: the variables; they name the user's folder of
    settings. Raises SettingsError: a file cannot be read, or a key or value in it is wrong.
    """
    user, project = user_file(environ), None if folder is None else project_file(folder)
    found = {} if user is None or not user.exists() else _read(user, settings)
    if project is not None and project != user:
        found |= _read(project, settings, instead=str(user or f"the user's {NAME}"))
    return found


def project_file(folder: Path) -> Path | None:
    """Return the nearest `undrift.toml` from a folder up to the root of its git repository; None if there is none.

    Outside a repository only the folder itself counts: a file further up can belong to another user.
    """
    above = [folder, *folder.parents]
    root = next((number for number, one in enumerate(above) if (one / ".git").exists()), 0)
    return next((one / NAME for one in above[: root + 1] if os.path.lexists(one / NAME)), None)


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the user's own file, in ``~/.config/undrift/``, ``$XDG_CONFIG_HOME/undrift/`` or ``%APPDATA%\\undrift\\``."""
    given = environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / "undrift" / NAME
    try:
        return Path.home() / ".config" / "undrift" / NAME
    except RuntimeError:  # no home folder is known
        return None


def _read(path: Path, settings: Sequence[Setting], *, instead: str = "") -> dict[str, Placed]:
    """Read a file; `instead` names the place for a private setting, if this file is a project's."""
    import tomllib  # only here: most programs have no such file

    text = _text(path, is_project=bool(instead))
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
    known = {one.name: one for one in settings}
    found: dict[str, Placed] = {}
    for name, value in given.items():
        place = f"{path}:{_line(text, name)}"
        if name not in known:
            raise SettingsError(f"{place}: {_unknown(name, known)}")
        row = known[name]
        if instead and row.is_private:
            raise SettingsError(
                f"{place}: a project's file cannot set {name}, as it can come with a cloned repository. "
                f"Set {row.environment[0]}, or put it into {instead}"
            )
        if instead and row.safe is not None and value not in row.safe:
            raise SettingsError(
                f"{place}: {name} = {shown(value)}: a project's file can only say {', '.join(row.safe)}, as it can come "
                f"with a cloned repository. Set {row.environment[0]}, or put it into {instead}"
            )
        if not row.check(value):
            raise SettingsError(f"{place}: {name} = {shown(value)}: must be {row.rule}")
        is_own = name in _PATHS and value.startswith("~")
        found[name] = Placed(str(Path(value).expanduser()) if is_own else value, place)
    return found


def _text(path: Path, *, is_project: bool) -> str:
    try:
        # A pipe would block, and a link could show parts of another file in an error.
        status = path.lstat() if is_project else path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SettingsError(f"{path}: must be a regular file")
        if status.st_size > _MOST_BYTES:
            raise SettingsError(f"{path}: must have at most {_MOST_BYTES >> 10} KiB, not {status.st_size:,} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: must be UTF-8") from error


def _unknown(name: str, known: Mapping[str, Setting]) -> str:
    if name in REMOVED:
        return f"{name} has no effect: {REMOVED[name]}. Delete the line"
    return f"there is no setting {shown(name)}.{suggestion(name, known, 0.6)} undrift config lists all"


def _line(text: str, name: str) -> int:
    """Return the number of the line that sets a key at the top of the file; 1 if it is written in an unusual way."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if _sets(line, name)), 1)


def _sets(line: str, name: str) -> bool:
    head = line.lstrip(" \t[")
    keys = (name, f'"{name}"', f"'{name}'")
    return any(head.startswith(key) and head[len(key) :].lstrip(" \t")[:1] in ("=", ".", "]") for key in keys)
