"""The projects of a home: which project a folder belongs to, and where its records lie.

Law: what a repository says of itself is hostile. It names the project and nothing else: a worktree counts only if its
repository names it too, and no credential of a remote's address is kept.
"""

import configparser
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from undrift.errors import StoreError
from undrift.stores.faults import from_system
from undrift.stores.files import PROJECTS, make_folder, replace_file
from undrift.stores.served import home_path, server_of
from undrift.values.project import Place, Project

__all__ = [
    "FILES",
    "NOTE",
    "USER",
    "files_of",
    "is_shared",
    "keep",
    "place_at",
    "place_for",
    "place_of",
    "places_in",
    "project_of",
    "user_records",
]

_DEFAULT_HOME = "~/.undrift"
NOTE = "project.json"
"""In a project's folder: its root and its remote."""

USER = "user"
"""In a home: the store of what counts in every project."""

FILES = ".undrift"
"""In a repository: the files that its agents read and write. Clients allow them to write nowhere else."""

_STORE = "undrift.db"
_MOST_BYTES = 64 << 10
_SCHEME = re.compile(r"\A[a-z][a-z0-9+.-]{0,20}://", re.IGNORECASE)
_USER_INFO = re.compile(r"\A[^/@]{0,2000}@")


def project_of(folder: Path) -> Project:
    """Return the project of a folder: its git repository, else the folder itself. It needs not exist."""
    start = Path(os.path.realpath(folder))
    own = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home raises without one
    for one in (start, *start.parents):
        if one == own and one != start:
            break  # a repository of all of a person's settings is no project
        if os.path.exists(one / ".git"):  # noqa: PTH110 - it does not raise, where a folder may not be read
            main, config = _main_of(one)
            return Project(str(main), _remote(config), str(one))
    return Project(str(start), "", str(start))


def place_for(given: str | os.PathLike[str] | None, default: str, folder: Path) -> Place:
    """Return the place that a program means; the folder of its records is created if it is a project's.

    Args:
        given: The home that the program names, or a place; None: it names none.
        default: The home by its settings.
        folder: The folder that the program works for.

    Raises:
        StoreError: The folder cannot be created, or the user's home folder is not known.
    """
    if isinstance(given, Place):
        place = given
    else:
        place = place_of(home_path(default if given is None else given), folder)
        if given is not None and place.project is not None and not place.records.exists():
            others = places_in(place.home)
            place = others[0] if len(others) == 1 and not _is_default(place.home) else place
    return keep(place)


def is_shared(home: Path) -> bool:
    """Tell whether a home keeps each project's records apart: the default home does, and any that was made so."""
    return _is_default(home) or os.path.isdir(home / PROJECTS)  # noqa: PTH112 - it does not raise


def _is_new(home: Path) -> bool:
    """Tell whether a home has no records yet, of one project or of several."""
    return not any((home / name).exists() for name in (_STORE, f"{_STORE}-wal", PROJECTS))


def place_of(home: Path, folder: Path, *, shares: bool = False) -> Place:
    """Return the place of a folder's project in a home; nothing is created.

    `shares`: a home without records is to keep each project's apart, as every home does that a command makes.

    A repository that moved keeps its records: its remote tells, if the folder where it was is gone.

    Raises StoreError: the user's home folder is not known.
    """
    if str(home).startswith("~"):
        raise StoreError(f"{home}: your home folder is not known; set HOME, or UNDRIFT_HOME to a folder")
    if not is_shared(home) and not (shares and _is_new(home)):
        return place_at(home)
    home, project = home.absolute(), project_of(folder)
    place = _place(home, _records(home, project), project)
    return keep(place) if server_of(home) is not None else place  # its note names the project on the server


def place_at(records: Path) -> Place:
    """Return the place whose records lie in a folder; a folder without a note is a home of one project."""
    project = _noted(records)
    if project is None:
        return Place(records, records, records)
    records = records.absolute()
    return _place(records.parent.parent, records, project)


def places_in(home: Path) -> tuple[Place, ...]:
    """Return the places of all projects in a home, by name; damaged notes are left out."""
    home = home.absolute()
    return tuple(_place(home, records, project) for records, project in _noted_in(home))


def keep(place: Place) -> Place:
    """Create the folder of a project's records, and note its root; return the place.

    Raises StoreError: the system refuses.
    """
    project = place.project
    if project is None:
        return place
    noted = _noted(place.records)
    if noted is None or (noted.root, noted.remote) != (project.root, project.remote):
        try:
            make_folder(place.records)
            note = {"root": project.root, "remote": project.remote}
            replace_file(place.records / NOTE, json.dumps(note).encode("ascii"))
        except OSError as error:
            raise from_system(error, place.records) from error
    return place


def files_of(place: Place) -> tuple[Path, ...]:
    """Return the folders of the agent's files in the repository and in its worktrees; those of its records are left out."""
    project = place.project
    if project is None:
        return ()
    found = {place.files}
    root = Path(project.root)
    for worktree in (*root.glob(".git/worktrees/*"), *root.glob("worktrees/*")):  # the second ones of a bare repository
        with suppress(OSError, ValueError):
            checkout = project_of(_pointed(worktree, _text(worktree / "gitdir")).parent)
            if checkout.root == project.root:
                found.add(_place(place.home, place.records, checkout).files)
    return tuple(sorted(found - {place.records}))


def user_records(place: Place) -> Path:
    """Return the folder of the records that count in every project of a place's home."""
    return place.records if place.project is None else place.home / USER


def _is_default(home: Path) -> bool:
    return os.path.realpath(home) == os.path.realpath(os.path.expanduser(_DEFAULT_HOME))  # noqa: PTH111 - as above


def _place(home: Path, records: Path, project: Project) -> Place:
    checkout = Path(project.checkout or project.root)
    files = checkout / FILES
    inside = _is_default(home) and os.path.realpath(files) != os.path.realpath(home) and os.access(checkout, os.W_OK)
    return Place(home, records, files if inside else records, project)


def _records(home: Path, project: Project) -> Path:
    """Return the folder of a project's records: under its key, under another one if it moved, else a new one."""
    named = home / PROJECTS / project.key
    known = _noted(named)
    if known is not None and known.root == project.root:
        return named
    if (home / PROJECTS).is_dir():
        for records, other in _noted_in(home):
            if other.root == project.root:
                return records
            if project.remote and other.remote == project.remote and not os.path.lexists(other.root):
                return records
    if known is None:
        return named
    return next(one for number in range(2, 1000) if not (one := named.with_name(f"{named.name}-{number}")).exists())


def _noted_in(home: Path) -> Iterator[tuple[Path, Project]]:
    with suppress(OSError):
        for records in sorted((home / PROJECTS).iterdir()):
            if (project := _noted(records)) is not None:
                yield records, project


def _noted(records: Path) -> Project | None:
    """Return the project that a folder's note names; None if it has none that can be read."""
    try:
        note = json.loads(_text(records / NOTE))
        root, remote = note["root"], note["remote"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_valid = isinstance(root, str) and isinstance(remote, str) and root and "\0" not in root
    return Project(root, remote, root) if is_valid else None


def _main_of(checkout: Path) -> tuple[Path, Path]:
    """Return the root of a checkout's repository, and the file of its settings."""
    own = checkout / ".git"
    with suppress(OSError, ValueError):
        if own.is_file():
            folder = _pointed(checkout, _text(own).removeprefix("gitdir:"))
            if not (folder / "commondir").is_file():  # a submodule: a repository of its own
                return checkout, folder / "config"
            common = _pointed(folder, _text(folder / "commondir"))
            is_its_worktree = (
                folder.parent == common / "worktrees"
            )  # it lies in the repository, which alone writes there
            if is_its_worktree and _pointed(folder, _text(folder / "gitdir")) == own:
                return (common.parent if common.name == ".git" else common), common / "config"
            return checkout, own
    return checkout, own / "config"


def _pointed(folder: Path, text: str) -> Path:
    return Path(os.path.realpath(folder / text.strip()))


def _remote(config: Path) -> str:
    """Return the address of origin without scheme, credentials and ending, or an empty text."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(_text(config))
        given = parser.get('remote "origin"', "url") or ""
    except (OSError, ValueError, configparser.Error):
        return ""
    bare = _SCHEME.sub("", given.strip())
    has_scheme = bare != given.strip()
    bare = _USER_INFO.sub("", bare)
    host, colon, path = bare.partition(":")
    if colon and not has_scheme and "/" not in host:  # host:path, as ssh takes it
        bare = f"{host}/{path}"
    return bare.rstrip("/").removesuffix(".git")[:1000]


def _text(path: Path) -> str:
    if not path.is_file():  # a pipe may have no writer
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
