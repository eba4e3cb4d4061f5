"""What bench/proxy.py measures with, each a process of its own: an upstream of 500 chunks, and a bare pass-through of aiohttp.

``python -m bench.proxy_parts upstream|bare|gateway UPSTREAM_URL HOME [BUDGET [SESSIONS]]`` prints its address and serves until its stdin ends.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["CHUNKS", "main"]

CHUNKS = 500
_TEXT = "x" * 24


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


def _gateway(url: str, home: str, budget: str = "", most_sessions: str = "") -> None:
    from undrift import Settings
    from undrift.proxy import GatewayConfig, Server, upstream_of
    from undrift.proxy.config import PROVIDERS

    upstreams = {provider: upstream_of(url) for provider in PROVIDERS}
    settings = Settings(home=home, budget_tokens=int(budget) if budget else None)
    config = GatewayConfig(settings=settings, upstreams=upstreams, port=0)
    if most_sessions:
        config = replace(config, most_sessions=int(most_sessions))
    with Server(config) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def main(arguments: list[str]) -> None:
    """Serve as one of the three."""
    kind = arguments[0]
    if kind == "upstream":
        asyncio.run(_upstream())
    elif kind == "bare":
        asyncio.run(_bare(arguments[1]))
    else:
        _gateway(*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
