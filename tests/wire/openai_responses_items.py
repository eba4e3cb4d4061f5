"""Items of OpenAI Responses, as the tests of the form make them."""

from typing import Any

from undrift.core.text.tokens import characters_per_4
from undrift.wire import openai_responses as form
from undrift.wire.form import Block, BlockPlace, View, entry_of

Json = dict[str, Any]
WIRE = "openai-responses"
BREAKPOINT = {"mode": "explicit", "ttl": "12h"}
APPROVAL = {"type": "mcp_approval_request", "id": "a", "name": "n", "arguments": "{}"}


def user(*content: Any) -> Json:
    """A lone text is written as a string, all else as parts."""
    return message("user", *content)


def message(role: str, *content: Any) -> Json:
    if len(content) == 1 and isinstance(content[0], str):
        return {"type": "message", "role": role, "content": content[0]}
    kind = "output_text" if role == "assistant" else "input_text"
    found = [{"type": kind, "text": part} if isinstance(part, str) else part for part in content]
    return {"type": "message", "role": role, "content": found}


def call(id_: Any, words: str = "{}", **fields: Any) -> Json:
    return {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": "exec", "arguments": words, **fields}


def output(id_: Any, content: Any = "done", **fields: Any) -> Json:
    return {"type": "function_call_output", "call_id": id_, "output": content, **fields}


def reasoning(id_: str, *summary: str, **fields: Any) -> Json:
    said = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id_, "summary": said, "content": None, "encrypted_content": "gAAAA", **fields}


def image(**fields: Any) -> Json:
    return {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto", **fields}


def read(item: Any) -> View:
    return form.read(item, "m")


def block(item: Json) -> Block:
    (found,) = read(item).blocks
    return found


def problems(items: list[Any], **beside: Any) -> tuple[str, ...]:
    return form.problems([form.read(item, f"input[{n}]") for n, item in enumerate(items)], beside)


def tokens(item: Json) -> int:
    entry = entry_of(block(item), "user", BlockPlace("m", 0), None, characters_per_4)
    return entry.token_count
