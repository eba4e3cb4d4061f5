"""One request, a mapping or bytes: its fields, and its items each with its bytes. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.errors import WireError
from undrift.wire import objects, other_wires, raw
from undrift.wire.beginning import Beginning
from undrift.wire.form import MAX_ITEMS, Form

__all__ = ["Request"]

_SPARED = 32  # items at the end of a history: a client rewrites them when it moves its cache marker
_LEAST = 64  # new items until the known beginning is extended
_EMPTY = (b"null", b"[]", b"{}", b'""', b"")


class Request:
    """A request with its history. Raises WireError: it has the wrong shape.

    `body` is what came in. If it held something that can be read only once, as a generator, it is the body made of that.

    Args:
        body: A dict, JSON bytes, or an SDK's object; never changed. A dict may hold what the SDK takes, such as its objects
            and tuples: they are read as the JSON that the SDK would send.
        beginnings: The beginnings of earlier bodies. If this body begins with one of them, that part is not read again.
    """

    def __init__(self, body: Any, form: Form, beginnings: Iterable[Beginning] = ()) -> None:
        self._form = form
        self.is_bytes = isinstance(body, (bytes, bytearray))
        self.body = body
        self.beginning: Beginning | None = None
        self.tail: Sequence[bytes] = ()  # the items after the beginning
        self.typed_with = ""  # the user agent, if a person types in this conversation; the gateway knows it
        self._grown: Beginning | None = None
        self._has_grown = False
        self._whole: list[Any] = []
        self._encoded: list[bytes] = []
        self._encoded_fields: dict[str, bytes] = {}
        self.fields: Mapping[str, Any]
        self._converter = objects.Converter()
        self._described: set[str] = set()
        if self.is_bytes:
            self._bytes = bytes(body)
            self._raws = self._known_fields(beginnings) or raw.fields(self._bytes)
            self.fields = raw.Fields(self._raws, self._field)
        else:
            given = dict(body) if isinstance(body, Mapping) else objects.dumped(body)
            if not isinstance(given, dict):
                raise WireError(f"a body must be a dict or bytes, not {type(body).__name__}; {objects.REMEDY}")
            self._given = objects.without_left_out(given)
            self.fields = raw.Fields(self._given, self._field)

    def go_on(self, beginnings: Iterable[Beginning]) -> None:
        """Use the first of these known beginnings that this request shares, unless it uses one already."""
        if self.is_bytes and self.beginning is None:
            self._known_fields(beginnings)

    def open(self, beginnings: Iterable[Beginning] = ()) -> None:
        """Read the items of the history: this fills `given` and `raws`. A second call does nothing.

        Raises WireError: there is no history, or it has the wrong shape.
        """
        self.go_on(beginnings)
        if self.is_open:
            return
        name = self._form.HISTORY
        if wrong := other_wires.of_request(self._form.NAME, name, self.fields):
            raise WireError(wrong)
        is_array = self.is_bytes and memoryview(self._raws.get(name, b""))[:1].tobytes() == b"["
        if not is_array:
            items = self._form.items(self._history(name))
            pairs = [self._pair(item, number) for number, item in enumerate(items)]
            self._encoded = [encoded for encoded, _ in pairs]
            self._whole = self._encoded if self.is_bytes else [item for _, item in pairs]
            self._keep_drained(name, self._whole)
        else:
            self._whole = self._encoded = [bytes(item) for item in raw.split(self._raws[name], name)]
        if not self._whole:
            raise WireError("at least one is required", path=name)
        if len(self._whole) > MAX_ITEMS:
            raise WireError(
                f"at most {MAX_ITEMS:,} are possible, not {len(self._whole):,}", path=f"{name}[{MAX_ITEMS}]"
            )
        self.tail = self._encoded

    def read_whole(self) -> None:
        """Forget the known beginning, so that `open` reads all items."""
        self.tail, self.beginning = self.raws, None

    @property
    def is_open(self) -> bool:
        """True if the items of the history were read, at least those after the known beginning."""
        return bool(self._whole) or self.beginning is not None

    @property
    def known(self) -> int:
        """The number of items in the known beginning."""
        return 0 if self.beginning is None else self.beginning.count

    @property
    def given(self) -> Sequence[Any]:
        """The items as the client sent them, bytes or JSON values; empty before `open`."""
        if not self._whole and self.beginning is not None:
            self._whole = [*map(self.beginning.item, range(self.known)), *self.tail]
        return self._whole

    @property
    def raws(self) -> Sequence[bytes]:
        """Each item as bytes; empty before `open`."""
        return self._encoded or self.given

    def grown(self) -> Beginning | None:
        """Return the beginning by which the next request is recognised. None means: it would save too little.

        A second call returns the same object.
        """
        if not self._has_grown:
            self._grown, self._has_grown = self._longer(), True
        return self._grown

    def _longer(self) -> Beginning | None:
        items = self.tail[: max(0, len(self.tail) - _SPARED)]
        if not self.is_bytes or len(items) < _LEAST:
            return self.beginning
        if self.beginning is not None:
            return self.beginning.longer(self._bytes, items)
        return Beginning.of(self._bytes, self._form.HISTORY, items)

    def _known_fields(self, beginnings: Iterable[Beginning]) -> dict[str, Any] | None:
        """Use the first beginning that fits and return the fields; None if none fits."""
        for beginning in beginnings:
            rest = beginning.rest(self._bytes) if beginning.name == self._form.HISTORY else None
            if rest is not None and beginning.count + len(rest.items) <= MAX_ITEMS:
                self.beginning, self.tail = beginning, rest.items
                return rest.fields
        return None

    def _field(self, name: str) -> Any:
        """Return a field as a JSON value."""
        if not self.is_bytes:
            return self._given_field(name)
        is_left_out = self.beginning is not None and name == self._form.HISTORY
        return raw.decode((raw.fields(self._bytes) if is_left_out else self._raws)[name], name)

    def _pair(self, item: Any, number: int) -> tuple[bytes, Any]:
        """Return an item as bytes and as plain JSON; see `Converter.plain`."""
        if type(item) is dict:
            try:
                return raw.encode(item), item
            except WireError:
                pass  # it holds an object: converted below. `suppress` costs as much as the encoding
        return self._converter.plain(item, f"{self._form.HISTORY}[{number}]")

    def _given_field(self, name: str) -> Any:
        value = self._given[name]
        if value is None or isinstance(value, (str, int, float)):
            return value
        try:
            plain = self._converter.plain(value, name)[1]
        except WireError:
            try:
                plain = self._converter.plain(objects.described(value), name)[1]
            except WireError:
                return value
            self._described.add(name)
        self._keep_drained(name, plain)
        return plain

    def _keep_drained(self, name: str, plain: Any) -> None:
        """Put a field into the body if its value could be read only once."""
        if self._converter.drained:
            self._converter.drained.clear()
            self._given[name] = plain
            self.body = self._given

    def _history(self, name: str) -> Any:
        """Return the field with the items; a list if an SDK takes it for one."""
        if self.is_bytes:
            return self.fields.get(name)
        history = self._given.get(name)
        if isinstance(history, (list, dict, str)):
            return history
        listed = self._converter.items(history, name)
        return listed if isinstance(listed, list) else objects.dumped(history, name) or history

    @property
    def model(self) -> str | None:
        """The model's name, if the body has it."""
        name = self.fields.get("model")
        return name if isinstance(name, str) else None

    def has(self, name: str) -> bool:
        """Return whether a field is there and not empty, without decoding it."""
        if not self.is_bytes:
            return bool(self._given.get(name))
        if self.beginning is not None and name == self._form.HISTORY:
            return True
        return memoryview(self._raws.get(name, b"null"))[:8].tobytes().translate(None, b" \t\r\n") not in _EMPTY

    def load(self, number: int) -> Any:
        """Return a client's item as a JSON value. Raises WireError: it shows that the request is of another wire."""
        item, path = self.item(number), f"{self._form.HISTORY}[{number}]"
        value = raw.decode(item, path) if self.is_bytes else self._converter.deeply_plain(item, path)
        if isinstance(value, Mapping) and (wrong := other_wires.of_item(self._form.NAME, value)):
            raise WireError(wrong, path=path)
        return value

    def item(self, number: int) -> Any:
        """Return an item unchanged: as bytes or as a JSON value."""
        return self.bytes_of(number) if self.is_bytes else self._whole[number]

    def bytes_of(self, number: int) -> bytes:
        """Return an item as bytes."""
        if self.beginning is None or number >= self.known:
            return self.tail[number - self.known]
        return self.beginning.item(number)

    @property
    def count(self) -> int:
        """The number of items in the history; 0 before `open`."""
        return self.known + len(self.tail)

    def beside_key(self) -> tuple[bytes, ...]:
        """Return bytes that are equal for requests with equal fields next to the history, as far as tokens count."""
        return tuple(self.raw_of(name) for name in self._form.BESIDE)

    def raw_of(self, name: str) -> bytes:
        """Return a field as bytes, the same object each time; empty if the body does not have it."""
        if name not in self._encoded_fields:
            found = b""
            if name in self.fields:
                found = bytes(self._raws[name]) if self.is_bytes else raw.encode(self.fields[name], name)
            self._encoded_fields[name] = found
        return self._encoded_fields[name]

    def with_items(self, items: Sequence[Any] | None, changed: Mapping[str, Any]) -> Any:
        """Return the body with other items, and with changed or added fields.

        `items`: as `given`: bytes or JSON values; None for the items of the client.
        """
        items = self.given if items is None else items
        if self.is_bytes:
            fields = {**self._raws, **{name: raw.encode(value, name) for name, value in changed.items()}}
            return type(self.body)(raw.join(fields, self._form.HISTORY, items))
        names = (name for name in self._given if name != self._form.HISTORY)
        beside = {name: self._given[name] if name in self._described else self.fields[name] for name in names}
        return {**self._given, **beside, **changed, self._form.HISTORY: list(items)}
