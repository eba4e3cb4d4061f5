"""Agent loops over google-genai, as its documentation writes them, through each of its transports."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import pytest

import undrift
from tests.sdk.loops import TOOL, text_of
from undrift import Session, Settings

genai = pytest.importorskip("google.genai", reason="needs the package google-genai (make setup installs it)")
types = genai.types

SDK_WARNS = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")
"""The SDK's own session of aiohttp."""

MODEL = "gemini-3.8-flash"
WORDS = "Fix the totals."
SMALL = Settings(budget_tokens=6_000)
HELLO = {"model": MODEL, "contents": "Hello."}
ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9},
}
READ = {"name": "read", "description": "Read a file.", "parameters_json_schema": TOOL["input_schema"]}


@cache
def trusted() -> ssl.SSLContext:
    """One context for all clients of the tests: each client would read all certificates again."""
    return ssl.create_default_context()


def client_at(url: str, *, options: dict[str, Any] | None = None, **parts: Any) -> Any:
    given = {"client_args": {"verify": trusted()}, "async_client_args": {"verify": trusted(), "ssl": trusted()}}
    return genai.Client(
        http_options=types.HttpOptions(base_url=url, **given, **options or {}), **{"api_key": "none", **parts}
    )


def config(**more: Any) -> Any:
    return types.GenerateContentConfig(tools=[types.Tool(function_declarations=[READ])], **more)


def opened(words: str = WORDS) -> list[Any]:
    return [types.Content(role="user", parts=[types.Part(text=words)])]


def answered(contents: list[Any], parts: list[Any]) -> str:
    """Add an answer, and the results of its calls; return the last words, if it has no calls."""
    contents.append(types.Content(role="model", parts=parts))
    calls = [part.function_call for part in parts if part.function_call]
    if not calls:
        return "".join(part.text or "" for part in parts)
    given = [
        types.FunctionResponse(id=call.id, name=call.name, response={"output": text_of(call.args["path"])})
        for call in calls
    ]
    contents.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in given]))
    return ""


def parts_of(chunk: Any) -> list[Any]:
    return chunk.candidates[0].content.parts or []


def sync_loop(client: Any) -> list[Any]:
    contents, said = opened(), ""
    while not said:
        reply = client.models.generate_content(model=MODEL, contents=contents, config=config())
        said = answered(contents, parts_of(reply))
    return contents


def stream_loop(client: Any) -> list[Any]:
    contents, said = opened(), ""
    while not said:
        stream = client.models.generate_content_stream(model=MODEL, contents=contents, config=config())
        said = answered(contents, [part for chunk in stream for part in parts_of(chunk)])
    return contents


def in_a_loop(aio: Any, act: Callable[[Any], Awaitable[Any]]) -> Any:
    """Do something with an asynchronous client in an event loop of its own, and close it."""

    async def inside() -> Any:
        async with aio:
            return await act(aio)

    return asyncio.run(inside())


async def _async_loop(aio: Any) -> list[Any]:
    contents, said = opened(), ""
    while not said:
        reply = await aio.models.generate_content(model=MODEL, contents=contents, config=config())
        said = answered(contents, parts_of(reply))
    return contents


async def _async_stream_loop(aio: Any) -> list[Any]:
    contents, said = opened(), ""
    while not said:
        stream = await aio.models.generate_content_stream(model=MODEL, contents=contents, config=config())
        said = answered(contents, [part async for chunk in stream for part in parts_of(chunk)])
    return contents


LOOPS: dict[str, Callable[[Any], list[Any]]] = {
    "sync": sync_loop,
    "stream": stream_loop,
    "async": lambda client: in_a_loop(client.aio, _async_loop),
    "async-stream": lambda client: in_a_loop(client.aio, _async_stream_loop),
}


def gemini(at: Any, **options: Any) -> Any:
    return undrift.wrap(client_at(at.url), **options)


def said_of(reply: Any) -> dict[str, str]:
    """The headers of a reply that are ours, by their short names."""
    headers = reply.sdk_http_response.headers
    return {name.removeprefix("x-undrift-"): headers[name] for name in headers if name.startswith("x-undrift-")}


def is_recorded(session: Session) -> bool:
    return session.costs.watch.at_ms is not None
