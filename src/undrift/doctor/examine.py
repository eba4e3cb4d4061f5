"""All checks, in the order of the report. Law: changes no record, and a fault is a finding."""

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.doctor.gateway import gateway
from undrift.doctor.hooks import are_installed, failed_calls, hooks, without_hooks
from undrift.doctor.service import service
from undrift.doctor.store import store
from undrift.errors import UndriftError
from undrift.settings import SETTINGS, Settings, sources, unknown_variables
from undrift.settings.model_table import read_models
from undrift.stores.look import sqlite_version
from undrift.stores.opening import engine_of
from undrift.values.extras import upgrade_command

__all__ = ["examine", "failing"]

_LEAST_SQLITE = (3, 51, 3)
"""Older ones may damage a WAL that two processes reset at once (RELIABILITY 1.1)."""
_LEAST_FREE_BYTES = 256 << 20
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre")
_STORE = "undrift.db"
_MOUNTS = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How a space and the like are written there."""


def examine(
    homes: Sequence[str],
    *,
    overrides: Mapping[str, object],
    stores: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    full: bool = True,
) -> Iterator[Finding]:
    """Yield what is found, the machine and the settings first, then each home, then each store.

    `stores`: the folders of projects' records; none: each home has its store at its top. `environ`: variables of the
    settings; None takes those of this process. `full`: see `store`.
    """
    yield from _guarded("versions", "", _versions)
    yield from _guarded("settings", "", lambda: _settings(overrides, environ))
    window = _window(overrides, environ)
    yield from _guarded("start", "", lambda: _start([*homes, *stores]))
    own: dict[str, Callable[[Path], Iterable[Finding]]] = {"store": lambda folder: store(folder, window, full=full)}
    looks: dict[str, Callable[[Path], Iterable[Finding]]] = {
        "home": _folder,
        "free space": _space,
        **({} if stores else own),
        "hooks": hooks,
        "gateway": gateway,
        "service": service,
    }
    for folders, chosen in ((homes, looks), (stores, own)):
        for folder in (Path(os.path.realpath(one)) for one in folders):
            for name, look in chosen.items():
                yield from _guarded(name, str(folder), lambda look=look, folder=folder: look(folder))  # type: ignore[misc]


def failing(
    homes: Sequence[str], stores: Sequence[str], used: Mapping[str, Path], project: Path | None = None
) -> Iterator[Finding]:
    """Yield only what is wrong with homes, hooks and gateways; no record of a store is read.

    Args:
        stores: The folders of projects' records; they must be writable.
        used: Each client that was used, with its own folder.
        project: See `without_hooks`.
    """
    folders = [Path(os.path.realpath(home)) for home in homes]
    records = [one for one in (Path(os.path.realpath(store)) for store in stores) if one not in folders]
    looks: dict[str, Callable[[Path], Iterable[Finding]]] = {
        "home": _folder,
        "free space": _space,
        "hooks": hooks,
        "hooks' log": failed_calls,
        "gateway": gateway,
        "service": service,
    }
    found = [
        finding
        for folder in folders
        for name, look in looks.items()
        for finding in _guarded(name, str(folder), lambda look=look, folder=folder: look(folder))  # type: ignore[misc]
    ]
    found += [finding for folder in records for finding in _guarded("store", str(folder), lambda: _folder(folder))]  # noqa: B023 - called at once
    found += [finding for folder in {*folders, *records} for finding in _unwritable(folder / _STORE)]
    found += _guarded("hooks", "", lambda: without_hooks(folders, used, project))
    yield from (finding for finding in found if finding.state == "wrong")


def _guarded(name: str, home: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except (OSError, UndriftError) as error:
        said = f"{error.filename or home}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        yield wrong(name, said, "correct what the message names, and run `undrift doctor` again", home=home)


def _versions() -> Iterator[Finding]:
    version = sqlite_version()
    if tuple(map(int, version.split(".")[:3])) >= _LEAST_SQLITE:
        yield ok("sqlite", f"SQLite {version}, Python {platform.python_version()}")
    else:
        text = f"SQLite {version} may damage a store that two processes use at once"
        yield wrong("sqlite", text, upgrade_command("apsw"))


def _settings(overrides: Mapping[str, object], environ: Mapping[str, str] | None) -> Iterator[Finding]:
    settings = Settings.from_environment(environ, **overrides)
    read_models(settings.models_file)
    come_from = sources(environ) | dict.fromkeys(overrides, "--option")
    lines = tuple(f"{s.name} = {_shown(getattr(settings, s.name))} ({come_from[s.name]})" for s in SETTINGS)
    for text in unknown_variables(environ):
        yield note("variable", f"{text} `undrift config` lists the settings")
    changed = sum(source != "default" for source in come_from.values())
    text = f"{changed} of {len(SETTINGS)} settings differ from their default"
    yield Finding("settings", "ok", text, details=lines)


def _start(homes: Sequence[str]) -> Iterator[Finding]:
    """Say what to do first where nothing was done yet."""
    if not any(engine_of(home).is_there(home) or are_installed(Path(home)) for home in homes):
        text = (
            "nothing is recorded and no hooks are installed yet. `undrift autopsy` shows what your compactions removed; "
            "`undrift setup` restores it from now on"
        )
        yield note("start", text)


def _window(overrides: Mapping[str, object], environ: Mapping[str, str] | None) -> int:
    """Return how many rated searches count; wrong settings are reported elsewhere."""
    try:
        return Settings.from_environment(environ, **overrides).retrieval_monitor_window
    except UndriftError:
        return Settings().retrieval_monitor_window


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)


def _folder(home: Path) -> Iterator[Finding]:
    here = str(home)
    if not home.exists():
        yield note("home", f"{home} is not there: nothing was recorded in it yet", home=here)
        return
    if not home.is_dir():
        yield wrong("home", f"{home} is no folder", "move the file away, or choose another --home", home=here)
        return
    kind = _file_system(home)
    if kind in _NETWORK:
        text = f"{home} is on a network file system ({kind}), where locks and syncs are not to be relied on"
        yield wrong("home", text, "choose a --home on a local disk", home=here)
    elif not os.access(home, os.W_OK | os.X_OK):
        yield wrong("home", f"{home} cannot be written", "check its owner and permissions", home=here)
    else:
        yield ok("home", f"{home} can be written" + (f", on {kind}" if kind else ""), home=here)


def _unwritable(path: Path) -> Iterator[Finding]:
    if path.exists() and not os.access(path, os.W_OK):
        text = f"{path} cannot be written, so nothing is recorded any more"
        yield wrong("store", text, "check its owner and permissions", home=str(path.parent))


def _space(home: Path) -> Iterator[Finding]:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / (1 << 30):,.1f} GiB are free"
    if free < _LEAST_FREE_BYTES:
        text = f"only {free >> 20:,} MiB are free; when nothing is, nothing leaves a window any more"
        yield wrong("free space", text, "free some space, or choose another --home", home=str(home))
    else:
        yield ok("free space", text, home=str(home))


def _file_system(home: Path) -> str:
    """Return the kind of file system, where the system tells (Linux); the longest mount point counts."""
    try:
        rows = [line.split() for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    places = [(_OCTAL.sub(lambda found: chr(int(found[1], 8)), row[1]), row[2]) for row in rows if len(row) > 2]
    below = [(len(place), kind) for place, kind in places if home.is_relative_to(place)]
    return max(below, default=(0, ""))[1]
