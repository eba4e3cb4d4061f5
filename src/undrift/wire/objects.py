"""Converts objects of a provider's SDK to the JSON that the SDK would send. Pure.

Law: plain JSON is returned as the very object that came in; only a value that holds something else is rebuilt. A foreign
object is known by what it has (`model_dump`, `to_dict`), not by its module, and no SDK is imported.
"""

import base64
import dataclasses
import inspect
from collections import UserString
from collections.abc import Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from enum import Enum
from itertools import islice
from types import NoneType
from typing import Any

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["Converter", "REMEDY", "described", "dumped", "listed", "plain", "without_left_out"]

REMEDY = "give plain JSON, as `.model_dump()` of an SDK's object returns"

_AS_SENT: Mapping[str, Any] = {"mode": "json", "exclude_unset": True}
_WAYS: tuple[Mapping[str, Any], ...] = ({**_AS_SENT, "by_alias": True, "warnings": False}, _AS_SENT, {})
"""The arguments of `model_dump`, tried in this order until an object takes them. The first is the way of Anthropic's and
OpenAI's SDKs: they leave out a field that the API did not set. Providers refuse some of them as null."""

_SCALARS = frozenset({str, int, float, bool, NoneType})
_CONTAINERS = frozenset({dict, list})
_JSON_TYPES = _SCALARS | _CONTAINERS
_MOST = 1_000_000  # of what can be read only once: it may have no end
_LEFT_OUT = frozenset({"NotGiven", "Omit"})
_TEXTS = (str, bytes, bytearray, memoryview, UserString)


def _is_plain(value: Any) -> bool:
    """Tell whether a value consists of dicts, lists, texts, numbers, booleans and None alone, of no subclass of them."""
    if type(value) in _SCALARS:
        return True
    if type(value) not in _CONTAINERS:
        return False
    pending = [value]
    while pending:  # a loop: a client's value may be nested deeper than Python's calls
        inner = pending.pop()
        values = inner.values() if type(inner) is dict else inner
        kinds = set(map(type, values))
        if kinds <= _SCALARS:
            continue
        if not kinds <= _JSON_TYPES:
            return False
        pending += [one for one in values if type(one) in _CONTAINERS]
    return True


def _is_plain_outside(value: Any) -> bool:
    if type(value) is list:
        return _JSON_TYPES.issuperset(map(type, value))
    return type(value) is dict or type(value) in _SCALARS


def _is_left_out(value: Any) -> bool:
    """Tell whether a value is the mark of an SDK for an argument that was not given: ``NOT_GIVEN`` or ``omit``."""
    return type(value).__name__ in _LEFT_OUT and not value


def without_left_out(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that an SDK sends; the same dict if it sends all of them."""
    if any(_is_left_out(value) for value in fields.values()):
        return {name: value for name, value in fields.items() if not _is_left_out(value)}
    return fields


def dumped(value: Any, path: str = "") -> Any:
    """Return the JSON value of an object with `model_dump` or `to_dict`, or of a dataclass; None for any other object.

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
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


class Converter:
    """Converts the values of one request. `drained`: the places of what can be read only once and was read, as a generator."""

    def __init__(self) -> None:
        self.drained: list[str] = []

    def plain(self, value: Any, path: str = "") -> tuple[bytes, Any]:
        """Return a value as bytes and as dicts and lists; the same value if nothing in its first two layers is foreign.

        Deeper layers are left: a walk through all of them costs more than the rest of a turn.

        Raises WireError: it is no JSON value; the path leads to the place.
        """
        known: WireError | None = None
        try:
            encoded = raw.encode(value, path)
            if type(value) is dict or _is_plain_outside(value):
                return encoded, value
        except WireError as error:
            known = error
        rebuilt = self._converted(value, path, known)
        return raw.encode(rebuilt, path), rebuilt

    def deeply_plain(self, value: Any, path: str = "") -> Any:
        """Return a value without a foreign object at any depth; see `plain`."""
        return value if _is_plain(value) else self._converted(value, path)

    def _converted(self, value: Any, path: str, known: WireError | None = None) -> Any:
        try:
            return self._rebuilt(value, path)
        except RecursionError:
            raise known or WireError("nested too deep to be a provider body", path=path) from None

    def items(self, value: Any, path: str) -> Any:
        """Return a value as a list if an SDK takes it for one, as a tuple or a generator; else the same value."""
        if isinstance(value, list) or not _is_listed(value):
            return value
        return self._list(value, path)

    def _list(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, Iterator):
            return list(value)
        self.drained.append(path)
        found = list(islice(value, _MOST + 1))
        if len(found) > _MOST:
            raise WireError(f"at most {_MOST:,} are possible: this {type(value).__name__} has no end", path=path)
        return found

    def _rebuilt(self, value: Any, path: str) -> Any:
        if type(value) in _SCALARS:
            return value
        if isinstance(value, Mapping):
            kept = ((key, inner) for key, inner in value.items() if not _is_left_out(inner))
            return {key: self._rebuilt(inner, f"{path}.{key}" if path else str(key)) for key, inner in kept}
        if _is_listed(value):
            return [self._rebuilt(inner, f"{path}[{number}]") for number, inner in enumerate(self._list(value, path))]
        if isinstance(value, Enum):
            return self._rebuilt(value.value, path)
        if (found := dumped(value, path)) is not None:
            return self._rebuilt(found, path)
        if isinstance(value, (bytes, bytearray)):
            return base64.urlsafe_b64encode(value).decode(
                "ascii"
            )  # as Google's SDK writes them; the others refuse them
        if isinstance(value, date):
            return value.isoformat()
        try:
            return raw.decode(raw.encode(value))
        except WireError:
            raise WireError(f"not a JSON value: {_named(value)}; {REMEDY}", path=path) from None


def plain(value: Any, path: str = "") -> tuple[bytes, Any]:
    """Return a value as bytes and as dicts and lists; see `Converter.plain`."""
    return Converter().plain(value, path)


def listed(value: Any) -> Any:
    """Return a value as a list if an SDK takes it for one; see `Converter.items`."""
    return Converter().items(value, "")


def described(value: Any) -> Any:
    """Return plain JSON in the place of a function or a class that an SDK describes to the model by itself.

    It is counted, and not sent: an SDK makes its own description. Every other value is returned unchanged.
    """
    try:
        return _described(value)
    except RecursionError:
        return value


def _described(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _described(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(inner) for inner in value]
    if isinstance(value, type):
        return _from_foreign(value, "model_json_schema", {"name": value.__name__})
    if callable(getattr(value, "model_dump", None)):  # it holds a function, so that it has no JSON
        return _from_foreign(value, "model_dump", value, exclude_unset=True, by_alias=True)
    if inspect.isroutine(value):
        return {"name": value.__name__, "description": inspect.getdoc(value) or "", "parameters": _signature(value)}
    return value


def _from_foreign(value: Any, method: str, otherwise: Any, **ways: Any) -> Any:
    try:
        return _described(getattr(value, method)(**ways))
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        return otherwise


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""


def _is_listed(value: Any) -> bool:
    """Tell whether SDKs send a value as an array: sequences, sets, views and iterators, and no text and no model."""
    if isinstance(value, _TEXTS) or callable(getattr(value, "model_dump", None)):
        return False
    return isinstance(value, (Sequence, AbstractSet, MappingView, Iterator)) and not hasattr(value, "read")


def _named(value: Any) -> str:
    """Name an object that is no JSON value, with the reason if it is a usual one."""
    name = f"an object of type {type(value).__name__}"
    if inspect.isawaitable(value):
        return f"{name}, which was not awaited"
    if hasattr(value, "read") or hasattr(value, "__fspath__"):
        return f"{name}, a file: give its content, in base64"
    return name


def _called(dump: Any, ways: tuple[Mapping[str, Any], ...], value: Any, name: str, path: str) -> Any:
    more: dict[str, Any] = {}
    if hidden := getattr(value, "__api_exclude__", None):  # what the SDK has put in and the API does not know
        more["exclude"] = hidden
    config = getattr(value, "model_config", None)
    if isinstance(config, Mapping) and config.get("alias_generator"):  # Google's SDK: it sends no null of a model
        more["exclude_none"] = True
    for way in ways:
        try:
            return dump(**way, **(more if way else {}))
        except Exception as error:  # foreign code may raise anything
            if way and isinstance(error, TypeError):
                continue  # perhaps it does not take these arguments
            raise WireError(f"not a JSON value: {name} failed: {error}", path=path) from error
    raise AssertionError  # the last way returns or raises
