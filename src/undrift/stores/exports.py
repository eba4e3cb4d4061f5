"""The exported files of a session for people and their tools: logs of tasks, and the agent's scratchpad.

Law: a log is derived and can be rewritten from the store; the scratchpad is the agent's own file. The home folder is
trusted with its links. Below it every folder and file is opened one by one without following a link, for its owner
alone. Texts come masked by the caller; nothing is masked here.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from undrift.errors import InputError, StoreBusy, StoreError
from undrift.stores.faults import from_system
from undrift.stores.files import make_folder, safe_name
from undrift.stores.sections import sections, without_section

__all__ = ["Exports", "LogItem", "Scratchpad", "TaskLog"]

_ARCHIVES = "archives"
_SCRATCHPAD = "active_context.md"
_HEADER = "#undrift"
_FOR_SEARCHES = ".ignore"
_SHOW_ALL = b"# Searches leave out what git ignores. This folder is here to be searched.\n!*\n"
_MOST_READ_BYTES = 4 * 1024 * 1024
_TRIES = 3
if sys.platform == "win32":  # refused there
    _FOLDER = _NOFOLLOW = _NONBLOCK = 0
else:
    _FOLDER, _NOFOLLOW, _NONBLOCK = os.O_DIRECTORY, os.O_NOFOLLOW, os.O_NONBLOCK

_HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
_FORGED = re.compile(rf"^(?=\\*+{_HEADER})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LogItem:
    """One evicted entry: its reference, its type, and its masked text as stored."""

    ref: str
    kind: str
    text: str
    tool_name: str = ""


@dataclass(frozen=True, slots=True)
class TaskLog:
    """The entries that one completion of a task evicted, in order; `archived_at_ms` in Unix milliseconds."""

    task_id: str
    summary: str
    archived_at_ms: int
    items: Sequence[LogItem]


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """The agent's notes.

    Args:
        text: All notes; if they are larger than 4 MiB, their end.
        size_bytes: Their size on disk.
        limit_bytes: The most bytes of them in a window.
        warning: A sentence if they are larger than the limit; else empty.
    """

    text: str
    size_bytes: int
    limit_bytes: int
    warning: str = ""

    @property
    def window_text(self) -> str:
        """The text that a window shows: the notes, or only their end if they are too long."""
        data = self.text.encode("utf-8")
        if len(data) <= self.limit_bytes:
            return self.text
        kept = data[len(data) - self.limit_bytes :].decode("utf-8", "ignore")
        return kept[kept.find("\n") + 1 :]


class Exports:
    """The files in the folder ``archives`` of a home. Raises InputError: the limit is out of range.

    Args:
        home: The folder; created at the first write.
        scratchpad_limit_bytes: A larger scratchpad gives a warning and is cut for the window; at least 1.
        is_hostile: The folder can come with a repository: it must not be a link either.
    """

    def __init__(self, home: Path, *, scratchpad_limit_bytes: int, is_hostile: bool = False) -> None:
        if scratchpad_limit_bytes < 1:
            raise InputError(f"the limit of a scratchpad must be at least 1 byte, not {scratchpad_limit_bytes}")
        self._home = home
        self._limit_bytes = scratchpad_limit_bytes
        self._is_hostile = is_hostile

    def log_path(self, session_id: str, task_id: str) -> Path:
        """Return the path of a task's log, written or not: ``<home>/archives/<session>/<task>.log``."""
        return self._folder(session_id) / _log_name(task_id)

    def scratchpad_path(self, session_id: str) -> Path:
        """Return the path of a session's scratchpad: ``<home>/archives/<session>/active_context.md``."""
        return self._folder(session_id) / _SCRATCHPAD

    def write_log(self, session_id: str, task_id: str, logs: Sequence[TaskLog]) -> Path:
        """Rewrite a task's log from all its completions, oldest first, in one step; return the path.

        Raises InputError: a completion of another task. Raises StoreError: the former log, if any, is unchanged.
        """
        if any(log.task_id != task_id for log in logs):
            raise InputError(f"the log of task {task_id!r} takes completions of that task only")
        path = self.log_path(session_id, task_id)
        with self._opened(session_id, path, make=True) as folder:
            _replace(folder, path.name, "".join(map(_as_text, logs)).encode("utf-8"))
        return path

    def delete(self, session_id: str, task_ids: Collection[str] | None = None) -> int:
        """Delete the logs of tasks, or all files of a session, the scratchpad included; return the number of files.

        Raises StoreError: something else than a file is there, or the system refuses.
        """
        deleted = 0
        with (
            suppress(FileNotFoundError),
            self._opened(session_id, self.scratchpad_path(session_id), make=False) as folder,
        ):
            every = os.listdir(folder) if task_ids is None else []  # noqa: PTH208 - the open folder
            for name in sorted(every) or map(_log_name, task_ids or ()):
                if _status(folder, name) is not None:
                    os.unlink(name, dir_fd=folder)
                    deleted += 1
            os.fsync(folder)
        return deleted

    def start_scratchpad(self, session_id: str) -> bool:
        """Create an empty scratchpad; return False if there is one.

        Raises StoreError: it cannot be created, or something else has its name.
        """
        path = self.scratchpad_path(session_id)
        with self._opened(session_id, path, make=True) as folder:
            if _status(folder, _SCRATCHPAD) is not None:
                return False
            _append(folder, _SCRATCHPAD, b"")
        return True

    def has_scratchpad(self, session_id: str) -> bool:
        """Tell whether something has the name of a session's scratchpad."""
        try:
            os.lstat(self.scratchpad_path(session_id))
        except (OSError, ValueError):
            return False
        return True

    def read_scratchpad(self, session_id: str) -> Scratchpad:
        """Return the notes, empty if there are none; a byte that is not UTF-8 becomes a replacement character.

        Raises StoreError: something else than a file has its name, or the disk fails.
        """
        path = self.scratchpad_path(session_id)
        if _is_empty(path):  # a look costs 5% of opening folder after folder
            return self._scratchpad(b"", 0)
        try:
            with self._opened(session_id, path, make=False) as folder:
                data, size_bytes = _read(folder, _SCRATCHPAD)
        except FileNotFoundError:
            data, size_bytes = b"", 0
        return self._scratchpad(data, size_bytes)

    def write_scratchpad(self, session_id: str, text: str) -> Scratchpad:
        """Replace all notes by a text, in one step. Raises StoreError: the former notes are unchanged."""
        data = text.encode("utf-8", "replace")
        with self._opened(session_id, self.scratchpad_path(session_id), make=True) as folder:
            _replace(folder, _SCRATCHPAD, data)
        return self._scratchpad(data, len(data))

    def append_scratchpad(self, session_id: str, text: str) -> Scratchpad:
        """Add a text after the notes, on a new line; an agent that writes at the same time loses nothing.

        Raises StoreError: the former notes are unchanged.
        """
        data = text.encode("utf-8", "replace")
        with self._opened(session_id, self.scratchpad_path(session_id), make=True) as folder:
            _append(folder, _SCRATCHPAD, data if data.endswith(b"\n") else data + b"\n")
        return self.read_scratchpad(session_id)

    def drop_section(self, session_id: str, title: str) -> Scratchpad:
        """Remove all sections ``## title`` from the notes, up to the next heading of the same or a higher level.

        Raises:
            InputError: There is no such section; the message names the existing ones.
            StoreBusy: The agent wrote each time; nothing was changed.
            StoreError: The notes are larger than 4 MiB, or cannot be written; they are unchanged.
        """
        path = self.scratchpad_path(session_id)
        if not self.read_scratchpad(session_id).text:
            raise InputError(f"the scratchpad has no section {title!r}; there are: none")
        with self._opened(session_id, path, make=True) as folder:
            for _ in range(_TRIES):
                before, size_bytes = _read(folder, _SCRATCHPAD) if _status(folder, _SCRATCHPAD) else (b"", 0)
                if size_bytes > len(before):
                    raise StoreError(f"{path}: {size_bytes:,} bytes are too many to groom; shorten the file by hand")
                text = before.decode("utf-8", "surrogateescape")
                after = without_section(text, title).encode("utf-8", "surrogateescape")
                if after == before:
                    known = ", ".join(repr(found) for found in sections(text)[:20]) or "none"
                    raise InputError(f"the scratchpad has no section {title!r}; there are: {known}")
                if _replace(folder, _SCRATCHPAD, after, expected=before):
                    return self._scratchpad(after, len(after))
        raise StoreBusy(f"{path}: it was written to meanwhile; try again")

    def _folder(self, session_id: str) -> Path:
        return self._home / _ARCHIVES / safe_name(session_id)

    def _scratchpad(self, data: bytes, size_bytes: int) -> Scratchpad:
        text, limit = data.decode("utf-8", "replace"), self._limit_bytes
        if size_bytes <= limit:
            return Scratchpad(text, size_bytes, limit)
        warning = (
            f"{_SCRATCHPAD} has {size_bytes:,} bytes, {limit:,} go into the window (its end): "
            "drop sections that are no longer needed"
        )
        return Scratchpad(text, size_bytes, limit, warning)

    @contextmanager
    def _opened(self, session_id: str, path: Path, *, make: bool) -> Iterator[int]:
        """Open the session's folder step by step. Raises FileNotFoundError: it is absent and `make` is False."""
        if os.open not in os.supports_dir_fd:
            refused = StoreError(f"{path}: this system cannot open a file below a folder safely; nothing is exported")
            raise refused if make else FileNotFoundError(path)  # so there is nothing of ours to read
        descriptors: list[int] = []
        try:
            if make:
                make_folder(self._home)
            descriptors.append(os.open(self._home, os.O_RDONLY | _FOLDER | (_NOFOLLOW if self._is_hostile else 0)))
            for name in (_ARCHIVES, safe_name(session_id)):
                descriptors.append(_subfolder(descriptors[-1], name, make=make))
            if make:
                _let_search(descriptors[-2])
            yield descriptors[-1]
        except FileNotFoundError as error:
            if make:
                raise from_system(error, path) from error
            raise
        except (OSError, ValueError) as error:  # ValueError: the home is no path
            raise from_system(error, path) from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _as_text(log: TaskLog) -> str:
    """Return a task's log as text for grep: lines that begin with ``#undrift`` are only our own."""
    at = (
        datetime.fromtimestamp(log.archived_at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
    lines = [f"{_HEADER} task: {_on_line(log.task_id)} | archived_at: {at} | items: {len(log.items)}"]
    lines += [f"{_HEADER} summary:", _shown(log.summary)]
    for number, item in enumerate(log.items, 1):
        shown = _shown(item.text)
        digest = hashlib.sha256(item.text.encode("utf-8", "surrogatepass")).hexdigest()
        exact = "" if shown == item.text else " | shown with escapes, undrift recall gives the exact text"
        tool = f" | tool: {_on_line(item.tool_name)}" if item.tool_name else ""
        lines.append(
            f"{_HEADER} item {number} | ref: {_on_line(item.ref)} | kind: {_on_line(item.kind)}{tool} | "
            f"sha256: {digest} | characters: {len(item.text)}{exact}"
        )
        lines.append(shown)
    return "\n".join([*lines, f"{_HEADER} end\n\n"])


def _shown(text: str) -> str:
    """Return a text without binary data, terminal commands, and lines that look like our headers."""
    text = text.replace("\r\n", "\n") if "\r" in text else text
    text = _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)
    return _FORGED.sub(r"\\", text) if _HEADER in text else text


def _on_line(value: str) -> str:
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value[:200])
    return text.replace("|", "/")


def _log_name(task_id: str) -> str:
    return f"{safe_name(task_id)}.log"


def _subfolder(parent: int, name: str, *, make: bool) -> int:
    if make:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            os.fsync(parent)
        except FileExistsError:
            pass
    return os.open(name, os.O_RDONLY | _FOLDER | _NOFOLLOW, dir_fd=parent)


def _let_search(folder: int) -> None:
    """Let ripgrep, by which agents search, look into a folder that git ignores; a failure is ignored."""
    with suppress(OSError), open(_open(folder, _FOR_SEARCHES, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(_SHOW_ALL)


def _status(folder: int, name: str) -> os.stat_result | None:
    """Return the status of a regular file. None means: the name is free."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check(status, name)
    return status


def _check(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
        raise OSError(errno.ELOOP, "it is a link to another place", name)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", name)


def _open(folder: int, name: str, flags: int) -> int:
    descriptor = os.open(name, flags | _NOFOLLOW | _NONBLOCK, 0o600, dir_fd=folder)
    try:
        _check(os.fstat(descriptor), name)  # it may have been changed since the look before
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _read(folder: int, name: str) -> tuple[bytes, int]:
    """Return the last 4 MiB of a file at most, and the size of the whole file."""
    if _status(folder, name) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    with open(_open(folder, name, os.O_RDONLY), "rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        file.seek(max(0, size_bytes - _MOST_READ_BYTES))
        return file.read(_MOST_READ_BYTES), size_bytes


def _is_empty(path: Path) -> bool:
    """Tell whether a file is surely empty."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _append(folder: int, name: str, data: bytes) -> None:
    """Append to a file on a new line, durably; the file is created if absent."""
    new = _status(folder, name) is None
    with open(_open(folder, name, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", buffering=0) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, size_bytes - 1))
        torn = bool(data) and size_bytes > 0 and file.read(1) != b"\n"
        _write(file.fileno(), b"\n" + data if torn else data)  # one write, unless the system takes less
        os.fsync(file.fileno())
    if new:
        os.fsync(folder)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _replace(folder: int, name: str, data: bytes, *, expected: bytes | None = None) -> bool:
    """Replace a file in one step; change nothing and return False if its content is not `expected`."""
    _status(folder, name)
    scratch = f".{secrets.token_hex(8)}.tmp"
    descriptor = _open(folder, scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if expected is not None and (_read(folder, name)[0] if _status(folder, name) else b"") != expected:
            os.unlink(scratch, dir_fd=folder)
            return False
        os.replace(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(scratch, dir_fd=folder)
        raise
    os.fsync(folder)
    return True
