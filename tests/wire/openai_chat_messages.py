"""Messages of OpenAI Chat Completions, as the tests of the form make them."""

from typing import Any

from undrift.wire import openai_chat
from undrift.wire.form import Block, Form, View

Json = dict[str, Any]

FORM: Form = openai_chat
DIGEST_BYTES = 32


def user(content: Any = "hi", **fields: Any) -> Json:
    return {"role": "user", "content": content, **fields}


def system(content: Any = "be brief") -> Json:
    return {"role": "system", "content": content}


def assistant(content: Any = None, *calls: Json, **fields: Any) -> Json:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **fields}


def call(id_: str = "c", arguments: str = "{}", **fields: Any) -> Json:
    return {"id": id_, "type": "function", "function": {"name": "bash", "arguments": arguments}, **fields}


def signed(id_: str) -> Json:
    return call(id_, extra_content={"google": {"thought_signature": "c2ln"}})


def tool(id_: str = "c", content: Any = "out") -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def part(text: str, **fields: Any) -> Json:
    return {"type": "text", "text": text, **fields}


def image(**fields: Any) -> Json:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", **fields}}


def read(item: Any) -> View:
    return FORM.read(item, "m")


def block(item: Any) -> Block:
    (only,) = read(item).blocks
    return only


def kinds(item: Any) -> list[str]:
    return [b.kind for b in read(item).blocks]


def problems(*messages: Json) -> tuple[str, ...]:
    return FORM.problems([read(m) for m in messages], {})
