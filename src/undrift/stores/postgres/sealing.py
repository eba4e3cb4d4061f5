"""Seals texts before they leave this process: each session and each project has a key, wrapped by its organisation's.

Law: what is sealed can be read only with the key, and only in the place for which it was sealed. A purge that destroys
the key has destroyed the text, in every copy of the database.
"""

import base64
import binascii
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from undrift.errors import InputError, StoreCorrupt, StoreError

__all__ = ["Seal", "master_key", "new_key"]

_KEY_BYTES = 32
_NONCE_BYTES = 12
_HOW = "`openssl rand -base64 32` prints a new one"
_PLAIN = b"\0"
_SEALED = b"\1"


def master_key(path: str) -> bytes | None:
    """Return the key of a deployment, which wraps the keys of its organisations, from a file.

    `path`: 32 bytes in base64; empty: organisations' keys are kept as they are. Raises InputError: it holds something else.
    """
    if not path:
        return None
    try:
        key = base64.b64decode(Path(path).read_bytes().strip(), validate=True)
    except (OSError, binascii.Error, ValueError) as error:
        raise InputError(f"{path}: the server's key cannot be read: {error}; {_HOW}") from error
    if len(key) != _KEY_BYTES:
        raise InputError(f"{path}: the server's key has {len(key)} bytes, not {_KEY_BYTES}; {_HOW}")
    return key


def new_key() -> bytes:
    """Return a new random key."""
    return os.urandom(_KEY_BYTES)


class Seal:
    """Seals and opens with one key. A seal without a key marks texts as plain, and opens only plain ones."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self._cipher = None if key is None else AESGCM(key)

    def close(self, text: bytes, place: bytes) -> bytes:
        """Seal a text for a place, as the name of its record. It cannot be opened in another place."""
        if self._cipher is None:
            return _PLAIN + text
        nonce = os.urandom(_NONCE_BYTES)
        return _SEALED + nonce + self._cipher.encrypt(nonce, text, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Return the text. Raises StoreCorrupt: it was changed, or sealed for another place or with another key."""
        if sealed[:1] == _PLAIN:
            return bytes(sealed[1:])
        if self._cipher is None:
            raise StoreError(
                "the server's keys are wrapped: name the file with the deployment's key as undrift_key_file in the address"
            )
        try:
            return self._cipher.decrypt(bytes(sealed[1 : 1 + _NONCE_BYTES]), bytes(sealed[1 + _NONCE_BYTES :]), place)
        except (InvalidTag, ValueError) as error:
            raise StoreCorrupt(f"record {place[:64]!r} cannot be opened: it was changed, or its key was") from error

    def number(self, *parts: bytes) -> int:
        """Return a number of 63 bits that replaces a text and says nothing of it to a reader without the key."""
        text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return int.from_bytes(hmac.digest(self._key or b"plain", text, hashlib.sha256)[:8], "big") >> 1
