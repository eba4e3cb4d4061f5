"""The stores of a gateway, one for each project, and the project that a request belongs to.

Law: the owner's own client says where it works: in the file of its session, else in its prompt. A path counts only if it
is a folder on this machine.
"""

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from undrift.errors import TranscriptError
from undrift.hooks.call import CLIENTS
from undrift.proxy.naming import folder_of
from undrift.settings import working_folder
from undrift.settings.folder import existing_folder
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.stores.projects import keep, place_of
from undrift.transcripts import read
from undrift.values.project import Place
from undrift.values.scope import Scope
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["GatewayProjects", "OpenStores", "ProjectStores"]

K = TypeVar("K")

_ID = re.compile(r"[A-Za-z0-9_-]{8,128}", re.ASCII)
_HEAD_LINES = 40
_LINE_CHARACTERS = 1 << 20
_MOST_KNOWN = 4_096


class ProjectStores(Protocol):
    """The stores of a gateway, and the place of a request."""

    @property
    def default(self) -> Place:
        """The place of a request that does not tell, and of checks of health."""
        ...

    def place_of(self, form: Form, request: Request, given: str | None) -> Place:
        """Return the place of a request; see `GatewayProjects.place_of`."""
        ...

    def store_of(self, place: Place) -> Store:
        """Return the one store of a place for all threads. Raises StoreError: it cannot be opened."""
        ...

    def close(self) -> None:
        """Close all stores."""
        ...


class OpenStores:
    """An open store for each place that was used: one locked connection is faster than 50 that wait for locks."""

    BUSY_TIMEOUT_MS = 2_000
    """Less than the deadline of a request."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._stores: dict[Path, Store] = {}

    def store_of(self, place: Place) -> Store:
        """Return the one store of a place for all threads. Raises StoreError: it cannot be opened."""
        with self._opening:
            if place.records not in self._stores:
                self._stores[place.records] = self._open(place)
            return self._stores[place.records]

    def _open(self, place: Place) -> Store:
        return open_store(keep(place), Scope(), busy_timeout_ms=self.BUSY_TIMEOUT_MS)

    def close(self) -> None:
        """Close all stores."""
        with self._opening:
            for store in self._stores.values():
                store.close()
            self._stores.clear()


class GatewayProjects(OpenStores):
    """The projects of one home, with an open store for each that was used.

    Args:
        home: The home.
        only: The place of all requests; None: each request tells its own.
        shares: Whether a home without records keeps each project's apart.
    """

    def __init__(self, home: Path, only: Place | None = None, *, shares: bool = False) -> None:
        super().__init__()
        self._home = home
        self._shares = shares
        self._only = only
        self._known: OrderedDict[str, Place] = OrderedDict()
        self._by_folder: OrderedDict[Path, Place] = OrderedDict()

    @cached_property
    def default(self) -> Place:
        """The place of a request that does not tell: that of the folder in which the gateway was started."""
        return self._only or place_of(self._home, working_folder(), shares=self._shares)

    def place_of(self, form: Form, request: Request, given: str | None) -> Place:
        """Return the place of a request.

        `given`: the id of its session that the client sent; None: it sent none. Raises WireError: the request has the
        wrong shape.
        """
        default = self.default
        if self._only is not None or default.project is None:
            return default
        if given is not None and (known := self._known.get(given)) is not None:
            return known
        place = self._place_said(form, request, given) or default
        if given is not None:  # a later request may tell something else, and the session stays where it is
            _keep(self._known, given, place)
        return place

    def _place_said(self, form: Form, request: Request, given: str | None) -> Place | None:
        """Return the place that a request tells; None if it tells none, or its session began in the default place."""
        if given is not None and self.store_of(self.default).last_seq(given):
            return None
        folder = _recorded_folder(given.rpartition(":")[2]) if given else None
        folder = folder or _existing(folder_of(form, request))
        if folder is None:
            return None
        if (known := self._by_folder.get(folder)) is not None:  # no request reads the files of git again
            return known
        place = place_of(self._home, folder, shares=self._shares)
        _keep(self._by_folder, folder, place)
        return place


def _keep(known: OrderedDict[K, Place], key: K, place: Place) -> None:
    """Keep what was found; the oldest makes place."""
    known[key] = place
    if len(known) > _MOST_KNOWN:
        with suppress(KeyError):  # another thread was first
            known.popitem(last=False)


def _recorded_folder(session_id: str) -> Path | None:
    """Return the folder of a client's session by the file in which the client records it; None if there is none."""
    if not _ID.fullmatch(session_id):
        return None
    for path in _files_of(session_id):
        with suppress(OSError, TranscriptError), path.open(encoding="utf-8", errors="replace") as file:
            lines = [line[:_LINE_CHARACTERS] for line in islice(file, _HEAD_LINES)]
            if (folder := _existing(read(lines).cwd or "")) is not None:
                return folder
    return None


def _files_of(session_id: str) -> Iterator[Path]:
    for client, deep in (("claude", "*"), ("codex", "*/*/*")):
        layout = CLIENTS[client]
        with suppress(OSError, RuntimeError):
            yield from islice((Path.home() / layout.folder / layout.sessions).glob(f"{deep}/*{session_id}.jsonl"), 1)


def _existing(path: str) -> Path | None:
    return existing_folder(os.path.expanduser(path))  # noqa: PTH111 - it does not raise
