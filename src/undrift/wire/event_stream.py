"""Amazon's event stream, in which Bedrock sends an answer: frames of binary headers and a payload. Pure.

Law: only whole frames with valid checksums count, and reading is linear in the bytes. A hostile stream gives fewer events, never an error.
"""

import binascii
import struct
import zlib

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["events", "is_event_stream"]

_PRELUDE = struct.Struct(">III")  # bytes of the frame, bytes of its headers, checksum of both
_NUMBER = struct.Struct(">I")
_LENGTH = struct.Struct(">H")
_TEXT = 7  # the kind of a header whose value is a text; all that tell what a frame is are such
_ERROR = b'{"type": "error"}'


def is_event_stream(body: bytes) -> bool:
    """Tell whether a body is of frames; no frame has 16 MB, so the first byte of its length is zero. No text begins so."""
    return body[:1] == b"\0"


def events(stream: bytes) -> list[bytes]:
    """Return the event in each frame, in the JSON of the model's own interface; an exception becomes an event of type error."""
    found: list[bytes] = []
    view, at = memoryview(stream), 0
    while len(view) - at >= _PRELUDE.size:
        size, head, checksum = _PRELUDE.unpack_from(view, at)
        end = at + size
        if end > len(view) or size < _PRELUDE.size + head + _NUMBER.size or checksum != zlib.crc32(view[at : at + 8]):
            break
        if _NUMBER.unpack_from(view, end - _NUMBER.size)[0] != zlib.crc32(view[at : end - _NUMBER.size]):
            break
        start = at + _PRELUDE.size + head
        found += _event(_headers(view[at + _PRELUDE.size : start]), bytes(view[start : end - _NUMBER.size]))
        at = end
    return found


def _event(headers: dict[str, str], payload: bytes) -> list[bytes]:
    if headers.get(":message-type") != "event":
        return [_ERROR]
    if headers.get(":event-type") != "chunk":
        return []
    try:
        return [binascii.a2b_base64(raw.decode(payload)["bytes"])]
    except (WireError, KeyError, TypeError, ValueError):
        return []


def _headers(view: memoryview) -> dict[str, str]:
    """Return the headers up to the first one whose value is no text."""
    found: dict[str, str] = {}
    at = 0
    while at < len(view):
        kind = at + 1 + view[at]
        value = kind + 1 + _LENGTH.size
        if value > len(view) or view[kind] != _TEXT:
            break
        end = value + _LENGTH.unpack_from(view, kind + 1)[0]
        if end > len(view):
            break
        found[bytes(view[at + 1 : kind]).decode("utf-8", "replace")] = bytes(view[value:end]).decode("utf-8", "replace")
        at = end
    return found
