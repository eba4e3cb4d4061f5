"""Gemini: the notations of a history that Google's SDK takes beside a list of contents. Pure.

Law: a history that the provider itself would take is returned as it is; only a text or a lone part is put into a content.
"""

from collections.abc import Mapping
from typing import Any

from undrift.errors import WireError
from undrift.wire import objects
from undrift.wire.gemini.names import data_of

__all__ = ["contents"]


def contents(history: Any) -> list[Any]:
    """Return the contents of a history. Parts and texts in a row are one content, as in Google's SDK.

    Raises WireError: it is no history.
    """
    listed = history if isinstance(history, list) else [history]
    if history is None or isinstance(history, (bool, int, float, bytes)):
        raise WireError(f"must be an array, not {type(history).__name__}", path="contents")
    plain = [_plain(given, f"contents[{number}]") for number, given in enumerate(listed)]
    if not any(isinstance(one, list) or _is_part(one) for one in plain):
        return listed
    found: list[Any] = []
    open_role = ""
    for given, one in zip(listed, plain, strict=True):
        if isinstance(one, list):
            found.append({"role": "user", "parts": [_part(inner) for inner in one]})
            open_role = ""
        elif not _is_part(one):
            found.append(given)
            open_role = ""
        else:
            part = _part(one)
            role = "model" if data_of(part)[0] == "functionCall" else "user"
            if role == open_role:
                found[-1]["parts"].append(part)
            else:
                found.append({"role": role, "parts": [part]})
            open_role = role
    return found


def _plain(given: Any, path: str) -> Any:
    return given if isinstance(given, (dict, str)) else objects.plain(given, path)[1]


def _is_part(one: Any) -> bool:
    if isinstance(one, str):
        return True
    return isinstance(one, Mapping) and "parts" not in one and "role" not in one and bool(data_of(one)[0] or _file(one))


def _part(one: Any) -> Any:
    if isinstance(one, str):
        return {"text": one}
    return {"fileData": file} if isinstance(one, Mapping) and (file := _file(one)) else one


def _file(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an uploaded file; empty if it is something else."""
    uri, kind = one.get("uri"), one.get("mimeType", one.get("mime_type"))
    return {"fileUri": uri, "mimeType": kind} if isinstance(uri, str) and isinstance(kind, str) else {}
