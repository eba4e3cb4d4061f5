"""Homes on a server: the folder that each has on this machine, and the engine of such a folder.

Law: the folder holds what belongs to this machine: its token, its logs, the agent's files, and a note with the address.
All records are on the server. An address is the owner's secret: the note is readable for the owner alone.
"""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qs, urlsplit

from undrift.errors import StoreError
from undrift.stores.files import PROJECTS, make_folder, replace_file
from undrift.stores.postgres.address import ServerAddress, is_address
from undrift.values.project import file_word
from undrift.values.scope import LOCAL, Scope

if TYPE_CHECKING:
    from undrift.stores.base import Counts
    from undrift.stores.contract import Store
    from undrift.stores.postgres.opening import PostgresEngine

__all__ = ["NOTE", "ServedEngine", "home_path", "scope_on_server", "server_of"]

NOTE = "server.json"
"""The file with the address, in the folder of a home on a server."""
_SERVERS = ".undrift/servers"
_PROJECT_NOTE = "project.json"
_MOST_BYTES = 64 << 10


def home_path(home: str | os.PathLike[str]) -> Path:
    """Return the folder of a home; for an address, its folder on this machine, with the note.

    Raises StoreError: the folder cannot be written, or the user's home folder is not known.
    """
    if not is_address(home):
        return Path(home)
    address = os.fspath(home)
    try:
        folder = Path.home() / _SERVERS / _folder_name(address)
        note_server(folder, address)
    except RuntimeError as error:
        raise StoreError("your home folder is not known; set HOME, or UNDRIFT_HOME to a folder") from error
    except OSError as error:
        from undrift.stores.faults import from_system  # it loads the driver, which a hook does not need

        raise from_system(error, _shown(address)) from error
    return folder


def note_server(folder: Path, address: str) -> None:
    """Let a folder of this machine be that of a home on a server. Raises OSError: the system refuses."""
    if _noted(folder) != address:
        make_folder(folder / PROJECTS)
        replace_file(folder / NOTE, json.dumps({"address": address}).encode("ascii"))


def server_of(folder: str | os.PathLike[str]) -> str | None:
    """Return the address of the home that a folder belongs to. None means: its records are on this machine."""
    place = Path(folder)
    for one in (place, place.parent, place.parent.parent):
        if (address := _noted(one)) is not None:
            return address
    return None


class ServedEngine:
    """`undrift.stores.opening.Engine` of the folder of a home on a server."""

    own_files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, address: str) -> None:
        self._address = address

    def open(
        self, home: str | os.PathLike[str], scope: Scope, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> "Store":
        """Open the records of the folder's project; see `undrift.stores.opening.open_store`."""
        named = scope_on_server(home, scope)
        return _engine().open(self._address, named, create=create, busy_timeout_ms=busy_timeout_ms)

    def is_there(self, home: str | os.PathLike[str]) -> bool:  # noqa: ARG002 - all of its folders have one server
        """Tell whether the server has a store."""
        return _engine().is_there(self._address)

    def written_ns(self, home: str | os.PathLike[str]) -> int:  # noqa: ARG002 - as above
        """Return a number that grows with each write on the server."""
        return _engine().written_ns(self._address)

    def back_up(self, home: str | os.PathLike[str], target: str | os.PathLike[str]) -> "Counts":  # noqa: ARG002 - as above
        """Copy the server's whole schema into one file."""
        return _engine().back_up(self._address, target)

    def restore_backup(self, source: str | os.PathLike[str], home: str | os.PathLike[str]) -> "Counts":  # noqa: ARG002 - as above
        """Put a backup in the place of the server's schema, which is kept under another name."""
        return _engine().restore_backup(source, self._address)


def scope_on_server(home: str | os.PathLike[str], scope: Scope) -> Scope:
    """Return a scope with the name that a folder's project has on its server, unless it or the address names another one."""
    address = server_of(home)
    names_project = address is not None and ServerAddress.parsed(address).owner.project != LOCAL
    return scope if names_project or scope.project != LOCAL else replace(scope, project=_project_of(Path(home)))


def _engine() -> "type[PostgresEngine]":
    """Return the engine. Raises StoreError: the extra is not installed."""
    try:
        from undrift.stores.postgres.opening import PostgresEngine
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("undrift"):
            raise
        from undrift.values.extras import command_for

        raise StoreError(f"a home on a server needs {error.name}: {command_for('postgres')}") from error
    return PostgresEngine


def _project_of(folder: Path) -> str:
    """Return the name of a folder's project on the server: its remote, so that two machines mean the same; else its key."""
    try:
        note = json.loads(_text(folder / _PROJECT_NOTE))
        remote = note.get("remote", "")
        return remote if isinstance(remote, str) and remote else folder.name
    except (OSError, ValueError, AttributeError):
        return LOCAL if _noted(folder) is not None else folder.name


def _noted(folder: Path) -> str | None:
    try:
        address = json.loads(_text(folder / NOTE))["address"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address if isinstance(address, str) and is_address(address) else None


def _text(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")


def _folder_name(address: str) -> str:
    """Return a file name for an address: its host and database, and a hash of whose records it means."""
    read = ServerAddress.parsed(address)
    parts = urlsplit(read.url, allow_fragments=False)
    try:
        place = (parts.hostname, parts.port)
    except ValueError:  # several servers, each with its port
        place = (parts.netloc.rpartition("@")[2].lower(), None)
    names = (*place, parts.path, parse_qs(parts.query).get("host"), read.schema)
    words = file_word(f"{place[0] or 'local'}{parts.path}")
    means = repr((*names, read.owner.organisation, read.owner.person))
    return f"{words}-{hashlib.sha256(means.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _shown(address: str) -> str:
    """Return the folder of an address for a message."""
    return f"~/{_SERVERS}/{_folder_name(address)}"
