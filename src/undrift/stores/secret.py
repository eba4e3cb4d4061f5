"""The secret token of a home for local clients: created on first use, readable only by its owner.

Law: 0600 from the first byte on; a file that other users can read, or that is a link, is refused and never used.
"""

import os
import secrets
import stat
import time
from pathlib import Path

from undrift.errors import StoreError
from undrift.stores import files

__all__ = ["TOKEN_NAME", "http_token"]

TOKEN_NAME = "http-token"

_BYTES = 32
_CHARACTERS = 2 * _BYTES
_NAPS = 100
_NAP_S = 0.01


def http_token(home: Path) -> str:
    """Return the token of a home; the first call creates it.

    Raises StoreError: it cannot be made or read, or other users can read it; the message says what to do.
    """
    path = home / TOKEN_NAME
    try:
        files.make_folder(home)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileExistsError:
            return _read(path)
        try:
            os.write(descriptor, secrets.token_hex(_BYTES).encode("ascii"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return _read(path)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}; the server needs its token there") from error


def _read(path: Path) -> str:
    files.check_regular(path)
    for _ in range(_NAPS):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            if os.name != "nt" and stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
                raise StoreError(f"{path}: others can read it, so it is no secret; delete it, a new one is made")
            content = file.read(_CHARACTERS + 1)
        if len(content) == _CHARACTERS and content.isalnum():
            return content.decode("ascii")
        if len(content) > _CHARACTERS or (content and not content.isalnum()):
            break
        time.sleep(_NAP_S)  # another process has created it and not written it yet
    raise StoreError(f"{path}: holds no token; delete it, a new one is made")
