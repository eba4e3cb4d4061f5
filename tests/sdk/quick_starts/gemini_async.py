"""Gemini's quick starts, asynchronous; the SDK itself calls the functions that it was given as tools."""

from collections.abc import Awaitable, Callable
from typing import Any

from google import genai
from google.genai import types

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.gemini_sync import MODEL, config_of, declared, results_of
from tests.sdk.quick_starts.play import Play, Shape

__all__ = ["SHAPES"]


async def automatic(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.UserContent(question))
        response = await client.aio.models.generate_content(model=MODEL, contents=contents, config=config_of(play))
        play.see(response)
        play.see(response.text)
        contents = [*(response.automatic_function_calling_history or contents), response.candidates[0].content]


async def automatic_stream(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.UserContent(question))
        newest: list[types.Part] = []
        async for chunk in await client.aio.models.generate_content_stream(
            model=MODEL, contents=contents, config=config_of(play)
        ):
            play.see(chunk)
            contents = chunk.automatic_function_calling_history or contents
            newest += [part for part in chunk.candidates[0].content.parts if part.text]
        contents = [*contents, types.ModelContent(newest)]


async def by_hand(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.Content(role="user", parts=[types.Part.from_text(text=question)]))
        while True:
            response = await client.aio.models.generate_content(model=MODEL, contents=contents, config=declared())
            play.see(response)
            content = response.candidates[0].content
            contents.append(content)
            results = results_of(content, play)
            if not results:
                break
            contents.append(types.Content(role="user", parts=results))


async def by_hand_stream(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.Content(role="user", parts=[types.Part.from_text(text=question)]))
        while True:
            parts: list[types.Part] = []
            async for chunk in await client.aio.models.generate_content_stream(
                model=MODEL, contents=contents, config=declared()
            ):
                play.see(chunk)
                parts += chunk.candidates[0].content.parts or []
            contents.append(types.Content(role="model", parts=parts))
            results = results_of(contents[-1], play)
            if not results:
                break
            contents.append(types.Content(role="user", parts=results))


async def chat(client: genai.Client, play: Play) -> None:
    chat = client.aio.chats.create(model=MODEL, config=config_of(play))
    for question in play.questions:
        response = await chat.send_message(question)
        play.see(response)
        play.see(response.text)
    for content in chat.get_history():
        play.see(content)


async def chat_stream(client: genai.Client, play: Play) -> None:
    chat = client.aio.chats.create(model=MODEL, config=config_of(play))
    for question in play.questions:
        async for chunk in await chat.send_message_stream(question):
            play.see(chunk)
    for content in chat.get_history():
        play.see(content)


async def parsed(client: genai.Client, play: Play) -> None:
    config = config_of(play, response_mime_type="application/json", response_schema=Part)
    chat = client.aio.chats.create(model=MODEL, config=config)
    for question in play.questions:
        response = await chat.send_message(question)
        play.see(response)
        play.see(response.parsed)


_PLAYS: dict[str, Callable[[genai.Client, Play], Awaitable[None]]] = {
    "generate_content, automatic calls": automatic,
    "generate_content_stream, automatic": automatic_stream,
    "generate_content, calls by hand": by_hand,
    "generate_content_stream, by hand": by_hand_stream,
    "chats.send_message": chat,
    "chats.send_message_stream": chat_stream,
    "chats.send_message, schema": parsed,
}
SHAPES = tuple(
    Shape("gemini", name, play, is_parsed=play is parsed, has_single_calls=play in (automatic_stream, chat_stream))
    for name, play in _PLAYS.items()
)
