"""Decodes compressed bodies up to a size limit.

Law: a request's body is decoded completely or not at all, because the decoded text may be edited and sent on.
"""

import gzip
import sys
import zlib
from collections.abc import Callable
from typing import Any

from undrift.proxy.ask import Bypass

__all__ = ["decoded", "encoded", "plain"]

_EITHER_HEADER = 47  # gzip or zlib, whichever the data begins with
_ZIPPED = ("gzip", "x-gzip", "deflate")
_MOST_FRAMES = 64  # each copies the rest of the body, and millions of empty ones fit in it
_WINDOW_LOG = 23  # 8 MiB, the most that RFC 9659 allows; a frame could ask for gigabytes


def decoded(body: bytes, coding: str, most_bytes: int) -> bytes:
    """Return a request's body without its coding.

    Raises Bypass: the coding is unknown, the body is damaged or cut, or the decoded body is too large.
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body
    if name in _ZIPPED:
        return _whole(body, lambda: zlib.decompressobj(_EITHER_HEADER), zlib.error, most_bytes)
    if name != "zstd" or (zstd := _zstd()) is None:
        raise Bypass("content-encoding", is_fault=False)
    options = {int(zstd.DecompressionParameter.window_log_max): _WINDOW_LOG}
    return _whole(body, lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError, most_bytes)


def encoded(body: bytes, coding: str) -> bytes:
    """Return a body in the coding of a request that `decoded` could read; equal bodies give equal bytes."""
    name = coding.strip().lower()
    if name == "zstd" and (zstd := _zstd()) is not None:
        packed: bytes = zstd.compress(body)
        return packed
    if name in ("gzip", "x-gzip"):
        return gzip.compress(body, mtime=0)
    return zlib.compress(body) if name == "deflate" else body


def _zstd() -> Any:
    """Return the module for zstd; None if the package is not installed."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        return None
    return zstd


def _whole(body: bytes, unpacker: Callable[[], Any], error: type[Exception], most_bytes: int) -> bytes:
    """Decode every frame of a body, one after the other."""
    parts: list[bytes] = []
    left = most_bytes + 1
    while body and left > 0:
        if len(parts) == _MOST_FRAMES:
            raise Bypass("content-encoding", is_fault=False)
        frame = unpacker()
        try:
            parts.append(frame.decompress(body, left))
        except error as wrong:
            raise Bypass("content-encoding", is_fault=False) from wrong
        left -= len(parts[-1])
        if not frame.eof and left > 0:  # cut
            raise Bypass("content-encoding", is_fault=False)
        body = frame.unused_data
    if left <= 0:
        raise Bypass("too-large", is_fault=False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def plain(body: bytes, coding: str, most_bytes: int) -> bytes | None:
    """Return an answer's body decompressed. None means: the coding is unknown, or the body is damaged or too large."""
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body if len(body) <= most_bytes else None
    if name not in _ZIPPED:
        return None
    unpacker = zlib.decompressobj(_EITHER_HEADER)
    try:
        out = unpacker.decompress(body, most_bytes)
    except zlib.error:
        return None
    return None if unpacker.unconsumed_tail else out
