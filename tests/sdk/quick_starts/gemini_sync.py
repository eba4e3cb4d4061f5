"""Gemini's quick starts, synchronous; the SDK itself calls the functions that it was given as tools."""

from collections.abc import Callable
from typing import Any

from google import genai
from google.genai import types

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.play import DESCRIPTION, PATH_SCHEMA, Play, Shape

__all__ = ["MODEL", "SHAPES", "config_of", "declared", "results_of"]

MODEL = "gemini-3.8-flash"


def config_of(play: Play, **more: Any) -> types.GenerateContentConfig:
    """Return the settings with one function as a tool, which the SDK calls by itself."""

    def read_file(path: str) -> str:
        """Read one file of the project.

        Args:
            path: Relative to the project.
        """
        return play.tool("read_file", {"path": path})

    calling = types.AutomaticFunctionCallingConfig(maximum_remote_calls=100)
    return types.GenerateContentConfig(tools=[read_file], automatic_function_calling=calling, **more)


def declared() -> types.GenerateContentConfig:
    """Return the settings with a declared function, which the program calls."""
    function = types.FunctionDeclaration(name="read_file", description=DESCRIPTION, parameters_json_schema=PATH_SCHEMA)
    return types.GenerateContentConfig(tools=[types.Tool(function_declarations=[function])])


def results_of(content: types.Content, play: Play) -> list[types.Part]:
    """Carry out the calls of an answer, and return their responses."""
    calls = [part.function_call for part in content.parts or () if part.function_call]
    answers = [(call, {"result": play.tool(str(call.name), call.args or {})}) for call in calls]
    return [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=given))
        for call, given in answers
    ]


def automatic(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.UserContent(question))
        response = client.models.generate_content(model=MODEL, contents=contents, config=config_of(play))
        play.see(response)
        play.see(response.text)
        contents = [*(response.automatic_function_calling_history or contents), response.candidates[0].content]


def automatic_stream(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.UserContent(question))
        newest: list[types.Part] = []
        for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=config_of(play)):
            play.see(chunk)
            contents = chunk.automatic_function_calling_history or contents
            newest += [part for part in chunk.candidates[0].content.parts if part.text]
        contents = [*contents, types.ModelContent(newest)]


def by_hand(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.Content(role="user", parts=[types.Part.from_text(text=question)]))
        while True:
            response = client.models.generate_content(model=MODEL, contents=contents, config=declared())
            play.see(response)
            content = response.candidates[0].content
            contents.append(content)
            results = results_of(content, play)
            if not results:
                break
            contents.append(types.Content(role="user", parts=results))


def by_hand_stream(client: genai.Client, play: Play) -> None:
    contents: list[Any] = []
    for question in play.questions:
        contents.append(types.Content(role="user", parts=[types.Part.from_text(text=question)]))
        while True:
            parts: list[types.Part] = []
            for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=declared()):
                play.see(chunk)
                parts += chunk.candidates[0].content.parts or []
            contents.append(types.Content(role="model", parts=parts))
            results = results_of(contents[-1], play)
            if not results:
                break
            contents.append(types.Content(role="user", parts=results))


def chat(client: genai.Client, play: Play) -> None:
    chat = client.chats.create(model=MODEL, config=config_of(play))
    for question in play.questions:
        response = chat.send_message(question)
        play.see(response)
        play.see(response.text)
    for content in chat.get_history():
        play.see(content)


def chat_stream(client: genai.Client, play: Play) -> None:
    chat = client.chats.create(model=MODEL, config=config_of(play))
    for question in play.questions:
        for chunk in chat.send_message_stream(question):
            play.see(chunk)
    for content in chat.get_history():
        play.see(content)


def parsed(client: genai.Client, play: Play) -> None:
    config = config_of(play, response_mime_type="application/json", response_schema=Part)
    chat = client.chats.create(model=MODEL, config=config)
    for question in play.questions:
        response = chat.send_message(question)
        play.see(response)
        play.see(response.parsed)


_PLAYS: dict[str, Callable[[genai.Client, Play], None]] = {
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
