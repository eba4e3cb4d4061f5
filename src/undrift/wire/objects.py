"""Converts objects of a provider's SDK to the JSON that the SDK would send. Pure.

Law: plain JSON is returned as the very object that came in; only a value that holds an SDK's object is rebuilt.
"""

from collections.abc import Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["REMEDY", "dumped", "plain", "readable"]

REMEDY = "give plain JSON, as `.model_dump()` of an SDK's object returns"

_AS_SENT: Mapping[str, Any] = {"mode": "json", "exclude_unset": True}
_WAYS: tuple[Mapping[str, Any], ...] = ({**_AS_SENT, "by_alias": True, "warnings": False}, _AS_SENT, {})
"""The arguments of `model_dump`, tried in this order until an object takes them. The first is the way of Anthropic's and
OpenAI's SDKs: they leave out a field that the API did not set. Providers refuse some of them as null."""


def dumped(value: Any, path: str = "") -> Any:
    """Return the JSON value of an object with `model_dump` or `to_dict`; None for any other object.

    Raises WireError: the object cannot be written as JSON.
    """
    if isinstance(value, type):  # a class has the methods too, and no values
        return None
    for name, ways in (("model_dump", _WAYS), ("to_dict", _WAYS[-1:])):
        dump = getattr(value, name, None)
        if callable(dump):
            found = _called(dump, ways, value, f"{type(value).__name__}.{name}()", path)
            if isinstance(found, (dict, list)):
                return found
    return None


def plain(value: Any, path: str = "") -> tuple[bytes, Any]:
    """Return a value as bytes and as dicts and lists; the same value if it contains no SDK object.

    Raises WireError: it is no JSON value; the path leads to the place.
    """
    try:
        return raw.encode(value, path), value
    except WireError as error:
        try:
            made = _plain_value(value, path)
        except RecursionError:
            raise error from None
    return raw.encode(made, path), made


def readable(value: Any, path: str = "") -> Any:
    """Return a value as plain JSON; a value that cannot be converted stays unchanged."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    try:
        return plain(value, path)[1]
    except WireError:
        return value


def _called(dump: Any, ways: tuple[Mapping[str, Any], ...], value: Any, name: str, path: str) -> Any:
    hidden = getattr(value, "__api_exclude__", None)  # what the SDK has put in and the API does not know
    for way in ways:
        try:
            return dump(**way, **({"exclude": hidden} if hidden and way else {}))
        except Exception as error:  # foreign code may raise anything
            if way and isinstance(error, TypeError):
                continue  # perhaps it does not take these arguments
            raise WireError(f"not a JSON value: {name} failed: {error}", path=path) from error
    raise AssertionError  # the last way returns or raises


def _plain_value(value: Any, path: str) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {key: _plain_value(inner, f"{path}.{key}" if path else str(key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(inner, f"{path}[{number}]") for number, inner in enumerate(value)]
    if (found := dumped(value, path)) is not None:
        return _plain_value(found, path)
    try:
        raw.encode(value)
    except WireError:
        raise WireError(f"not a JSON value: an object of type {type(value).__name__}; {REMEDY}", path=path) from None
    return value
