"""The take-over of an earlier home of one project into the records of a project, and the way back.

Law: at each moment one whole store has its name. The old file is kept under another name, byte for byte, until its owner
removes it. A take-over that was killed is ended by the next one.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from undrift.errors import InputError, RecallError, StoreError
from undrift.stores import copies, files, holders, newest
from undrift.stores.backup import check_of, counts_of, in_use
from undrift.stores.base import Counts
from undrift.stores.connection import NAME
from undrift.stores.faults import from_system
from undrift.stores.projects import keep
from undrift.values.project import Place

__all__ = ["ADOPTED", "Adoption", "NOTE", "adopt", "adoption_of", "give_back"]

ADOPTED = f"{NAME}.adopted"
"""The old file's name after the take-over."""

NOTE = "adopted.json"
"""In a project's folder: where its records come from."""

_LOGS = ("-wal", "-journal")
_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_ARCHIVES = "archives"


@dataclass(frozen=True, slots=True)
class Adoption:
    """One take-over.

    Args:
        source: The earlier home.
        sha256: The hash of its file, before and after.
        seq: The newest operation in it.
    """

    source: str
    sha256: str
    seq: int


def adoption_of(place: Place) -> Adoption | None:
    """Return the take-over by which a project got its records. None means: there was none."""
    try:
        return Adoption(**json.loads((place.records / NOTE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def adopt(source: Path, place: Place) -> Counts:
    """Make the records of an earlier home those of a project; return their numbers.

    Args:
        source: A folder with a store at its top; no process may use it.
        place: The project; it may have no records yet.

    Raises:
        InputError: It is the same folder, or the project has records.
        RecallError: There is no store.
        StoreBusy: Another process uses the old store.
        StoreError: It is damaged, or the system refuses. Then each store has its name.
    """
    source, store = source.absolute(), place.records / NAME
    if place.project is None or source == place.records:
        raise InputError(f"{source}: the records of this folder are a home of their own; there is nothing to take over")
    known = adoption_of(place)
    is_mine = known is not None and known.source == str(source)
    if not (source / NAME).exists():
        if is_mine and store.exists() and (source / ADOPTED).exists():
            return counts_of(store)  # the last step of a take-over that was killed
        raise RecallError(f"there is no store in {source}; name the folder of an earlier home")
    if store.exists() and not is_mine:
        raise InputError(
            f"{place.records}: this project has records already, and two stores are not mixed. {source} stays readable as "
            f"it is. Its memories: undrift memory export --home {source} --out FILE, then undrift memory import FILE"
        )
    try:
        return _taken_over(source, keep(place))
    except OSError as error:
        raise from_system(error, source) from error
    except apsw.Error as error:
        raise StoreError(f"{source}: {error}; nothing was taken over") from error


def give_back(place: Place) -> tuple[Adoption, Path | None]:
    """Undo a take-over; return it, and where the project's records are kept if something was written since.

    Raises:
        RecallError: These records were not taken over.
        InputError: The old file is not as it was, or another store has its name.
        StoreBusy: Another process uses the records.
        StoreError: The system refuses.
    """
    known = adoption_of(place)
    if known is None:
        raise RecallError(f"the records of {place.records} were not taken over; there is nothing to give back")
    source, store = Path(known.source), place.records / NAME
    old, back = source / ADOPTED, source / NAME
    if back.exists():
        raise InputError(f"{back}: another store has this name; move it away first")
    try:
        if _sha256(old) != known.sha256:
            raise InputError(f"{old}: is not the file that was taken over; nothing was changed")
        kept = _put_aside(store, known) if store.exists() else None
        _rename(old, back)
        (place.records / NOTE).unlink()
        files.sync_folder(place.records)
    except OSError as error:
        raise from_system(error, error.filename or old) from error
    return known, kept


def _taken_over(source: Path, place: Place) -> Counts:
    store, old = place.records / NAME, source / NAME
    with _locked(old) as held:
        known = Adoption(str(source), _sha256(old), newest.held(held))
        files.replace_file(place.records / NOTE, json.dumps(asdict(known)).encode("ascii"))
        copies.copy(held, store, check_of(held))
    newest.forget(place.records)
    _copy_archives(source / _ARCHIVES, place.files / _ARCHIVES)
    _rename(old, source / ADOPTED)
    return counts_of(store)


@contextmanager
def _locked(path: Path) -> Iterator[apsw.Connection]:
    """Open a store that no other process uses, and let none write; not a byte of its files changes.

    Raises StoreBusy: another process uses it.
    """
    for ending in ("", *_LOGS):
        files.check_regular(Path(f"{path}{ending}"))
    if holders.holders(path):
        raise in_use(path)
    with closing(apsw.Connection(str(path), flags=_WRITE)) as found:
        found.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        found.set_busy_timeout(0)
        try:
            found.execute("BEGIN IMMEDIATE")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise in_use(path) from error
        with closing(
            apsw.Connection(str(path), flags=_WRITE)
        ) as reader:  # a copy begins with no transaction of its own
            reader.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            yield reader
        found.execute("ROLLBACK")
    _tidy(path)


def _rename(path: Path, name: Path) -> None:
    """Give a store and its log another name; the log first, so that it is never without the file that it belongs to."""
    for ending in (*_LOGS, ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(Path(f"{name}{ending}"))
    files.sync_folder(path.parent)


def _tidy(path: Path) -> None:
    """Remove what looking at a store has left beside it: locks, and a log without content."""
    Path(f"{path}-shm").unlink(missing_ok=True)
    log = Path(f"{path}-wal")
    with suppress(FileNotFoundError):
        if not log.stat().st_size:
            log.unlink()


def _copy_archives(source: Path, target: Path) -> None:
    """Copy the agent's files; one that is there already stays."""
    if not source.is_dir() or source.is_symlink() or target.is_symlink() or source == target:
        return
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        files.make_folder(there)
        for name in names:
            if not (there / name).exists() and not Path(folder, name).is_symlink():
                shutil.copy2(Path(folder, name), there / name)


def _put_aside(store: Path, known: Adoption) -> Path | None:
    """Remove a store that says nothing more than the old one; keep one that does, and return its path."""
    with _locked(store) as held:
        seq = newest.held(held)
    if seq == known.seq:
        kept = None
        store.unlink()
    else:
        kept = next(
            one for number in range(1, 1000) if not (one := store.with_name(f"{NAME}.given-back-{number}")).exists()
        )
        _rename(store, kept)
    for suffix in ("-wal", "-shm", "-journal"):
        Path(f"{store}{suffix}").unlink(missing_ok=True)
    newest.forget(store.parent)
    return kept


def _sha256(path: Path) -> str:
    """Return the hash of a store's file, and of its log if that has content."""
    digest = hashlib.sha256()
    for ending in ("", *_LOGS):
        with suppress(FileNotFoundError), Path(f"{path}{ending}").open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
