"""Histories as clients keep them, one for each wire form: what was said and done is appended, and resent with each request.

Law: a history is only appended to, or cut off; nothing in it is changed. Pure.

::

    history = history_for("openai-chat", model="gpt-5.5")
    history.say("Fix it.")
    reply = provider.send(history.body(), turn=ModelTurn(calls=(Call("Read", {"path": "a.py"}),)))
    history.take(reply.body)
    history.answer([Result("the file")])
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from undrift.errors import InputError
from undrift.wire.replies import answer_from

__all__ = ["ClientHistory", "Result", "history_for"]

_PIXEL = "aGk="


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool."""

    text: str
    is_error: bool = False


class ClientHistory:
    """One conversation of a client; see `history_for`.

    Args:
        deferred: Tools that the model must load first, by a call of `loader`; only of a form that knows such tools.
        fields: Further fields of the body.
    """

    wire = ""
    loader = ""
    """The name of the tool that loads others; empty in a form without."""

    def __init__(
        self,
        model: str,
        system: str = "Be brief.",
        tools: Sequence[str] = ("Read",),
        deferred: Sequence[str] = (),
        **fields: Any,
    ) -> None:
        self.model, self.system, self.tools, self.fields = model, system, tuple(tools), fields
        self.deferred = tuple(deferred)
        self.items: list[dict[str, Any]] = []
        self.open: tuple[tuple[str, str], ...] = ()  # id and tool of the calls that wait for a result

    def __len__(self) -> int:
        return len(self.items)

    def fork(self) -> Self:
        """Return a second history with the same beginning."""
        other = copy.copy(self)
        other.items = list(self.items)
        return other

    def cut(self, length: int) -> None:
        """Go back to a length at which nothing was waiting for a result."""
        del self.items[length:]
        self.open = ()

    def say(self, text: str, *, image: bool = False) -> None:
        """Append the user's words, and perhaps a picture."""
        raise NotImplementedError

    def take(self, reply: Any) -> None:
        """Append the model's answer: an SDK's object, a dict, or anything else that `Session.record` takes.

        Raises WireError: it is no answer of this form.
        """
        self._take(answer_from(reply, self.wire))

    def _take(self, reply: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def answer(self, results: Sequence[Result]) -> None:
        """Append a result for each open call."""
        raise NotImplementedError

    def load(self, names: Sequence[str]) -> None:
        """Append the result of the one open call, of the loader: it shows these deferred tools to the model."""
        raise NotImplementedError

    @property
    def loaded(self) -> tuple[str, ...]:
        """The deferred tools that the history has loaded, in order."""
        return ()

    def body(self) -> dict[str, Any]:
        """Return the next request."""
        raise NotImplementedError


class _Anthropic(ClientHistory):
    wire = "anthropic"
    loader = "load_tools"

    def say(self, text: str, *, image: bool = False) -> None:
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
        content: Any = [picture, {"type": "text", "text": text}] if image else text
        self.items.append({"role": "user", "content": content})

    def _take(self, reply: Mapping[str, Any]) -> None:
        content = list(reply["content"])
        self.items.append({"role": "assistant", "content": content})
        self.open = tuple((part["id"], part["name"]) for part in content if part["type"] == "tool_use")

    def answer(self, results: Sequence[Result]) -> None:
        given = zip(self.open, results, strict=True)
        content = [
            {"type": "tool_result", "tool_use_id": id_, "content": result.text, "is_error": result.is_error}
            for (id_, _), result in given
        ]
        self.items.append({"role": "user", "content": content})
        self.open = ()

    def load(self, names: Sequence[str]) -> None:
        ((id_, _),) = self.open
        found = [{"type": "tool_reference", "tool_name": name} for name in names]
        self.items.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": found}]})
        self.open = ()

    @property
    def loaded(self) -> tuple[str, ...]:
        parts = (part for item in self.items if item["role"] == "user" for part in item["content"])
        results = (part["content"] for part in parts if isinstance(part, dict) and part["type"] == "tool_result")
        found = (one["tool_name"] for content in results if isinstance(content, list) for one in content)
        return tuple(dict.fromkeys(found))

    def body(self) -> dict[str, Any]:
        """The cache marker stands on the newest block, which therefore is a block; it moves from request to request."""
        messages = list(self.items)
        content = messages[-1]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if parts:
            parts[-1] = {**parts[-1], "cache_control": {"type": "ephemeral"}}
        messages[-1] = {**messages[-1], "content": parts}
        system = [{"type": "text", "text": self.system, "cache_control": {"type": "ephemeral"}}]
        names = [*self.tools, *([self.loader] if self.deferred else [])]
        tools: list[dict[str, Any]] = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        tools += [{"name": n, "input_schema": {"type": "object"}, "defer_loading": True} for n in self.deferred]
        return {
            "model": self.model,
            "max_tokens": 1_000,
            "system": system,
            "tools": tools,
            **self.fields,
            "messages": messages,
        }


class _ChatHistory(ClientHistory):
    wire = "openai-chat"

    def say(self, text: str, *, image: bool = False) -> None:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}}
        content: Any = [{"type": "text", "text": text}, picture] if image else text
        self.items.append({"role": "user", "content": content})

    def _take(self, reply: Mapping[str, Any]) -> None:
        message = reply["choices"][0]["message"]
        self.items.append(dict(message))
        self.open = tuple((call["id"], call["function"]["name"]) for call in message.get("tool_calls") or ())

    def answer(self, results: Sequence[Result]) -> None:
        for (id_, _), result in zip(self.open, results, strict=True):
            self.items.append({"role": "tool", "tool_call_id": id_, "content": result.text})
        self.open = ()

    def body(self) -> dict[str, Any]:
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in self.tools]
        messages = [{"role": "system", "content": self.system}, *self.items]
        return {"model": self.model, "messages": messages, "tools": tools, **self.fields}


class _Responses(ClientHistory):
    wire = "openai-responses"
    loader = "tool_search"

    def say(self, text: str, *, image: bool = False) -> None:
        content = [{"type": "input_text", "text": text}]
        if image:
            content.append({"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}"})
        self.items.append({"type": "message", "role": "user", "content": content})

    def _take(self, reply: Mapping[str, Any]) -> None:
        self.items.extend(dict(item) for item in reply["output"])
        calls = [item for item in reply["output"] if "call_id" in item]
        self.open = tuple((call["call_id"], call.get("name", self.loader)) for call in calls)

    def answer(self, results: Sequence[Result]) -> None:
        for (id_, _), result in zip(self.open, results, strict=True):
            self.items.append({"type": "function_call_output", "call_id": id_, "output": result.text})
        self.open = ()

    def load(self, names: Sequence[str]) -> None:
        ((id_, _),) = self.open
        found = [{"type": "function", "name": name, "parameters": {}, "defer_loading": True} for name in names]
        self.items.append({"type": "tool_search_output", "call_id": id_, "execution": "client", "tools": found})
        self.open = ()

    @property
    def loaded(self) -> tuple[str, ...]:
        found = (one["name"] for item in self.items for one in item.get("tools") or ())
        return tuple(dict.fromkeys(found))

    def body(self) -> dict[str, Any]:
        tools = [{"type": "function", "name": name, "parameters": {}} for name in self.tools]
        tools += [{"type": "tool_search", "execution": "client"}] if self.deferred else []
        return {
            "model": self.model,
            "instructions": self.system,
            "input": list(self.items),
            "tools": tools,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **self.fields,
        }


class _Gemini(ClientHistory):
    wire = "gemini"

    def say(self, text: str, *, image: bool = False) -> None:
        parts: list[dict[str, Any]] = [{"text": text}]
        if image:
            parts.append({"inlineData": {"mimeType": "image/png", "data": _PIXEL}})
        self.items.append({"role": "user", "parts": parts})

    def _take(self, reply: Mapping[str, Any]) -> None:
        content = reply["candidates"][0]["content"]
        self.items.append(dict(content))
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        self.open = tuple((call.get("id", ""), call["name"]) for call in calls)

    def answer(self, results: Sequence[Result]) -> None:
        parts = []
        for (id_, name), result in zip(self.open, results, strict=True):
            answer = {"name": name, "response": {"error" if result.is_error else "output": result.text}}
            parts.append({"functionResponse": {**({"id": id_} if id_ else {}), **answer}})
        self.items.append({"role": "user", "parts": parts})
        self.open = ()

    def body(self) -> dict[str, Any]:
        tools = [{"functionDeclarations": [{"name": name} for name in self.tools]}]
        system = {"parts": [{"text": self.system}]}
        return {"contents": list(self.items), "systemInstruction": system, "tools": tools, **self.fields}


_HISTORIES: Mapping[str, type[ClientHistory]] = {
    kind.wire: kind for kind in (_Anthropic, _ChatHistory, _Responses, _Gemini)
}


def history_for(wire: str, *, model: str, **given: Any) -> ClientHistory:
    """Return an empty history in a form. Raises InputError: another `wire`.

    `wire`: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``.
    """
    if wire not in _HISTORIES:
        raise InputError(f"wire must be one of {', '.join(_HISTORIES)}, not {wire!r}")
    return _HISTORIES[wire](model, **given)
