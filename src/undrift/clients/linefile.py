"""One value in a settings file of lines: TOML, variables (``.env``) and the plain YAML of a list of options. Pure.

Law: an edit counts only if the file then says exactly what is wanted; a file that is written in another way is refused.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from undrift.clients.jsontext import line_end_of
from undrift.clients.valuefile import BLANK, ValueNote
from undrift.errors import InputError

__all__ = ["EnvValues", "TomlValues", "YamlValues"]

_OTHERWISE = "is written so that undrift cannot set {name!r} in it; set it yourself"
_TOML_LINE = re.compile(r"^\ufeff?([ \t]*+([A-Za-z0-9_-]++)[ \t]*+=[^\n]*+(?:\n|\Z))", re.MULTILINE)
_TOML_VALUE = re.compile(
    r"(?<![A-Za-z0-9_-])([A-Za-z0-9_-]++)[\"']?[ \t]*+=[ \t]*+(\"(?>(?:[^\"\\\n]|\\.)*)\"|'[^'\n]*+')"
)
_MOST_TRIED = 50  # lines that could be the one; each is tried by reading the whole file
_ENV_LINE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*([^\r\n]*)", re.MULTILINE)
_YAML_LINE = re.compile(r"^([A-Za-z0-9_-]{1,60}):(?:[ \t]+([^\r\n]*))?(?=\r?$)", re.MULTILINE)
_YAML_REST = re.compile(r"(?:[ \t][^\r\n]*|-[ \t][^\r\n]*|#[^\r\n]*|)")


@dataclass(frozen=True, slots=True)
class TomlValues:
    """A TOML file: texts at its top, or in a table that is there."""

    def value(self, text: str, key: Sequence[str]) -> Any:
        """See `ValueFile`."""
        return _at(_toml(text), key)

    def put(self, text: str, key: Sequence[str], value: Any) -> tuple[str, ValueNote]:
        """See `ValueFile`."""
        written = json.dumps(value, ensure_ascii=False)
        if self.value(text, key) is not None:
            after, former = self._replaced(text, key, value, written)
            return after, ValueNote(tuple(key), former=former)
        start = 1 if text.startswith("\ufeff") else 0
        piece = f"{key[0]} = {written}{line_end_of(text)}"
        after = text[:start] + piece + text[start:]
        if len(key) != 1 or not _is_toml(after, {**_toml(text), key[0]: value}):
            raise InputError(_OTHERWISE.format(name=key[-1]))
        return after, ValueNote(tuple(key), piece)

    def take(self, text: str, key: Sequence[str], kept: ValueNote | None) -> str:
        """See `ValueFile`."""
        if self.value(text, key) is None:
            return text
        if kept is not None and kept.former is not None:
            former = tomllib.loads(f"x = {kept.former}")["x"]
            return self._replaced(text, key, former, kept.former)[0]
        wanted = {name: value for name, value in _toml(text).items() if name != key[0]}
        for cut in self._cuts(text, key, kept):
            if len(key) == 1 and _is_toml(cut, wanted):
                return cut
        raise InputError(f"sets {key[-1]!r} in a way that undrift does not write: take it out yourself")

    def _cuts(self, text: str, key: Sequence[str], kept: ValueNote | None) -> Iterator[str]:
        if kept is not None and kept.piece and text.count(kept.piece) == 1:
            yield text.replace(kept.piece, "")
        for found in islice((one for one in _TOML_LINE.finditer(text) if one[2] == key[-1]), _MOST_TRIED):
            yield text[: found.start(1)] + text[found.end() :]

    def _replaced(self, text: str, key: Sequence[str], value: Any, written: str) -> tuple[str, str]:
        """Return the text with another value of a key, and the text of the former value."""
        wanted = _with(_toml(text), key, value)
        for found in islice((one for one in _TOML_VALUE.finditer(text) if one[1] == key[-1]), _MOST_TRIED):
            after = text[: found.start(2)] + written + text[found.end(2) :]
            if _is_toml(after, wanted):
                return after, found[2]
        raise InputError(_OTHERWISE.format(name=key[-1]))


def _at(value: Any, key: Sequence[str]) -> Any:
    for name in key:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _with(value: Mapping[str, Any], key: Sequence[str], leaf: Any) -> dict[str, Any]:
    return {**value, key[0]: _with(value[key[0]], key[1:], leaf) if len(key) > 1 else leaf}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not valid TOML: {error}") from error


def _is_toml(text: str, wanted: Any) -> bool:
    try:
        return bool(_toml(text) == wanted)
    except InputError:
        return False


class _Lines:
    """The part of both plain forms: a value is the rest of one line."""

    _LINE: re.Pattern[str]

    def _check(self, text: str) -> None:
        """Raise InputError: the file is not written in the plain form."""

    def _write(self, key: str, value: Any, end: str) -> str:
        """Return the line of a value, without its end."""
        raise NotImplementedError

    def value(self, text: str, key: Sequence[str]) -> Any:
        """See `ValueFile`."""
        found = self._found(text, key[0])
        return None if found is None else _unquoted(found[2] or "")

    def put(self, text: str, key: Sequence[str], value: Any) -> tuple[str, ValueNote]:
        """See `ValueFile`."""
        self._check(text)
        end = line_end_of(text)
        line = self._write(key[0], value, end)
        found = self._found(text, key[0])
        if found is None:
            before = end if text.strip(BLANK) and not text.endswith("\n") else ""
            piece = f"{before}{line}{end}"
            return text + piece, ValueNote(tuple(key), piece)
        if (
            isinstance(value, list)
            or _is_open(found[2] or "")
            or text[found.end() : self._end(text, found.end())].strip()
        ):
            raise InputError(_OTHERWISE.format(name=key[0]))
        return text[: found.start()] + line + text[found.end() :], ValueNote(tuple(key), former=found[0])

    def take(self, text: str, key: Sequence[str], kept: ValueNote | None) -> str:
        """See `ValueFile`."""
        found = self._found(text, key[0])
        if found is None:
            return text
        if kept is not None and kept.former is not None:
            return text[: found.start()] + kept.former + text[found.end() :]
        if kept is not None and kept.piece and text.count(kept.piece) == 1:
            before, _, after = text.partition(kept.piece)
            end = kept.piece[: len(kept.piece) - len(kept.piece.lstrip("\r\n"))]  # of a last line that had none
            if end or not before or before.endswith("\n"):
                return before + (end if after else "") + after
        return text[: found.start()] + text[self._end(text, found.end()) :]

    def _end(self, text: str, at: int) -> int:
        """Return where the lines of a value end."""
        stop = text.find("\n", at)
        return len(text) if stop < 0 else stop + 1

    def _found(self, text: str, key: str) -> re.Match[str] | None:
        found = [one for one in self._LINE.finditer(text) if one[1] == key]
        if len(found) > 1:
            raise InputError(f"sets {key!r} more than once; leave one line of them")
        return found[0] if found else None


class EnvValues(_Lines):
    """A file of variables, ``NAME=value``."""

    _LINE = _ENV_LINE

    def _write(self, key: str, value: Any, end: str) -> str:  # noqa: ARG002 - one line
        return f"{key}={value}"


class YamlValues(_Lines):
    """A YAML file of options, each at the beginning of a line; a value is a text, or a list of texts."""

    _LINE = _YAML_LINE

    def _write(self, key: str, value: Any, end: str) -> str:
        if isinstance(value, list):
            return end.join([f"{key}:", *(f"  - {one}" for one in value)])
        return f"{key}: {value}"

    def _check(self, text: str) -> None:
        has_option = False
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
            plain = line.rstrip("\r")
            is_option = _YAML_LINE.fullmatch(plain) is not None
            has_option |= is_option
            is_rest = _YAML_REST.fullmatch(plain) and (has_option or plain.lstrip()[:1] in ("", "#"))
            if not (is_option or is_rest or (plain == "---" and number == 1)):
                raise InputError(f"line {number} is not a plain option, so that nothing can be added safely")

    def value(self, text: str, key: Sequence[str]) -> Any:
        """Return a text, or the list of texts behind a key."""
        found = self._found(text, key[0])
        if found is None:
            return None
        if found[2]:
            return _unquoted(found[2])
        lines = text[found.end() : self._end(text, found.end())].split("\n")
        return [line.strip().removeprefix("- ").strip() for line in lines if line.strip().startswith("- ")]

    def _end(self, text: str, at: int) -> int:
        """A list continues as long as lines are indented, or begin with a dash."""
        stop = text.find("\n", at)
        while stop >= 0 and text[stop + 1 : stop + 2] in (" ", "\t", "-") and not text.startswith("---", stop + 1):
            stop = text.find("\n", stop + 1)
        return len(text) if stop < 0 else stop + 1


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
        return value[1:-1]
    return value.replace("\t", " ").partition(" #")[0].rstrip()


def _is_open(value: str) -> bool:
    """Return whether a value continues in the next line, or is not a plain text."""
    value = value.strip()
    return not value or value[0] in "|>&*!{[" or (value[0] in "\"'`" and value.count(value[0]) < 2)
