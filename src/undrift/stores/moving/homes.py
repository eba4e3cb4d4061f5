"""The homes between which a move goes: which folders belong together, and how each is opened.

Law: a folder with a server's note means that server; any other one has its own file. Nothing is made before it is needed.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from undrift.errors import StoreError
from undrift.stores.files import PROJECTS
from undrift.stores.moving.logs import Blank
from undrift.stores.moving.move import Move, Tell, move
from undrift.stores.moving.values import Source, Target
from undrift.stores.projects import USER, keep, places_in
from undrift.stores.served import scope_on_server, server_of
from undrift.values.project import Place
from undrift.values.scope import Scope

if TYPE_CHECKING:
    from undrift.stores.moving.sync import Synced
    from undrift.stores.postgres.log import Home

__all__ = [
    "Pair",
    "move_pair",
    "opened_source",
    "opened_target",
    "pairs_between",
    "sha256_of",
    "sync_pair",
]

_BUSY_MS = 5_000


@dataclass(frozen=True, slots=True)
class Pair:
    """The records of one project in two homes.

    Args:
        name: The project's name, for people.
        source: Where they are.
        target: Where they go.
    """

    name: str
    source: Path
    target: Place


def pairs_between(places: Sequence[Place], target: Path) -> list[Pair]:
    """Return where the records of places go in another home; nothing is made."""
    return [Pair(_name_of(one), one.records, _place_in(target, one)) for one in places]


def move_pair(pair: Pair, tell: Tell = lambda *_: None) -> Move | None:
    """Move the records of one project. None means: there are none, and nothing was made.

    Raises:
        StoreError: There are no records, or one of the homes cannot be opened.
        StoreBusy: Another process keeps one of the homes locked.
    """
    with opened_source(pair.source) as source:
        if not source.heads():
            return None
        keep(pair.target)  # before it is opened: its note names the project on the server
        with opened_target(pair.target.records) as target:
            has_own_file = server_of(pair.source) is None
            return move(source, target, pair.source if has_own_file else None, tell)


def sync_pair(pair: Pair, machine: str, blank: Blank, *, at_ms: int, tell: Tell = lambda *_: None) -> "Synced":
    """Sync the records of one project with those on a server; see `undrift.stores.moving.sync.sync`.

    Raises StoreError: the server is away, or one of the homes cannot be opened.
    """
    keep(pair.target)  # before anything is opened: its note names the project on the server
    with _on_server(pair.target.records, create=True) as home:
        from undrift.stores.moving.sync import sync

        return sync(pair.source, home, machine, blank, at_ms=at_ms, tell=tell)


@contextmanager
def opened_source(folder: Path) -> Iterator[Source]:
    """Open the records of a folder, to be read."""
    if server_of(folder) is not None:
        from undrift.stores.moving.reading_server import ServerSource

        with _on_server(folder, create=False) as home:
            yield ServerSource(home)
        return
    from undrift.stores.moving.reading_file import FileSource

    with closing(FileSource.open(folder)) as source:
        yield source


@contextmanager
def opened_target(folder: Path) -> Iterator[Target]:
    """Open the records of a folder, to be written; a file is made if there is none."""
    if server_of(folder) is not None:
        from undrift.stores.moving.writing_server import ServerTarget

        with _on_server(folder, create=True) as home:
            yield ServerTarget(home)
        return
    from undrift.stores.moving.writing_file import FileTarget

    with closing(FileTarget.open(folder)) as target:
        yield target


def sha256_of(parts: Sequence[tuple[str, str]]) -> str:
    """Return one SHA-256 over those of several projects, each with its name."""
    return hashlib.sha256("\n".join(f"{name} {sha256}" for name, sha256 in sorted(parts)).encode()).hexdigest()


@contextmanager
def _on_server(folder: Path, *, create: bool) -> Iterator["Home"]:
    """Open the scope that a folder means. Raises StoreError: the extra is missing, or the server is away."""
    address_text = server_of(folder)
    assert address_text is not None
    try:
        from undrift.stores.postgres.address import ServerAddress
        from undrift.stores.postgres.opening import opened_home
    except ImportError as error:
        from undrift.values.extras import command_for

        raise StoreError(f"a home on a server needs {error.name}: {command_for('postgres')}") from error
    address = ServerAddress.parsed(address_text)
    owner = address.of(scope_on_server(folder, Scope())).of("")
    home = opened_home(address, owner, create=create, busy_timeout_ms=_BUSY_MS)
    try:
        yield home
    finally:
        home.server.close()


def _name_of(place: Place) -> str:
    return place.records.name if place.project is None else place.project.name


def _place_in(target: Path, place: Place) -> Place:
    """Return the place of the same project in another home."""
    if place.project is None:
        records = target / USER if place.records.name == USER and place.records != place.home else target
        return Place(target, records, records)
    known = [one for one in places_in(target) if one.project is not None]
    same = [one for one in known if one.project is not None and one.project.root == place.project.root]
    if same:
        return same[0]
    taken = {one.records.name for one in known}
    names = (place.records.name, *(f"{place.records.name}-{number}" for number in range(2, 1_000)))
    records = target / PROJECTS / next(one for one in names if one not in taken)
    return Place(target, records, records, place.project)
