"""Reads the calls in JavaScript that an agent wrote: ``const r = await tools.exec_command({cmd: "ls"})``. Pure.

Law: nothing is run, and time and memory are linear in the code. Literals, constants that hold literals, loops over them, and
texts joined with ``+``, ``join`` or a template are read. Everything else is an unknown value, and its argument is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from undrift.profiles.tokens import Token, partners, tokens_of

__all__ = ["MOST_CHARACTERS", "calls_in"]

MOST_CHARACTERS = 250_000
"""Longer code is not read."""

_SHORT_CHARACTERS = 20_000
_MOST_CALLS = 200
_MOST_TURNS = 50
_DEEPEST = 24
_MOST_READ = 4 * MOST_CHARACTERS  # characters of all values together: `a = a + a` doubles with every line
_UNKNOWN = object()
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
_LOOPS = frozenset({"flatMap", "forEach", "map"})
_DECLARES = frozenset({"const", "let", "var"})


@dataclass(frozen=True, slots=True)
class _Each:
    """The values of a loop's variable."""

    values: Sequence[Any]


def calls_in(code: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return the calls of ``tools.NAME(...)`` in the order of the code, each with the arguments that can be read.

    A text given in place of an object is the argument ``input``. A call in a loop is given for each of its values.
    """
    if len(code) > MOST_CHARACTERS or "tools" not in code:
        return ()
    return _remembered(code) if len(code) <= _SHORT_CHARACTERS else tuple(_Code(code).calls())


@lru_cache(maxsize=512)
def _remembered(code: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Read short code once: each code comes again with its result, and with each look at its session."""
    return tuple(_Code(code).calls())


class _Code:
    """Some code as tokens, with the constants that are known so far and their sizes."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._tokens = list(tokens_of(code))
        self._partner = partners(self._tokens)
        self._known: dict[str, tuple[Any, int]] = {}
        self._left = _MOST_READ
        self._turn, self._turns = 0, 1

    def calls(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each call with its arguments, at most `_MOST_CALLS`."""
        found, at = 0, 0
        while at < len(self._tokens) and found < _MOST_CALLS:
            called = self._called(at)
            if called is None:
                at = self._bound(at)
                continue
            name, at = called
            for given in self._given(at):
                found += 1
                yield name, given

    def _called(self, at: int) -> tuple[str, int] | None:
        """Return the name that is called at ``tools``, and the place of its first argument."""
        if not self._is(at, "tools") or self._is(at - 1, "."):
            return None
        if self._is(at + 1, ".") and self._is(at + 3, "(") and (name := self._named(at + 2)):
            return name, at + 4
        if self._is(at + 1, "[") and self._is(at + 3, "]") and self._is(at + 4, "("):
            inside = self._tokens[at + 2]
            return (inside.text, at + 5) if inside.kind == "text" and inside.text else None
        return None

    def _given(self, at: int) -> Iterator[Mapping[str, Any]]:
        """Yield the arguments of one call, once for each turn of the loop that it stands in."""
        self._turn, self._turns = 0, 1
        while self._turn < min(self._turns, _MOST_TURNS):
            value, _ = self._value(at, 0)
            yield value if isinstance(value, dict) else {"input": value} if isinstance(value, str) else {}
            self._turn += 1

    # -- constants and loops
    def _bound(self, at: int) -> int:
        """Learn the constant or the loop's variable that stands here, if one does; return where to read on."""
        name = self._named(at)
        if name and self._is(at + 1, "=") and not self._is(at - 1, "."):
            left = self._left
            self._turn, self._turns = 0, 1
            value, _ = self._value(at + 2, 0)
            self._known[name] = (value, left - self._left)
            return at + 2  # a list may hold calls
        if name and self._is(at + 1, "+") and self._is(at + 2, "="):
            self._known.pop(name, None)
        elif name in _DECLARES and self._is(at - 1, "("):
            end = self._partner.get(at + 1, at + 1) + 1
            if self._is(end, "of"):
                self._loop(at + 1, self._value(end + 1, 0)[0])
        elif self._is(at, ".") and self._named(at + 1) in _LOOPS and self._is(at + 2, "("):
            first = at + 4 if self._is(at + 3, "async") else at + 3
            is_wrapped = self._is(first, "(")
            start = self._partner.get(at - 1, at - 1) if self._is(at - 1, "]") else at - 1
            self._loop(first + is_wrapped, self._plain(start, 0)[0])
        return at + 1

    def _loop(self, at: int, values: Any) -> None:
        """Learn a loop's variable, or the variables of a list or an object."""
        each = values[:_MOST_TURNS] if isinstance(values, list) else []
        if name := self._named(at):
            self._known[name] = (_Each(each), self._size(each))
            return
        end = self._partner.get(at, at)
        for place, name in enumerate(filter(None, map(self._named, range(at + 1, min(end, at + 20))))):
            if self._is(at, "["):
                inner = [one[place] if isinstance(one, list) and place < len(one) else _UNKNOWN for one in each]
            else:
                inner = [one.get(name, _UNKNOWN) if isinstance(one, dict) else _UNKNOWN for one in each]
            self._known[name] = (_Each(inner), self._size(inner))

    @staticmethod
    def _size(values: Sequence[Any]) -> int:
        return max((len(value) if isinstance(value, str) else 1 for value in values), default=0)

    # -- values; each returns the value and the place behind it
    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        """Read a value that ends where an expression may end; several texts may be joined with ``+``."""
        value, at = self._plain(at, depth)
        parts = [value]
        while self._is(at, "+") and not self._is(at + 1, "+", "="):
            value, at = self._plain(at + 1, depth)
            parts.append(value)
        if len(parts) > 1:
            value = self._joined(parts, "")
        token = self._tokens[at] if at < len(self._tokens) else None
        ends = token is None or token.kind == "name" or token.text in (",", ")", "]", "}", ";")
        return (value, at) if ends else (_UNKNOWN, at)

    def _plain(self, at: int, depth: int) -> tuple[Any, int]:
        """Read a value without an operator, and what is asked of it: a member, an item, ``join``."""
        value, at = self._first(at, depth)
        while value is not _UNKNOWN:
            if self._is(at, ".") and self._is(at + 1, "join") and self._is(at + 2, "("):
                between, end = self._value(at + 3, depth + 1) if not self._is(at + 3, ")") else (",", at + 3)
                value, at = self._joined(value, between), end + 1
            elif self._is(at, ".") and (name := self._named(at + 1)) and not self._is(at + 2, "("):
                value, at = value.get(name, _UNKNOWN) if isinstance(value, dict) else _UNKNOWN, at + 2
            elif self._is(at, "[") and self._is(at + 2, "]") and self._tokens[at + 1].kind in ("number", "text"):
                value, at = _item(value, self._tokens[at + 1]), at + 3
            else:
                break
        return value, at

    def _first(self, at: int, depth: int) -> tuple[Any, int]:
        token = self._tokens[at] if at < len(self._tokens) else None
        if token is None or depth > _DEEPEST or self._left <= 0:
            return _UNKNOWN, at
        if token.kind == "text":
            return self._charged(token.text, len(token.text)), at + 1
        if token.kind == "number":
            return self._charged(_number(token.text), 1), at + 1
        if token.kind == "piece":
            return self._template(at, depth)
        if token.text == "String" and self._is(at + 1, ".") and self._is(at + 2, "raw"):
            return self._raw(at + 3)
        if token.kind == "name":
            return self._constant(token.text), at + 1
        if token.text == "[" and at in self._partner:
            return self._list(at, depth)
        if token.text == "{" and at in self._partner:
            return self._object(at, depth)
        if token.text == "(" and at in self._partner:
            value, end = self._value(at + 1, depth + 1)
            return (value, end + 1) if end == self._partner[at] else (_UNKNOWN, at)
        return _UNKNOWN, at

    def _constant(self, name: str) -> Any:
        if name in _WORDS:
            return _WORDS[name]
        value, size = self._known.get(name, (_UNKNOWN, 0))
        if isinstance(value, _Each):
            self._turns = max(self._turns, len(value.values))
            value = value.values[self._turn] if self._turn < len(value.values) else _UNKNOWN
        return self._charged(value, size)

    def _list(self, at: int, depth: int) -> tuple[Any, int]:
        end, at = self._partner[at], at + 1
        values: list[Any] = []
        while at < end:
            value, after = self._value(at, depth + 1)
            values.append(self._charged(value, 1))
            at = self._next(after, end)
        return values, end + 1

    def _object(self, at: int, depth: int) -> tuple[Any, int]:
        end, at = self._partner[at], at + 1
        values: dict[str, Any] = {}
        while at < end:
            key, after = self._tokens[at], at
            if key.kind in ("name", "number", "text"):
                value, after = self._value(at + 2 if self._is(at + 1, ":") else at, depth + 1)
                if value is not _UNKNOWN and self._charged(value, 1) is not _UNKNOWN:
                    values[key.text] = value
            at = self._next(after, end)
        return values, end + 1

    def _template(self, at: int, depth: int) -> tuple[Any, int]:
        """Read a template; an expression that is not known stays in it as it is written."""
        parts: list[str] = []
        while at < len(self._tokens) and self._tokens[at].kind == "piece":
            parts.append(self._tokens[at].text)
            if not self._is(at + 1, "${"):
                return self._joined(parts, ""), at + 1
            end = self._partner.get(at + 1)
            if end is None:
                break
            value, after = self._value(at + 2, depth + 1)
            is_known = after == end and isinstance(value, str | int | float)
            written = self._code[self._tokens[at + 1].start : self._tokens[end].end]
            parts.append(str(value) if is_known else written)
            at = end + 1
        return _UNKNOWN, at

    def _raw(self, at: int) -> tuple[Any, int]:
        """Read ``String.raw`` before a template without expressions."""
        token = self._tokens[at] if at < len(self._tokens) else None
        if token is None or token.kind != "piece" or self._is(at + 1, "${"):
            return _UNKNOWN, at
        written = self._code[token.start : token.end].removesuffix("`")
        return self._charged(written, len(written)), at + 1

    def _joined(self, parts: Any, between: Any) -> Any:
        if not isinstance(parts, list) or not isinstance(between, str) or _UNKNOWN in parts:
            return _UNKNOWN
        texts = [str(part) for part in parts if isinstance(part, str | int | float)]
        if len(texts) < len(parts):
            return _UNKNOWN
        size = sum(map(len, texts)) + len(between) * len(texts)
        return between.join(texts) if self._charged("", size) is not _UNKNOWN else _UNKNOWN

    # -- tokens
    def _next(self, at: int, end: int) -> int:
        """Return the place behind the next comma of the same list or object."""
        while at < end and not self._is(at, ","):
            at = self._partner[at] + 1 if self._partner.get(at, 0) > at else at + 1
            self._left -= 1  # a loop around it reads it again and again
            if self._left <= 0:
                return end
        return at + 1

    def _charged(self, value: Any, size: int) -> Any:
        self._left -= size + 1
        return value if self._left > 0 else _UNKNOWN

    def _is(self, at: int, *texts: str) -> bool:
        if not 0 <= at < len(self._tokens):
            return False
        token = self._tokens[at]
        return token.text in texts and token.kind in ("name", "sign")

    def _named(self, at: int) -> str:
        token = self._tokens[at] if 0 <= at < len(self._tokens) else None
        return token.text if token is not None and token.kind == "name" else ""


def _item(value: Any, at: Token) -> Any:
    if isinstance(value, dict):
        return value.get(at.text, _UNKNOWN)
    place = _number(at.text)
    return value[place] if isinstance(value, list) and isinstance(place, int) and place < len(value) else _UNKNOWN


def _number(text: str) -> int | float | object:
    try:
        return int(text) if len(text) < 20 and text.isdecimal() else float(text[:40])
    except ValueError:
        return _UNKNOWN
