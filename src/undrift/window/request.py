"""One request, as a mapping or as bytes, seen alike: its fields, and its items each with its bytes. No I/O."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from undrift.errors import WireError
from undrift.wire import objects, raw
from undrift.wire.form import MAX_ITEMS, Form

__all__ = ["Request"]

_EMPTY = (b"null", b"[]", b"{}", b'""', b"")


class _Fields(Mapping[str, Any]):
    """The fields of a body in bytes, each decoded when it is first looked at."""

    def __init__(self, raws: Mapping[str, Any]) -> None:
        self._raws = raws
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = raw.decode(self._raws[name], name)
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raws)

    def __len__(self) -> int:
        return len(self._raws)


class _Plain(Mapping[str, Any]):
    """The fields of a dict, an SDK's objects in them written as plain JSON when a field is first looked at."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self._given[name]
        if value is None or isinstance(value, (str, int, float)):
            return value
        if name not in self._made:
            try:
                self._made[name] = objects.plain(value, name)[1]
            except WireError:
                self._made[name] = value  # whoever needs it as JSON says what is wrong with it
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


class Request:
    """A request with its history.

    Args:
        body: A dict, JSON bytes, or an SDK's object; never changed. The dict may hold an SDK's objects: they are read as
            the JSON that the SDK would send.
        form: Of the provider.

    Raises:
        WireError: It has the wrong shape.
    """

    def __init__(self, body: Any, form: Form) -> None:
        self._form = form
        self.fields: Mapping[str, Any]
        if isinstance(body, (bytes, bytearray)):
            self._raws = raw.fields(bytes(body))
            self.fields = _Fields(self._raws)
        else:
            given = body if isinstance(body, dict) else objects.dumped(body)
            if not isinstance(given, dict):
                raise WireError(f"a body must be a dict or bytes, not {type(body).__name__}; {objects.REMEDY}")
            self._given = given
            self.fields = _Plain(given)
        self.is_bytes = isinstance(body, (bytes, bytearray))
        self.body = body
        self.given: Sequence[Any] = ()
        self.raws: list[bytes] = []

    def open(self) -> None:
        """Take the history apart; `given` and `raws` are empty before. A second call does nothing.

        Raises:
            WireError: There is none, or it has the wrong shape.
        """
        if self.given:
            return
        name = self._form.HISTORY
        if self.is_bytes and memoryview(self._raws.get(name, b""))[:1].tobytes() == b"[":
            self.given = self.raws = [bytes(item) for item in raw.split(self._raws[name], name)]
        else:
            items = self._form.items(self._history(name))
            pairs = [objects.plain(item, f"{name}[{i}]") for i, item in enumerate(items)]
            self.raws = [encoded for encoded, _ in pairs]
            self.given = self.raws if self.is_bytes else [item for _, item in pairs]
        if not self.given:
            raise WireError("at least one is required", path=name)
        if len(self.given) > MAX_ITEMS:
            raise WireError(f"at most {MAX_ITEMS:,} are possible, not {len(self.given):,}", path=f"{name}[{MAX_ITEMS}]")

    def _history(self, name: str) -> Any:
        """The field that holds the items; an SDK's object in place of all of them as plain JSON."""
        if self.is_bytes:
            return self.fields.get(name)
        history = self._given.get(name)
        return history if isinstance(history, (list, dict, str)) else objects.dumped(history, name) or history

    @property
    def model(self) -> str | None:
        """The model's name, where the body has it."""
        name = self.fields.get("model")
        return name if isinstance(name, str) else None

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not empty, without decoding it."""
        if not self.is_bytes:
            return bool(self._given.get(name))
        return memoryview(self._raws.get(name, b"null"))[:8].tobytes().translate(None, b" \t\r\n") not in _EMPTY

    def load(self, number: int) -> Any:
        """Return an item as a JSON value."""
        item = self.given[number]
        return raw.decode(item, f"{self._form.HISTORY}[{number}]") if self.is_bytes else item

    def dump(self, item: Any) -> Any:
        """Return a JSON value as an item in the notation in which the body came."""
        return raw.encode(item) if self.is_bytes else item

    def beside_key(self) -> bytes:
        """Return bytes that are equal when everything that is counted beside the history is."""
        names = [name for name in self._form.BESIDE if name in self.fields]
        if self.is_bytes:
            return b"\n".join(bytes(self._raws[name]) for name in names)
        return b"\n".join(raw.encode(self.fields[name], name) for name in names)

    def with_items(self, items: Sequence[Any], changed: Mapping[str, Any]) -> Any:
        """Return the body with other items, and with fields that were changed or added.

        Args:
            items: As `given`: bytes or JSON values.
            changed: Field to JSON value.
        """
        if self.is_bytes:
            fields = {**self._raws, **{name: raw.encode(value, name) for name, value in changed.items()}}
            return type(self.body)(raw.join(fields, self._form.HISTORY, items))
        beside = {name: self.fields[name] for name in self._given if name != self._form.HISTORY}
        return {**self._given, **beside, **changed, self._form.HISTORY: list(items)}
