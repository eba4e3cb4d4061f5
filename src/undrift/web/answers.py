"""The answers of the page's server: a body with the headers that keep a browser within the page.

Law: every answer has all of `_SAFE`. No script, style, picture, font or request can come from or go to another place.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["POLICY", "Receive", "Send", "begin_stream", "respond", "respond_json", "stream_event"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""`trusted-types 'none'`: no text becomes markup, even if a script of ours is wrong."""

_SAFE = [
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


async def respond(send: Send, status: int, body: bytes, kind: str, *, is_gzip: bool = False) -> None:
    """Send a whole answer. `kind`: its content type. `is_gzip`: the body is compressed so."""
    pairs = [
        *([(b"content-encoding", b"gzip")] if is_gzip else []),
        (b"content-type", kind.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        *_SAFE,
    ]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def respond_json(send: Send, status: int, value: object) -> None:
    """Send a value as JSON, in ASCII: no text of a session can look like anything else."""
    await respond(send, status, json.dumps(value).encode("ascii"), "application/json")


async def begin_stream(send: Send) -> None:
    """Begin a stream of server-sent events."""
    pairs = [(b"content-type", b"text/event-stream"), *_SAFE]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})


async def stream_event(send: Send, name: str, value: object) -> None:
    """Send one event of a stream; with an empty name a comment that only shows that the stream lives."""
    text = f"event: {name}\ndata: {json.dumps(value)}\n\n" if name else ": still here\n\n"
    await send({"type": "http.response.body", "body": text.encode("ascii"), "more_body": True})
