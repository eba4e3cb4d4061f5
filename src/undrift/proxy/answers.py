"""The gateway's own answers, in the provider's format, so that the provider's client understands them."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from undrift.values.provider import Provider

__all__ = ["COME_BACK", "Message", "Receive", "Send", "UNAUTHORIZED", "failure", "respond"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

COME_BACK = [(b"retry-after", b"1"), (b"connection", b"close")]
"""Headers of an answer for want of descriptors or of room: the client is to try again, and not to keep this one."""

_TOO_MANY = 429

UNAUTHORIZED = b'{"type": "error", "error": {"type": "authentication_error", "message": "undrift: unauthorized"}}'
"""The body for who has proved nothing: always the same, and readable for the clients of every provider."""


async def respond(
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: str = "application/json",
    more: list[tuple[bytes, bytes]] | None = None,
    is_all: bool = True,
) -> None:
    """Send a response of our own; if it is not all, its end is still to be sent."""
    pairs = [
        (b"content-type", kind.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(more or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": not is_all})


def failure(provider: Provider, status: int, message: str) -> bytes:
    """Return our error in the provider's own format, so that its client understands it."""
    message, is_limit = f"undrift: {message}", status == _TOO_MANY
    if provider in ("anthropic", "vertex"):
        kind = "rate_limit_error" if is_limit else "overloaded_error" if status == 503 else "api_error"
        body: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": message}}
    elif provider in ("openai", "chatgpt"):
        kind, code = ("rate_limit_error", "rate_limit_exceeded") if is_limit else ("api_error", None)
        body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    elif provider == "bedrock":
        body = {"message": message}
    else:
        named = "RESOURCE_EXHAUSTED" if is_limit else "UNAVAILABLE"
        body = {"error": {"code": status, "message": message, "status": named}}
    return json.dumps(body).encode("ascii")
