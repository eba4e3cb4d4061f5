"""Ids and references, computed from content. Pure.

A reference is opaque: nothing of a hostile id, path or text shows in it, so that it can stand in a shell command.
"""

import hashlib
import json

__all__ = ["message_id", "ref_of"]


def ref_of(session_id: str, entry_id: str) -> str:
    """Return the 16 hexadecimal characters under which `recall` finds an entry of a session."""
    return hashlib.sha256(json.dumps([session_id, entry_id]).encode("ascii")).hexdigest()[:16]


def message_id(previous_id: str, digest: bytes) -> str:
    """Return a message's chain id: two equal ids mean equal histories up to and including this message."""
    return hashlib.sha256(previous_id.encode("ascii") + digest).hexdigest()[:32]
