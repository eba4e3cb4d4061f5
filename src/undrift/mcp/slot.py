"""The default session of a server: one for each process, named after its folder and its client.

Law: two processes never hold one name at the same time. A name is free again when its process ends, so that a client that
starts again in the same folder continues the session that it had there.
"""

import hashlib
import os
import re
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["SessionClaim"]

_FOLDER = "mcp"
"""In the home: an empty file for each name, which the process that holds the name has locked."""

_MOST = 64
"""Servers of one client in one folder; a further one is named by the number of its process."""

_WORD_CHARACTERS = 24
_NO_WORD = re.compile(r"[^a-z0-9]+")


class SessionClaim:
    """A process's claim to a session in one home. `home`: the folder of the store, absolute."""

    def __init__(self, home: Path, folder: str) -> None:
        self._locks = home / _FOLDER
        self._folder = folder

    def claim(self, client: str) -> str:
        """Reserve the first free name until this process ends."""
        if sys.platform != "win32":  # no such lock there
            with suppress(OSError):  # a home that nothing can be written to
                from undrift.stores.files import (
                    make_folder,
                )  # not before a tool is called: a client waits for the start

                make_folder(self._locks)
                for name in self._names(client):
                    if self._locked(name, create=True):
                        return name
        return f"{next(self._names(client))}-{os.getpid()}"

    def free(self, client: str) -> str:
        """Return the name that `claim` would reserve, without creating anything."""
        for name in self._names(client):
            if self._locked(name, create=False):
                return name
        return f"{next(self._names(client))}-{os.getpid()}"

    def _names(self, client: str) -> Iterator[str]:
        digest = hashlib.sha256(f"{self._folder}\0{client}".encode("utf-8", "surrogatepass")).hexdigest()
        first = "-".join(filter(None, (_FOLDER, _word(Path(self._folder).name), _word(client), digest[:6])))
        yield first
        yield from (f"{first}-{number}" for number in range(2, _MOST + 1))

    def _locked(self, name: str, *, create: bool) -> bool:
        """Lock a name's file as long as this object lives; with `create` false, only test whether it is free."""
        if sys.platform == "win32":
            return True
        import fcntl

        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        try:
            descriptor = os.open(self._locks / f"{name}.lock", flags, 0o600)
        except OSError:
            if create:
                raise
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        if create:
            weakref.finalize(self, os.close, descriptor)
        else:
            os.close(descriptor)
        return True


def _word(text: str) -> str:
    return _NO_WORD.sub("-", text.casefold())[:_WORD_CHARACTERS].strip("-")
