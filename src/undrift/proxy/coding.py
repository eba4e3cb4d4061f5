"""Content codings that can be undone here. Pure; what grows beyond a limit is given up."""

import zlib

__all__ = ["plain"]

_EITHER_HEADER = 47  # gzip or zlib, whichever the data begins with


def plain(body: bytes, coding: str, most_bytes: int) -> bytes | None:
    """Return a body without its content coding; None if that is not known, damaged, or too much."""
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body if len(body) <= most_bytes else None
    if name not in ("gzip", "x-gzip", "deflate"):
        return None
    unpacker = zlib.decompressobj(_EITHER_HEADER)
    try:
        out = unpacker.decompress(body, most_bytes)
    except zlib.error:
        return None
    return None if unpacker.unconsumed_tail else out
