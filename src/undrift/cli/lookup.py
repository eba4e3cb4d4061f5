"""The stores in which a command looks: the home's own, then those of its replays, the newest first.

Law: changes nothing; a store that cannot be read does not hide what another one holds.
"""

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from undrift.cli.place import agents_client, place_here, places_here, takes_all_projects
from undrift.errors import GoneError, InputError, RecallError, StoreError
from undrift.stores.base import Found
from undrift.stores.contract import Store
from undrift.stores.opening import engine_of, open_store
from undrift.stores.projects import FILES, is_shared, places_in
from undrift.values.scope import Scope
from undrift.values.window import Original, Tasks
from undrift.window.originals import original_of

__all__ = [
    "MAKES_MEMORIES",
    "MAKES_OWN",
    "TASK_PREFIX",
    "counted_elsewhere",
    "find",
    "finds_everywhere",
    "first",
    "has_store",
    "homes_of",
    "no_store",
    "original_in",
    "original_or_task",
    "tasks_in",
]

S = TypeVar("S")
T = TypeVar("T")

TASK_PREFIX = "task:"
"""Marks the id of a task, so that it is not read as a reference."""

MAKES_MEMORIES = "`undrift memory remember TEXT`"
MAKES_OWN = f"`undrift wrap CLIENT` or {MAKES_MEMORIES}"
"""The commands that make a store which is no replay's."""

_REF_CHARACTERS = 16
_REFERENCE = re.compile(r"[0-9a-f]{16}", re.ASCII)
_REMEDY = "`undrift replay` shows references, `undrift session tasks` shows tasks, --home DIR names another folder"


def has_store(home: str | os.PathLike[str]) -> bool:
    """Return whether a home folder has a store of its own."""
    return engine_of(home).is_there(home)


def finds_everywhere(text: str) -> bool:
    """Tell whether all projects are looked into: for a reference, which no two texts share, unless an agent asks."""
    return _REFERENCE.fullmatch(text) is not None and not agents_client()


def no_store(homes: Sequence[str], makes: str = "") -> str:
    """Return what an error says if none of the homes has a store: where another one is, else how to make one.

    `makes`: the commands that make a store of the kind that is needed, where a replay's store is of no use.
    """
    remedy = _elsewhere(homes, is_replay_of_use=not makes) or (
        f"{makes or '`undrift replay` or `undrift install claude`'} makes one, --home DIR names another folder"
    )
    return f"there is no store in {' or '.join(homes)}; {remedy}"


def _elsewhere(homes: Sequence[str], *, is_replay_of_use: bool) -> str:
    """Say how to reach another store of the user; empty if there is none."""
    daily = Path.home() / FILES
    if has_store(here := place_here(str(daily))) and str(here.records) not in homes:
        return f"there is one elsewhere: add --home {shlex.quote(str(daily))}"
    near = [Path(home) for home in dict.fromkeys((*homes, *homes_of(None)))]
    if is_replay_of_use:
        near += [folder for home in near for folder in _replays(home / "replays")]
    if other := next((str(folder) for folder in near if has_store(folder) and str(folder) not in homes), None):
        if is_shared(Path(other)):  # this project would be looked for in it again
            return f"an earlier version left records in {other}: `undrift store adopt` makes them this project's"
        return f"there is one elsewhere: add --home {shlex.quote(other)}"
    others = [
        one for one in places_in(Path(homes[0]).parent.parent) if has_store(one) and str(one.records) not in homes
    ]
    if not others:
        return ""
    return f"{_counted(len(others))}: add --project NAME{' or --all-projects' if takes_all_projects() else ''}"


def _counted(number: int) -> str:
    return "another project has records" if number == 1 else f"{number} other projects have records"


def homes_of(given: str | None, *, everywhere: bool = False) -> tuple[str, ...]:
    """Return the folders to look into: this project's records, and those of earlier versions; see `places_here`."""
    return tuple(str(place.records) for place in places_here(given, everywhere=everywhere))


def original_in(store: Store, ref_or_entry: str, session_id: str | None = None) -> Original:
    """Return an original of a store by its reference or its entry's id, of one session or of the newest that has it.

    Raises RecallError: the store has neither.
    """
    if session_id is not None:
        with suppress(RecallError, InputError):
            return original_of(store, session_id, ref_or_entry)
        return store.by_entry(session_id, ref_or_entry)
    try:
        return store.original(ref_or_entry)
    except GoneError:
        raise
    except RecallError:
        if len(ref_or_entry) == _REF_CHARACTERS:
            raise
    for row in store.sessions():
        try:
            return store.by_entry(row.session_id, ref_or_entry)
        except RecallError:
            continue
    raise RecallError(f"there is no original of an entry {ref_or_entry[:64]!r}")


def tasks_in(store: Store, session_id: str | None = None, task_ids: Collection[str] = ()) -> tuple[str, Tasks]:
    """Return the newest session of a store that has all these tasks, and its tasks.

    `task_ids`: empty for any session that has tasks. Raises RecallError: there is no such session.
    """
    for row in store.sessions():
        if session_id is None or row.session_id == session_id:
            tasks = store.tasks(row.session_id)
            if tasks.by_id and all(task_id in tasks.by_id for task_id in task_ids):
                return row.session_id, tasks
    raise RecallError("no session has these tasks")


def original_or_task(
    homes: Sequence[str],
    wanted: str,
    session_id: str | None,
    look: Callable[[Store, Path, Original], T],
    look_task: Callable[[Store, Path, str, str], S],
) -> S | T:
    """Return the original or the task of a reference, an entry's id or a task's id; `TASK_PREFIX` puts the task first.

    Raises RecallError: no store has it; the message names the homes and the remedy. Raises StoreError: a store could
    not be read, and no other one has it.
    """
    missing = f"there is no {wanted[:80]!r}"

    def as_original(store: Store, folder: Path) -> S | T:
        return look(store, folder, original_in(store, wanted, session_id))

    def as_task(store: Store, folder: Path) -> S | T:
        task_id = wanted.removeprefix(TASK_PREFIX)
        try:
            found, _ = tasks_in(store, session_id, (task_id,))
        except RecallError:  # an id may begin like the prefix
            task_id = wanted
            found, _ = tasks_in(store, session_id, (task_id,))
        return look_task(store, folder, found, task_id)

    ways = (as_task, as_original) if wanted.startswith(TASK_PREFIX) else (as_original, as_task)
    try:
        return first(homes, missing, ways[0])
    except StoreError as error:
        try:
            return first(homes, missing, ways[1])
        except StoreError as other:
            is_vague = isinstance(other, RecallError) and not isinstance(other, GoneError)
            raise (error if is_vague else other) from None


def first(homes: Sequence[str], missing: str, look: Callable[[Store, Path], T], *, remedy: str = _REMEDY) -> T:
    """Return the result of `look` in the first store that has what is wanted.

    `missing`: how the message begins if no store has it, such as "there is no task". `look`: takes an open store and
    its folder; raises RecallError if it finds nothing. `remedy`: how the message ends. Raises RecallError: no store has
    it; the message names the homes. Raises StoreError: a store could not be read, and no other one has it.
    """
    unreadable: StoreError | None = None
    destroyed: GoneError | None = None
    for folder in _folders(homes):
        try:
            with open_store(folder, Scope(), create=False) as store:
                return look(store, folder)
        except GoneError as error:
            destroyed = destroyed or error
        except RecallError:
            continue
        except StoreError as error:
            unreadable = unreadable or error
    if unreadable is not None:
        raise unreadable
    if destroyed is not None:
        raise destroyed
    raise RecallError(f"{missing} in {' or '.join(homes)}, or in their replays; {remedy}")


def counted_elsewhere(homes: Sequence[str], folder: Path) -> Iterator[tuple[str, int]]:
    """Yield each home but the one in a folder with the number of its sessions, where it has some and can be read."""
    for home in homes:
        if has_store(home) and Path(home).resolve() != folder.resolve():
            with suppress(StoreError), open_store(home, Scope(), create=False) as store:
                if sessions := len(store.sessions()):
                    yield home, sessions


def find(homes: Sequence[str], words: str, limit: int) -> tuple[Found, ...]:
    """Search every store of the homes; the best of each store first.

    Raises StoreError: a store could not be read, and no other one holds a match.
    """
    found: dict[str, Found] = {}
    unreadable: StoreError | None = None
    for folder in _folders(homes):
        try:
            with open_store(folder, Scope(), create=False) as store:
                for one in store.find(words, limit=limit):
                    found.setdefault(one.ref, one)
        except StoreError as error:
            unreadable = unreadable or error
    if unreadable is not None and not found:
        raise unreadable
    return tuple(sorted(found.values(), key=lambda one: -one.score))[:limit]


def _folders(homes: Sequence[str]) -> Iterator[Path]:
    folders = [folder for home in homes for folder in (Path(home), *_replays(Path(home) / "replays"))]
    with_store = [folder for folder in folders if has_store(folder)]
    if not with_store:
        raise RecallError(no_store(homes))
    yield from with_store


def _replays(folder: Path) -> list[Path]:
    """Return the replays' folders, the newest first; links are not followed, because a replay makes none."""
    try:
        engine = engine_of(folder)
        found = [path for path in folder.iterdir() if not path.is_symlink() and engine.is_there(path)]
        return sorted(found, key=lambda path: (-engine.written_ns(path), path))
    except OSError:  # it is absent, or we may not read it
        return []
