"""One request, as a mapping or as bytes, seen alike: its fields, and its messages each with its bytes. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

from undrift.conversation import Conversation
from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["Request"]


class Request:
    """An Anthropic Messages request.

    Args:
        body: A dict, or JSON bytes; never changed.

    Raises:
        WireError: It has the wrong shape.
    """

    def __init__(self, body: Any) -> None:
        self._body = body
        if isinstance(body, (bytes, bytearray)):
            self.fields, self.given = raw.split(bytes(body))
            self.raws = [bytes(message) for message in self.given]
            self._is_bytes = True
        elif isinstance(body, dict):
            messages = body.get("messages")
            if not isinstance(messages, list):
                raise WireError(f"must be an array, not {type(messages).__name__}", path="messages")
            self.fields, self.given = body, messages
            self.raws = [raw.encode(message, f"messages[{i}]") for i, message in enumerate(messages)]
            self._is_bytes = False
        else:
            raise WireError(f"a body must be a dict or bytes, not {type(body).__name__}")
        if not self.given:
            raise WireError("at least one message is required", path="messages")

    @property
    def model(self) -> str | None:
        name = self.fields.get("model")
        if self._is_bytes and name is not None:
            name = raw.decode(name, "model")
        return name if isinstance(name, str) else None

    def load(self, number: int) -> Any:
        message = self.given[number]
        return raw.decode(message, f"messages[{number}]") if self._is_bytes else message

    def decoded(self, messages: Sequence[Any]) -> list[Any]:
        return [raw.decode(m) for m in messages] if self._is_bytes else list(messages)

    def fixed(self) -> Mapping[str, Any]:
        names = [name for name in ("system", "tools") if name in self.fields]
        return {name: raw.decode(self.fields[name], name) if self._is_bytes else self.fields[name] for name in names}

    def render(self, conversation: Conversation) -> list[Any]:
        return conversation.render(self.given, self.load, raw.encode if self._is_bytes else _same)

    def with_messages(self, messages: Sequence[Any]) -> Any:
        if self._is_bytes:
            return type(self._body)(raw.join(self.fields, messages))
        return {**self._body, "messages": list(messages)}


def _same(value: Any) -> Any:
    return value
