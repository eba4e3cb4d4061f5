"""The files of Claude's memory tool, as the commands of the tool read and change them.

Law: there is no file system: a path is a list of names, so nothing outside can be reached. The answers are
those of the package's own tool for local files; an error of the system is a ToolError here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from anthropic.lib.tools import ToolError

from undrift.core.text.secrets import mask
from undrift.errors import UndriftError
from undrift.integrations.documents import DocumentChange, DocumentReading, Documents
from undrift.stores.base import Document
from undrift.stores.base import DocumentPath as Names

__all__ = ["MemoryFiles"]

_KIND = "memory-file"
_ROOT = "/memories"
_MOST_LINES = 999_999
_WIDTH = 6
_LONGEST_NAME = 255  # bytes, as file systems have it
_LONGEST_PATH = 4_096
_FOLDER_BYTES = 4_096  # what a small folder takes on ext4
_SHOWN_LEVELS = 2


class MemoryFiles:
    """The files of one memory, as the tool's commands read and change them.

    `documents`: where they are kept; not closed here. `session_id`: whose memory; several agents may share one.
    """

    def __init__(self, documents: Documents, session_id: str) -> None:
        self._documents = documents
        self._session_id = session_id

    def view(self, path: str, view_range: Any = None) -> str:
        """Return a file's lines with their numbers, or what is in a folder, two levels deep."""
        where = _resolved(path)
        with _readable_errors(), self._documents.reading(self._session_id) as files:
            found = _find(files, where)
            if found is None:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            if not _is_folder(found):
                return _numbered(path, _text(found), view_range)
            inside = {one.path: one for one in files.under(_KIND, where, with_content=False) if one.path != where}
        return _listed(path, where, inside)

    def create(self, path: str, text: str) -> str:
        """Write a new file; folders on the way to it are made."""
        where, data = _resolved(path), self._data(text)

        def act(files: DocumentChange) -> str | ToolError:
            _make_folders(files, where[:-1])
            if _find(files, where) is not None:
                return ToolError(f"File {path} already exists")
            _write(files, where, data)
            return f"File created successfully at: {path}"

        return self._change("create", act)

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands in a file exactly once."""
        where = _resolved(path)

        def act(files: DocumentChange) -> str | ToolError:
            content = _text(_file(files, where, path))
            count = content.count(old)
            if count == 0:
                raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if count > 1:
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(map(str, _lines_with(content, old)))}. Please ensure it is unique"
                )
            at = content[: content.find(old)].count("\n")
            data = self._data(content.replace(old, new))
            _write(files, where, data)
            return _edited(data.decode().split("\n"), at)

        return self._change("str_replace", act)

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert a text behind a line of a file; 0 is the beginning."""
        where = _resolved(path)

        def act(files: DocumentChange) -> str | ToolError:
            lines = _text(_file(files, where, path)).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            content = "\n".join([*lines[:line], text.rstrip("\n"), *lines[line:]])
            _write(files, where, self._data(content if content.endswith("\n") else f"{content}\n"))
            return f"The file {path} has been edited."

        return self._change("insert", act)

    def delete(self, path: str) -> str:
        """Take a file away, or a folder with all that is in it; earlier versions stay on disk."""
        where = _resolved(path)
        if not where:
            raise ToolError("Cannot delete the /memories directory itself")

        def act(files: DocumentChange) -> str | ToolError:
            found = _find(files, where)
            if found is None:
                raise ToolError(f"The path {path} does not exist")
            files.close(files.under(_KIND, where))
            return f"Successfully deleted {path}"

        return self._change("delete", act)

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all that is in it."""
        old, new = _resolved(old_path), _resolved(new_path)
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")

        def act(files: DocumentChange) -> str | ToolError:
            if _find(files, new) is not None:
                raise ToolError(f"The destination {new_path} already exists")
            blocked = _is_file(files, new[:-1])
            _make_folders(files, new[:-2] if blocked else new[:-1])
            if new != old and new[: len(old)] == old:
                return ToolError(f"Cannot move {old_path} into itself")
            moved = files.under(_KIND, old)
            if _find(files, old) is None:
                return ToolError(f"The path {old_path} does not exist")
            if blocked:
                return ToolError(f"{new_path} cannot be made: what it is in is a file")
            files.close(moved)
            for one in moved:
                files.put(_KIND, Document((*new, *one.path[len(old) :]), one.record, one.content))
            return f"Successfully renamed {old_path} to {new_path}"

        return self._change("rename", act)

    def clear(self) -> str:
        """Take all files away; earlier versions stay on disk."""

        def act(files: DocumentChange) -> str | ToolError:
            files.close(files.under(_KIND))
            return "All memory cleared"

        return self._change("clear", act)

    def _change(self, about: str, act: Callable[[DocumentChange], str | ToolError]) -> str:
        """Carry out a command. An error that is returned, not raised, leaves the folders that were made, as the SDK's does."""
        with _readable_errors():
            done = self._documents.change(self._session_id, act, about=f"memory tool: {about}")
        if isinstance(done, ToolError):
            raise done
        return done

    def _data(self, text: str) -> bytes:
        kept = mask(text).text if self._documents.settings.mask_secrets else text
        try:
            return kept.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"The text cannot be stored: {error.reason} at character {error.start}") from error


# ------------------------------------------------------------------------------------------------------------ the paths


def _resolved(path: str) -> Names:
    """Return the names on a path, from the memory's own folder on."""
    if not path.startswith(_ROOT):
        raise ToolError(f"Path must start with {_ROOT}, got: {path}")
    names = [_ROOT[1:]]
    for name in path[len(_ROOT) :].split("/"):
        if name == ".." and not names:
            break  # above everything that there could be; what follows does not lead back
        if name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(_name(name))
    if names[:1] != [_ROOT[1:]]:
        raise ToolError(f"Path {path} would escape {_ROOT} directory")
    if sum(len(name) + 1 for name in names) > _LONGEST_PATH:
        raise ToolError(f"The path is longer than {_LONGEST_PATH:,} characters. Please provide a valid path.")
    return tuple(names[1:])


def _name(name: str) -> str:
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise ToolError("The path holds half a character (a lone surrogate). Please provide a valid path.") from None
    if any(character < " " or character == "\x7f" for character in name):
        raise ToolError("The path holds a control character. Please provide a valid path.")
    if length > _LONGEST_NAME:
        raise ToolError(f"A name on the path is longer than {_LONGEST_NAME} bytes. Please provide a valid path.")
    return name


# ------------------------------------------------------------------------------------------------------------ the files


def _find(files: DocumentReading, where: Names) -> Document | None:
    return files.find(_KIND, where) if where else Document((), {"is_folder": True})


def _is_folder(document: Document) -> bool:
    return bool(document.record["is_folder"])


def _is_file(files: DocumentReading, where: Names) -> bool:
    found = _find(files, where)
    return found is not None and not _is_folder(found)


def _file(files: DocumentReading, where: Names, path: str) -> Document:
    found = _find(files, where)
    if found is None:
        raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
    if _is_folder(found):
        raise ToolError(f"The path {path} is not a file.")
    return found


def _text(file: Document) -> str:
    return file.content.decode()


def _write(files: DocumentChange, where: Names, data: bytes) -> None:
    files.put(_KIND, Document(where, {"is_folder": False, "bytes": len(data)}, data))


def _make_folders(files: DocumentChange, where: Names) -> None:
    for length in range(1, len(where) + 1):
        if _find(files, where[:length]) is None:
            files.put(_KIND, Document(where[:length], {"is_folder": True}))
        elif _is_file(files, where[:length]):
            raise ToolError(f"{'/'.join((_ROOT, *where[:length]))} is a file, nothing can be put into it")


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn errors of the store into errors that the model reads."""
    try:
        yield
    except UndriftError as error:
        raise ToolError(f"The memory cannot be used now: {error}") from error


# ----------------------------------------------------------------------------------------------------------- the answers


def _numbered(path: str, content: str, view_range: Any) -> str:
    lines = content.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, end = 0, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        end = len(lines) if view_range[1] == -1 else view_range[1]
    shown = _with_numbers(lines[first:end], first)
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(shown)


def _edited(lines: Sequence[str], at: int) -> str:
    first, end = max(0, at - 2), min(len(lines), at + 3)
    shown = _with_numbers(lines[first:end], first)
    return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + "\n".join(
        shown
    )


def _with_numbers(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first + 1)]


def _lines_with(content: str, text: str) -> Iterator[int]:
    """Yield the number of the line in which each occurrence begins, those that overlap included."""
    line, seen, at = 1, 0, content.find(text)
    while at != -1:
        line += content.count("\n", seen, at)
        yield line
        seen, at = at, content.find(text, at + 1)


def _listed(path: str, where: Names, inside: Mapping[Names, Document]) -> str:
    """List a folder: each of its folders before what is in it, nothing whose name begins with a point."""
    depth = len(where)
    lines = [f"{_size(_FOLDER_BYTES)}\t{path}"]
    for names in sorted(inside):
        below = names[depth:]
        if len(below) > _SHOWN_LEVELS or any(name.startswith(".") for name in below):
            continue
        found, shown = inside[names], "/".join((path, *below))
        size = _FOLDER_BYTES if _is_folder(found) else found.record["bytes"]
        lines.append(f"{_size(size)}\t{shown}{'/' if _is_folder(found) else ''}")
    header = f"Here're the files and directories up to {_SHOWN_LEVELS} levels deep in {path}, excluding hidden items:"
    return "\n".join((header, *lines))


def _size(size: int) -> str:
    unit = min(max(0, size.bit_length() - 1) // 10, 3)
    found = size / 1024**unit
    return f"{int(found) if found == int(found) else f'{found:.1f}'}{'BKMG'[unit]}"
