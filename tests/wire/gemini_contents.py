"""Contents of Gemini, as the tests of the form make them."""

import json
from typing import Any

from undrift.core.text.tokens import characters_per_4
from undrift.wire import gemini as form
from undrift.wire.form import Block, BlockPlace, View, entry_of

Json = dict[str, Any]
WIRE = "gemini"
SIGNATURE = "c2lnbmF0dXJl"


def content(role: str, *parts: Any) -> Json:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def user(*parts: Any) -> Json:
    return content("user", *parts)


def model(*parts: Any) -> Json:
    return content("model", *parts)


def call(id_: str | None = None, signature: str | None = None, name: str = "run", **args: Any) -> Json:
    made = {"name": name, "args": args}
    part: Json = {"functionCall": made if id_ is None else {**made, "id": id_}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def response(id_: str | None = None, output: Any = "done", name: str = "run") -> Json:
    made = {"name": name, "response": {"output": output}}
    return {"functionResponse": made if id_ is None else {**made, "id": id_}}


def image(data: str = "aGk=", **fields: Any) -> Json:
    return {"inlineData": {"mimeType": "image/png", "data": data}, **fields}


def read(item: Any) -> View:
    return form.read(item, "m")


def block(part: Any, role: str = "user") -> Block:
    (found,) = read(content(role, part)).blocks
    return found


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def problems(items: list[Any]) -> tuple[str, ...]:
    return form.problems([form.read(item, f"contents[{n}]") for n, item in enumerate(items)], {})


def tokens(part: Json) -> int:
    entry = entry_of(block(part), "user", BlockPlace("m", 0), None, characters_per_4)
    return entry.token_count
