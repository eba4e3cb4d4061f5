"""Gemini: names of fields; the provider accepts camelCase and snake_case. Pure."""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["camelled", "data_of", "parts_of"]

_UNDERSCORE = re.compile("_([a-z])")
_DATA = (  # in the order in which they are looked for: what is beside a call is no text of its own
    ("functionCall", "function_call"),
    ("functionResponse", "function_response"),
    ("inlineData", "inline_data"),
    ("fileData", "file_data"),
    ("executableCode", "executable_code"),
    ("codeExecutionResult", "code_execution_result"),
    ("text",),
)


def camelled(holder: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's fields under camelCase names, without null values.

    A name that stands there in both ways keeps the one that it has.
    """
    found: dict[str, Any] = {}
    for name, value in holder.items():
        if value is None:
            continue
        other = _UNDERSCORE.sub(_raised, name) if isinstance(name, str) and "_" in name else name
        found[name if other != name and holder.get(other) is not None else other] = value
    return found


def data_of(part: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Return the data of a part: its camelCase name, its name in the part, and its value; else empty names."""
    for names in _DATA:
        for name in names:
            if part.get(name) is not None:
                return names[0], name, part[name]
    return "", "", None


def parts_of(content: Mapping[str, Any]) -> Any:
    """Return the parts of a content: a single object counts as one part, null as none; else unchanged."""
    parts = content.get("parts")
    return [parts] if isinstance(parts, Mapping) else [] if parts is None else parts


def _raised(found: re.Match[str]) -> str:
    return found.group(1).upper()
