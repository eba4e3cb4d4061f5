"""A settings file on the disk: read, and put in its place in one step. Law: the one module of clients that does I/O.

A file that the user's dotfiles link to is written where the link leads, if that is the user's own regular file.
"""

import contextlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from undrift.errors import InputError
from undrift.values.running import is_running

__all__ = [
    "Memory",
    "forget",
    "missing_folders",
    "mode_of",
    "read",
    "recall",
    "remember",
    "remove",
    "repository_of",
    "sweep",
    "write",
]

_MOST_BYTES = 16 << 20
_MEMORY = "installed.json"
_PROCESS = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Memory:
    """The text that was put into a file, so that it can be taken out to the byte.

    Args:
        made_folders: How many folders above the file were made for it.
        values: The single values that were put in, in order, as JSON.
    """

    pieces: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    made_file: bool = False
    made_folders: int = 0
    values: tuple[Mapping[str, Any], ...] = ()


def read(path: Path) -> str | None:
    """Return the text of a settings file, every byte of it; None if there is none.

    Raises InputError: something else stands in its place, or it is not UTF-8.
    """
    target = _target(path)
    if target is None:
        return None
    content = target.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; repair it first, it was not changed") from error


def mode_of(path: Path) -> int | None:
    """Return the permissions of a settings file; None if there is none. Raises InputError as `read` does."""
    target = _target(path)
    return None if target is None else stat.S_IMODE(target.stat().st_mode)


def repository_of(path: Path) -> Path | None:
    """Return the folder of the repository that holds a file, or the file that it links to. None means: there is none."""
    return next((folder for folder in Path(os.path.realpath(path)).parents if (folder / ".git").exists()), None)


def write(path: Path, text: str, mode: int | None = None) -> None:
    """Put a text in the file's place in one step. An existing file keeps its mode, a new one is for its owner alone.

    `mode`: the permissions to give it instead. Raises InputError: something else stands in its place. Raises OSError: the system refuses; the file is as it was.
    """
    target = _target(path)
    if mode is None:
        mode = 0o600 if target is None else stat.S_IMODE(target.stat().st_mode)
    target = target or path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.undrift-{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(scratch, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(mode)
        scratch.replace(target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def missing_folders(path: Path) -> int:
    """Return how many folders above a file are not there."""
    return sum(not folder.exists() for folder in path.parents)


def remove(path: Path, *, folders: int) -> None:
    """Remove a file that we made, and the folders above it that we made, as far as they are empty."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        for folder in path.parents[: max(0, folders)]:
            folder.rmdir()


def sweep(path: Path) -> None:
    """Remove what `write` left beside a file when it was killed."""
    prefix = f".{path.name}.undrift-"
    with contextlib.suppress(OSError):
        for scratch in path.parent.iterdir():
            if scratch.name.startswith(prefix) and _is_gone(scratch.name.removeprefix(prefix)):
                scratch.unlink(missing_ok=True)


def recall(home: Path, path: Path) -> Memory | None:
    """Return what is remembered of a file, or None."""
    value: Any = _memories(home).get(str(path))
    try:
        values = tuple(dict(one) for one in value.get("values", ()))
        folders = int(value["made_folder"])  # true and false in the files of earlier versions
        return Memory(tuple(value["pieces"]), tuple(value["made"]), value["made_file"], folders, values)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def remember(home: Path, path: Path, memory: Memory) -> None:
    """Keep what was put into a file."""
    record = asdict(memory)
    record["made"] = record.pop("containers")  # the names in the files of earlier versions, which read ours as well
    record["made_folder"] = record.pop("made_folders")
    _keep(home, {**_memories(home), str(path): record})


def forget(home: Path, path: Path) -> None:
    """Drop what is remembered of a file."""
    kept = {name: value for name, value in _memories(home).items() if name != str(path)}
    if kept:
        _keep(home, kept)
    elif (home / _MEMORY).exists():
        (home / _MEMORY).unlink()
        with contextlib.suppress(OSError):  # something was recorded there, and stays
            home.rmdir()


def _memories(home: Path) -> dict[str, Any]:
    try:
        value = json.loads((home / _MEMORY).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _keep(home: Path, memories: Mapping[str, Any]) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write(home / _MEMORY, json.dumps(memories, indent=1) + "\n")


def _is_gone(process: str) -> bool:
    """Return whether a process of this number, as text, has ended; False if the text is no such number."""
    return _PROCESS.fullmatch(process) is not None and is_running(int(process)) is False


def _target(path: Path) -> Path | None:
    """Return the place of the file's content: the target of the user's own link, if it is one; None if it is missing."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise InputError(f"{path.parent}: is not a folder; it was not changed") from error
    target = path
    if stat.S_ISLNK(status.st_mode):
        target = Path(os.path.realpath(path))
        try:
            status = target.lstat()
        except FileNotFoundError as error:
            raise InputError(f"{path}: links to {target}, which is not there; repair the link first") from error
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise InputError(f"{path}: links to a file of another user; it was not changed")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: is not a regular file; it was not changed")
    if status.st_size > _MOST_BYTES:
        raise InputError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB, which no settings are; it was not changed")
    return target


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
