"""The compression of segments, and the form of the originals in them.

Law: values in, values out. A segment is the records of some originals one after the other, compressed together: what they repeat of each other is
stored once. Each record begins with a line of JSON in ASCII; its metadata, masked spans and text follow.
"""

import json
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from undrift.stores.rows import load

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["CODEC", "FORGED", "PackedOriginal", "framed", "packed", "record", "records", "unframed", "unpacked"]

CODEC = 1
"""The compression of new segments; each segment names its own."""

FORGED = (
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zstd.ZstdError,
)
"""The errors of a segment that matches its hash and is not ours, as in a forged backup."""

_LEVEL = 9
_OPTIONS: dict[int, int] = {
    int(zstd.CompressionParameter.compression_level): _LEVEL,
    int(zstd.CompressionParameter.checksum_flag): 1,  # of what comes out, beside the SHA-256 of what went in
}
_HEAD = struct.Struct(">BQ")
_SHORT_BYTES = 200
_NAMES = 7
"""The fields that are written as JSON: those before the metadata."""


class PackedOriginal(NamedTuple):
    """One original as a segment holds it; the segment knows its session, and the source is ``window``."""

    number: int
    ref: str
    entry_id: str
    type: str
    token_count: int
    timestamp: int
    entry_seq: int
    metadata: bytes | None
    masked: bytes | None
    content: bytes


def record(one: PackedOriginal) -> bytes:
    """Return an original as bytes for a segment."""
    parts: list[Any] = [*one[_NAMES:]]
    sizes = [-1 if part is None else len(part) for part in parts]
    head = json.dumps([*one[:_NAMES], *sizes], separators=(",", ":"))
    return b"".join((head.encode("ascii"), b"\n", *(part or b"" for part in parts)))


def records(raw: bytes, place: int = 0) -> Iterator[tuple[int, PackedOriginal]]:
    """Yield the originals of a segment with their places in it, from a place on. Raises one of `FORGED`."""
    while place < len(raw):
        start = raw.index(b"\n", place) + 1
        *names, metadata_bytes, masked_bytes, content_bytes = load(raw[place : start - 1])
        parts: list[Any] = []
        for size_bytes in (metadata_bytes, masked_bytes, content_bytes):
            end = start + max(size_bytes, 0)
            parts.append(None if size_bytes < 0 else raw[start:end])
            start = end
        if start > len(raw):
            raise ValueError("a record ends after its segment")
        yield place, PackedOriginal(*names, *parts)
        place = start


def framed(raw: bytes) -> bytes:
    """Return bytes that begin with a letter, as JSON does, compressed behind a head of their own; short ones unchanged."""
    content = zstd.compress(raw, options=_OPTIONS) if len(raw) > _SHORT_BYTES else raw
    return _HEAD.pack(CODEC, len(raw)) + content if len(content) + _HEAD.size < len(raw) else raw


def unframed(stored: bytes) -> bytes:
    """Return what `framed` was given. Raises one of `FORGED`."""
    if stored[:1] != bytes([CODEC]):
        return stored
    codec, raw_bytes = _HEAD.unpack_from(stored)
    return unpacked(codec, stored[_HEAD.size :], raw_bytes)


def packed(raw: bytes) -> bytes:
    """Compress a segment."""
    return zstd.compress(raw, options=_OPTIONS)


def unpacked(codec: int, content: bytes, raw_bytes: int) -> bytes:
    """Decompress a segment; it never takes more memory than the segment says. Raises one of `FORGED`."""
    if codec != CODEC:
        raise ValueError(f"its compression has the unknown number {codec}")
    stream = zstd.ZstdDecompressor()
    raw = stream.decompress(content, max_length=raw_bytes + 1)
    if len(raw) != raw_bytes or not stream.eof or stream.unused_data:
        raise ValueError("it has another length than it says")
    return raw
