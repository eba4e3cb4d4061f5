"""Gemini: reads a content into blocks. Pure.

All calls of a model's content and all responses of the next one are one, whether they have ids, positions
or, as clients mix it, ids on the calls alone. So they share one id here, and the engine need not match them.

A model's content leaves as a whole, with the responses to its calls: were its words left behind, they would stand
directly before the model's next call, which is refused (G5). For the same reason a content of the user without any
words, as a lone picture, leaves with the model's content before it, which it parts from the next. Thoughts, text and
signatures thus stay as the model gave them (G1, G7).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from undrift.errors import WireError
from undrift.wire.form import Block, View, json_text, string_at
from undrift.wire.gemini import notations
from undrift.wire.gemini.media import media_tokens, signature_tokens
from undrift.wire.gemini.names import camelled, data_of, parts_of

__all__ = ["CALLS", "beside_texts", "delta", "items", "read", "session_id"]

CALLS = "#"
"""The id of all calls of one content, and of all that answers them."""

_ROLES = {"": "user", "model": "assistant", "function": "tool"}


def items(history: Any) -> list[Any]:
    """Return the contents; see `Form.items`. Google's SDK makes contents of a text, a part, and a list of them: so it is here."""
    return notations.contents(history)


def delta(body: Mapping[str, Any]) -> str | None:
    """Return the field that refers to a history stored by the provider; see `Form.delta`."""
    names = ("previous_interaction_id", "previousInteractionId")
    return next((name for name in names if body.get(name) is not None), None)


def session_id(body: Mapping[str, Any]) -> str | None:
    """Return ``session_id``, which only Gemini CLI writes, for Code Assist; see `Form.session_id`."""
    found = body.get("session_id")
    return found if isinstance(found, str) and found else None


def beside_texts(beside: Mapping[str, Any]) -> Iterator[str]:
    """Yield system instruction and tools; see `Form.beside_texts`."""
    system = camelled({name: beside.get(name) for name in ("systemInstruction", "system_instruction")})
    for given in system.values():
        parts = parts_of(given) if isinstance(given, Mapping) else [given]
        for part in parts if isinstance(parts, list) else [parts]:
            text = part.get("text") if isinstance(part, Mapping) else part
            yield text if isinstance(text, str) else json_text(part)
    if tools := beside.get("tools"):
        yield json_text(tools)
    config = beside.get("config")
    if isinstance(config, Mapping):
        yield from beside_texts({name: value for name, value in config.items() if name != "config"})


def read(item: Any, path: str) -> View:
    """Read one content; see `Form.read`."""
    if not isinstance(item, Mapping):
        raise WireError(f"a content must be an object, not {type(item).__name__}", path=path)
    given, parts = item.get("role"), parts_of(item)
    if given is not None and not isinstance(given, str):
        raise WireError(f"must be a string, not {type(given).__name__}", path=f"{path}.role")
    if not isinstance(parts, list):
        raise WireError(f"must be an array, not {type(parts).__name__}", path=f"{path}.parts")
    role = _ROLES.get(given or "", given or "")
    blocks = [_block(part, f"{path}.parts[{number}]") for number, part in enumerate(parts)]
    has_results, speaks = (any(block.kind == kind for block in blocks) for kind in ("result", "text"))
    if role == "user" and has_results and not speaks:
        role = "tool"
    is_whole = role in ("assistant", "tool") or (role == "user" and not speaks)
    bound = tuple(_bound(block, role, has_results) for block in blocks)
    return View(role, bound, bundle="run" if is_whole and blocks else "", is_empty=not blocks)


def _bound(block: Block, role: str, has_results: bool) -> Block:
    """Give calls, and the responses and media that answer them, the id that pairs them."""
    makes = role == "assistant" and block.kind == "call"
    answers = role != "assistant" and has_results and block.kind in ("result", "image")
    return replace(block, call_id=CALLS, answers=answers) if makes or answers else block


def _block(part: Any, path: str) -> Block:
    if not isinstance(part, Mapping):
        raise WireError(f"a part must be an object, not {type(part).__name__}", path=path)
    kind, name, data = data_of(part)
    is_signed = bool(camelled(part).get("thoughtSignature"))
    extra = signature_tokens(part)
    if kind == "text":
        return Block("text", string_at(part, name, path), extra_tokens=extra, is_signed=is_signed)
    if kind and not isinstance(data, Mapping):
        raise WireError(f"must be an object, not {type(data).__name__}", path=f"{path}.{name}")
    called = data.get("name") if kind in ("functionCall", "functionResponse") else None
    tool = called if isinstance(called, str) else None
    if kind == "functionCall":
        given = data.get("args")
        text = json_text({} if given is None else given, f"{path}.{name}.args")
        return Block("call", text, tool_name=tool, extra_tokens=extra, is_signed=is_signed)
    if kind == "functionResponse":
        text, counted, media = _result(data, f"{path}.{name}")
        tokens = extra + media
        return Block("result", text, None, True, tool, tokens, counted, is_signed=is_signed)
    text = json_text(part, path)
    if kind in ("inlineData", "fileData"):
        tokens = extra + media_tokens(data, part)
        return Block("image", text, extra_tokens=tokens, counted="", is_signed=is_signed)
    return Block("other", text, is_signed=is_signed)


def _result(data: Mapping[str, Any], path: str) -> tuple[str, str, int]:
    """Return a result's text for recall, its billed text, and the tokens of its media.

    A lone output is its text; an error stays JSON, so that it is seen to be one (G10).
    """
    given, parts = data.get("response"), parts_of(data)
    output = given.get("output") if isinstance(given, Mapping) and len(given) == 1 else None
    counted = output if isinstance(output, str) else json_text(given, f"{path}.response")
    if not parts:
        return counted, counted, 0
    media = 0
    for part in parts if isinstance(parts, list) else [parts]:
        kind, _, held = data_of(part) if isinstance(part, Mapping) else ("", "", None)
        if kind in ("inlineData", "fileData"):
            media += media_tokens(held, part)
    return json_text(data, path), counted, media
