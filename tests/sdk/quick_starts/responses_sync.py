"""The quick starts of OpenAI's Responses, synchronous: each function asks once, and one loop is around them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from openai import OpenAI

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.play import DESCRIPTION, PATH_SCHEMA, Play, Shape

__all__ = ["SHAPES", "TOOL", "outputs_of"]

TOOL: Any = {
    "type": "function",
    "name": "read_file",
    "description": DESCRIPTION,
    "parameters": PATH_SCHEMA,
    "strict": True,
}
_USUAL: dict[str, Any] = {"model": "gpt-5.5", "instructions": "Be brief.", "tools": [TOOL]}
Ask = Callable[[OpenAI, list[Any], Play], Any]


def create(client: OpenAI, items: list[Any], play: Play) -> Any:
    return client.responses.create(**_USUAL, input=items)


def without_store(client: OpenAI, items: list[Any], play: Play) -> Any:
    asked = {**_USUAL, "store": False, "include": ["reasoning.encrypted_content"]}
    return client.responses.create(**asked, input=items)


def with_options(client: OpenAI, items: list[Any], play: Play) -> Any:
    return client.with_options(max_retries=1).responses.create(**_USUAL, input=items)


def events(client: OpenAI, items: list[Any], play: Play) -> Any:
    response = None
    for event in client.responses.create(**_USUAL, input=items, stream=True):
        play.see(event)
        if event.type == "response.completed":
            response = event.response
    return response


def helper(client: OpenAI, items: list[Any], play: Play) -> Any:
    with client.responses.stream(**_USUAL, input=items) as stream:
        for event in stream:
            play.see(event)
        return stream.get_final_response()


def parse(client: OpenAI, items: list[Any], play: Play) -> Any:
    response = client.responses.parse(**_USUAL, input=items, text_format=Part)
    play.see(response.output_parsed)
    return response


def raw_response(client: OpenAI, items: list[Any], play: Play) -> Any:
    response = client.responses.with_raw_response.create(**_USUAL, input=items)
    play.see([response.status_code, response.headers["content-type"]])
    return response.parse()


def streaming_response(client: OpenAI, items: list[Any], play: Play) -> Any:
    with client.responses.with_streaming_response.create(**_USUAL, input=items) as response:
        play.see([response.status_code, response.headers["content-type"]])
        return response.parse()


def outputs_of(output: Sequence[Any], play: Play) -> list[dict[str, Any]]:
    """Carry out the calls of an answer, and return their outputs."""
    calls = [item for item in output if item.type == "function_call"]
    made = [(call.call_id, play.tool(call.name, json.loads(call.arguments))) for call in calls]
    return [{"type": "function_call_output", "call_id": id_, "output": text} for id_, text in made]


def loop(ask: Ask) -> Callable[[OpenAI, Play], None]:
    """The loop of one's own that the documentation shows: all output is added to the input, then the calls' outputs."""

    def play_it(client: OpenAI, play: Play) -> None:
        items: list[Any] = []
        for question in play.questions:
            items.append({"role": "user", "content": question})
            while True:
                response = ask(client, items, play)
                play.see(response)
                play.see(response.output_text)
                items += response.output
                outputs = outputs_of(response.output, play)
                if not outputs:
                    break
                items += outputs

    return play_it


def held(client: OpenAI, play: Play) -> None:
    """The history stays at the provider; a request names the answer before it."""
    newest = None
    for question in play.questions:
        items: Any = question
        while items:
            response = client.responses.create(**_USUAL, input=items, previous_response_id=newest)
            play.see(response)
            newest, items = response.id, outputs_of(response.output, play)


_ASKS: dict[str, Ask] = {
    "responses.create": create,
    "responses.create(store=False)": without_store,
    "responses with_options().create": with_options,
    "responses.create(stream=True)": events,
    "responses.stream": helper,
    "responses.parse": parse,
    "responses.with_raw_response": raw_response,
    "responses.with_streaming_response": streaming_response,
}
SHAPES = (
    *(Shape("openai-responses", name, loop(ask), is_parsed=ask is parse) for name, ask in _ASKS.items()),
    Shape("openai-responses", "responses, previous_response_id", held, is_held=True),
)
