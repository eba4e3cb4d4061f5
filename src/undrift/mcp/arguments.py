"""The arguments of a call, checked against the tool's schema; an error says how to repair the call. Pure.

Knows the part of JSON schema that our tools use: one flat object, plain types, lists of texts, choices.
"""

from collections.abc import Mapping
from typing import Any

from undrift.errors import InputError

__all__ = ["MOST_CHARACTERS", "checked", "lines_of"]

MOST_CHARACTERS = 1_000_000
"""The most characters of one argument; longer texts belong into a file."""

_MOST_LINE_DIGITS = 9
_TYPES: Mapping[str, type] = {"string": str, "boolean": bool, "integer": int, "array": list}
_SHOWN = 80


def checked(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments, each of the type in the schema; null counts as not given.

    Raises InputError: an argument is unknown, missing or of another type.
    """
    known: Mapping[str, Any] = schema["properties"]
    unknown = [name for name in arguments if name not in known]
    if unknown:
        names = ", ".join(known) or "none"
        raise InputError(
            f"{tool} has no argument {unknown[0][:_SHOWN]!r}; it takes: {names}. Call it again without that"
        )
    given = {name: value for name, value in arguments.items() if value is not None}
    missing = [name for name in schema.get("required", ()) if given.get(name) in (None, "")]
    if missing:
        raise InputError(
            f"{tool} needs {missing[0]!r}: {known[missing[0]].get('description', 'call it again with it')}"
        )
    for name, value in given.items():
        if problem := _problem(known[name], value):
            raise InputError(f"{tool}: {name!r} must be {problem}; call it again with that")
    return given


def lines_of(text: str) -> tuple[int, int | None]:
    """Return the first and last line to show (last None: to the end); negative numbers count from the end.

    `text`: as in ``10-40``, ``10-``, ``10`` and ``-40``. Raises InputError: it is something else.
    """
    first, dash, last = text.strip().partition("-")
    parts = [part for part in (first, last) if part]
    if not parts or any(not part.isascii() or not part.isdecimal() or len(part) > _MOST_LINE_DIGITS for part in parts):
        raise InputError(f"lines={text[:_SHOWN]!r}: give them as in 10-40, 10- (to the end), -40 (the last 40)")
    if not first:
        return -max(1, int(last)), None
    start = max(1, int(first))
    end = int(last) if last else (None if dash else start)
    if end is not None and end < start:
        raise InputError(f"lines={text[:_SHOWN]!r}: the first line is behind the last; give them as in 10-40")
    return start, end


def _problem(schema: Mapping[str, Any], value: Any) -> str:
    wanted = schema.get("type")
    types = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if types and not any(_is(value, name) for name in types):
        return " or ".join(f"of type {name}" for name in types)
    choices = schema.get("enum")
    if choices and value not in choices:
        return f"one of {', '.join(choices)}"
    texts = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not all(isinstance(one, str) for one in texts):
        return "a list of texts"
    if sum(len(one) for one in texts if isinstance(one, str)) > MOST_CHARACTERS:
        return f"shorter than {MOST_CHARACTERS:,} characters"
    return ""


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
