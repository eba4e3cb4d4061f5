"""Request bodies as bytes: parts that are not edited keep their bytes. Pure.

A body is either a mapping (the library) or JSON bytes (a gateway). In both cases each message is known by its bytes:
as received, or as encoded here once. Equal bytes mean an equal message, without looking inside.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from undrift.errors import WireError

__all__ = ["Fields", "decode", "encode", "fields", "join", "split"]


class Fields(Mapping[str, Any]):
    """The fields of a body; each is parsed on first use. `given`: the unchanged fields."""

    def __init__(self, given: Mapping[str, Any], read: Callable[[str], Any]) -> None:
        self._given = given
        self._read = read
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._given  # without reading the field

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def encode(value: Any, path: str = "", *, ordered: bool = False) -> bytes:
    """Encode a JSON value as compact bytes. `ordered`: sort the keys, so that equal objects give equal bytes.

    Raises WireError: it is no JSON value, or nested too deep.
    """
    try:
        try:
            return msgspec.json.encode(value, order="deterministic" if ordered else None)
        except UnicodeEncodeError:  # a lone surrogate: legal in a Python string and as an escape, not in UTF-8
            # msgspec writes null for a number that is not finite; what stands beside it does not change that.
            finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
            return json.dumps(finite, sort_keys=ordered).encode("ascii")
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError(f"not a JSON value: {error}", path=path) from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body", path=path) from None


def decode(data: bytes | msgspec.Raw, path: str = "") -> Any:
    """Decode JSON. Raises WireError: it is malformed, or nested too deep."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError) as error:
        raise WireError(f"malformed JSON: {error}", path=path) from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body", path=path) from None


def fields(body: bytes) -> dict[str, msgspec.Raw]:
    """Split a JSON object into its fields, each as the client's bytes. Raises WireError: it is no JSON object."""
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, ValueError) as error:
        raise WireError(f"the body must be a JSON object: {error}") from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body") from None


def split(data: bytes | msgspec.Raw, path: str) -> list[msgspec.Raw]:
    """Split a JSON array into its elements, each as the client's bytes. Raises WireError: it is no JSON array."""
    try:
        return msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, ValueError) as error:
        raise WireError(f"must be an array: {error}", path=path) from error
    except RecursionError:
        raise WireError("nested too deep to be a provider body", path=path) from None


def join(body: Mapping[str, bytes | msgspec.Raw], name: str, items: Sequence[bytes | msgspec.Raw]) -> bytes:
    """Rebuild a body from its unchanged fields, and from `items` as the array `name`."""
    parts: list[bytes | msgspec.Raw] = []
    for key, value in body.items():
        parts += [b"," if parts else b"{", msgspec.json.encode(key), b":"]
        parts += [b"[", *_apart(items), b"]"] if key == name else [value]
    parts += [b"}"] if parts else [b"{}"]
    return b"".join(parts)  # one copy: a body has megabytes


def _apart(items: Sequence[bytes | msgspec.Raw]) -> list[bytes | msgspec.Raw]:
    """Return the items and commas as a list, because a joined buffer of megabytes costs 3 ms more."""
    found: list[bytes | msgspec.Raw] = [b","] * max(0, 2 * len(items) - 1)
    found[::2] = items
    return found
