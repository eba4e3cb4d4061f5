"""Request bodies as bytes: what is not edited keeps the very bytes that came in. Pure.

A body is either a mapping (the library) or JSON bytes (a gateway). In both cases each message is known by its bytes:
as received, or as encoded here once. Equal bytes mean an equal message, without looking inside.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from undrift.errors import WireError

__all__ = ["decode", "encode", "join", "split"]


def encode(value: Any, path: str = "", *, ordered: bool = False) -> bytes:
    """Encode a JSON value compactly; `ordered` by key, so that equal objects give equal bytes.

    Raises:
        WireError: It is no JSON value, or nested too deep.
    """
    try:
        try:
            return msgspec.json.encode(value, order="deterministic" if ordered else None)
        except UnicodeEncodeError:  # a lone surrogate: legal in a Python string and as an escape, not in UTF-8
            return json.dumps(value, sort_keys=ordered).encode("ascii")
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError(f"not a JSON value: {error}", path=path) from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body", path=path) from None


def decode(data: bytes | msgspec.Raw, path: str = "") -> Any:
    """Decode JSON.

    Raises:
        WireError: It is malformed, or nested too deep.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError) as error:
        raise WireError(f"malformed JSON: {error}", path=path) from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body", path=path) from None


def split(data: bytes) -> tuple[dict[str, msgspec.Raw], list[msgspec.Raw]]:
    """Split a JSON body into its fields and its messages, each as the bytes that came in.

    Raises:
        WireError: No JSON object, or its ``messages`` is no array.
    """
    try:
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        messages = msgspec.json.decode(fields.get("messages", b""), type=list[msgspec.Raw])
    except (msgspec.DecodeError, ValueError) as error:
        raise WireError(f"the body must be a JSON object with an array `messages`: {error}") from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body") from None
    return fields, messages


def join(fields: Mapping[str, msgspec.Raw], messages: Sequence[bytes | msgspec.Raw]) -> bytes:
    """Put a body together again: every field as it came in, `messages` replaced."""
    parts = [
        msgspec.json.encode(name)
        + b":"
        + (b"[" + b",".join(map(bytes, messages)) + b"]" if name == "messages" else bytes(raw))
        for name, raw in fields.items()
    ]
    return b"{" + b",".join(parts) + b"}"
