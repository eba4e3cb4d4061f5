"""What bench/proxy.py and bench/gateway.py measure with, each a process of its own.

An upstream of 500 chunks, one that answers at once, and two bare pass-throughs: all of aiohttp, and made of the server and
the client that the gateway has. ``python -m bench.proxy_parts upstream|instant|bare|plain|gateway UPSTREAM_URL HOME [BUDGET
[MEMORY]]`` prints its address and serves until its stdin ends.
"""

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["CHUNKS", "main"]

CHUNKS = 500
_TEXT = "x" * 24
_SMALL = b'{"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 5}}'
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(_SMALL), _SMALL)


def _stream() -> list[bytes]:
    """The events of an answer of Anthropic's form: 500 in all, about 60 KB."""
    usage = {"input_tokens": 400, "output_tokens": 1}
    start = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    events: list[Any] = [{"type": "message_start", "message": start}, block]
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _TEXT}}
    events += [delta] * (CHUNKS - 5)
    events += [{"type": "content_block_stop", "index": 0}]
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 900}}]
    events += [{"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


async def _upstream() -> None:
    """A provider on aiohttp's server, as the scripted ones that real clients are driven against."""
    from aiohttp import web

    events = _stream()
    small = b'{"id": "m", "content": [], "usage": {"input_tokens": 5}}'

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if b'"stream"' not in body[:200]:
            return web.Response(body=small, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(event)
        await response.write_eof()
        return response

    await _served(answer)


async def _served(answer: "Callable[[web.Request], Awaitable[web.StreamResponse]]") -> None:
    from aiohttp import web

    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def _bare(url: str) -> None:
    """What an aiohttp server in front of an aiohttp client costs, doing nothing else."""
    import aiohttp
    from aiohttp import web

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)

    async def pass_on(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with session.post(
            url + request.path_qs, data=body, headers={"content-type": "application/json"}
        ) as found:
            response = web.StreamResponse(status=found.status, headers={"content-type": found.headers["content-type"]})
            await response.prepare(request)
            async for chunk in found.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    await _served(pass_on)
    await session.close()


class _Instant(asyncio.Protocol):
    """A provider that answers each request as soon as its last byte is in, and keeps the connection."""

    def __init__(self) -> None:
        self._data = b""
        self._wanted = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._wanted < 0:
            head, end, _ = self._data.partition(b"\r\n\r\n")
            if not end:
                return
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._wanted = len(head) + 4 + int(length or 0)
        if len(self._data) >= self._wanted:
            self._data, self._wanted = self._data[self._wanted :], -1
            self._transport.write(_ANSWER)


async def _instant() -> None:
    server = await asyncio.get_running_loop().create_server(_Instant, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


def _plain(url: str) -> None:
    """What the gateway's server in front of the gateway's client costs, doing nothing else."""
    import aiohttp
    import uvicorn

    made: list[aiohttp.ClientSession] = []

    async def pass_on(scope: Any, receive: Any, send: Any) -> None:
        if not made:
            made.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False))
        body, has_more = b"", True
        while has_more:
            message = await receive()
            body, has_more = body + message.get("body", b""), message.get("more_body", False)
        head = {"content-type": "application/json"}
        async with made[0].post(url + scope["path"], data=body, headers=head) as found:
            pairs = [(name.lower(), value) for name, value in found.raw_headers]
            await send({"type": "http.response.start", "status": found.status, "headers": pairs})
            async for chunk in found.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    config = uvicorn.Config(pass_on, lifespan="off", log_config=None, access_log=False, ws="none", proxy_headers=False)
    uvicorn.Server(config).run(sockets=[listening])


def _gateway(url: str, home: str, budget: str = "", memory: str = "") -> None:
    from undrift import Settings
    from undrift.proxy import GatewayConfig, Server, upstream_of
    from undrift.values.provider import PROVIDERS

    upstreams = {provider: upstream_of(url) for provider in PROVIDERS}
    settings = Settings(home=home, budget_tokens=int(budget) if budget else "auto")
    config = GatewayConfig(settings=settings, upstreams=upstreams, port=0)
    if memory:
        from undrift.proxy.room import bytes_of

        config = replace(config, memory_bytes=bytes_of(memory))
    with Server(config) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def main(arguments: list[str]) -> None:
    """Serve as one of them."""
    kind = arguments[0]
    if kind == "upstream":
        asyncio.run(_upstream())
    elif kind == "instant":
        asyncio.run(_instant())
    elif kind == "plain":
        _plain(arguments[1])
    elif kind == "bare":
        asyncio.run(_bare(arguments[1]))
    else:
        _gateway(*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
