"""The fixture tools of the conformance suite, served by the code that serves ours; `make conformance` starts it.

Law: what the suite asks for by name stands here; everything between a request and these functions is `undrift.mcp`.
"""

import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from undrift.mcp.over_http import Guard, application, names_of
from undrift.mcp.values import (
    Answer,
    Json,
    PromptTemplate,
    ResourcePage,
    Surface,
    Tool,
    ToolArguments,
    Unknown,
    text_block,
)

__all__ = ["SURFACE", "main"]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NOTHING: Json = {"type": "object", "properties": {}}
IMAGE: Json = {"type": "image", "data": PNG, "mimeType": "image/png"}
DIALECT: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def gives(*blocks: Json) -> Callable[[ToolArguments], Answer]:
    return lambda _call: Answer(blocks)


def in_steps(call: ToolArguments) -> Answer:
    for done in (0, 50, 100):
        call.step(done, 100, f"{done} of 100")
        time.sleep(0.02)
    return Answer.of("done")


TOOLS = (
    Tool("test_simple_text", "A text.", NOTHING, gives(text_block("This is a simple text response for testing."))),
    Tool("test_image_content", "An image.", NOTHING, gives(IMAGE)),
    Tool("test_audio_content", "A sound.", NOTHING, gives({"type": "audio", "data": WAV, "mimeType": "audio/wav"})),
    Tool(
        "test_embedded_resource",
        "A resource.",
        NOTHING,
        gives(embedded("test://embedded-resource", "This is an embedded resource content.")),
    ),
    Tool(
        "test_multiple_content_types",
        "All of these.",
        NOTHING,
        gives(
            text_block("Multiple content types test:"),
            IMAGE,
            embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
        ),
    ),
    Tool(
        "test_error_handling",
        "A refusal.",
        NOTHING,
        lambda _call: Answer.refused("This tool intentionally returns an error for testing"),
    ),
    Tool("test_tool_with_progress", "In steps.", NOTHING, in_steps),
    Tool("json_schema_2020_12_tool", "A schema of this dialect.", DIALECT, gives(text_block("ok"))),
)


def said(*blocks: Json) -> list[Json]:
    return [{"role": "user", "content": block} for block in blocks]


def with_arguments(call: ToolArguments) -> Sequence[Json]:
    first, second = call.arguments.get("arg1", ""), call.arguments.get("arg2", "")
    return said(text_block(f"Prompt with arguments: arg1='{first}', arg2='{second}'"))


def with_resource(call: ToolArguments) -> Sequence[Json]:
    uri = str(call.arguments.get("resourceUri", ""))
    return said(embedded(uri, "Embedded resource content for testing."), text_block("Please process it."))


PROMPTS = (
    PromptTemplate(
        "test_simple_prompt", "One text.", lambda _: said(text_block("This is a simple prompt for testing."))
    ),
    PromptTemplate(
        "test_prompt_with_arguments",
        "Two arguments.",
        with_arguments,
        ({"name": "arg1", "required": True}, {"name": "arg2", "required": True}),
    ),
    PromptTemplate(
        "test_prompt_with_embedded_resource", "One.", with_resource, ({"name": "resourceUri", "required": True},)
    ),
    PromptTemplate(
        "test_prompt_with_image", "One.", lambda _: said(IMAGE, text_block("Please analyze the image above."))
    ),
)


class Fixtures:
    """Three resources and one template."""

    def page(self, cursor: str, call: ToolArguments) -> ResourcePage:
        return ResourcePage(
            (
                {"uri": "test://static-text", "name": "text", "description": "A text.", "mimeType": "text/plain"},
                {"uri": "test://static-binary", "name": "binary", "description": "Bytes.", "mimeType": "image/png"},
            )
        )

    def templates(self) -> Sequence[Json]:
        template = "test://template/{id}/data"
        return ({"uriTemplate": template, "name": "data", "description": "By id.", "mimeType": "application/json"},)

    def read(self, uri: str, call: ToolArguments) -> Sequence[Json]:
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
            return [{"uri": uri, "mimeType": "text/plain", "text": text}]
        if uri == "test://static-binary":
            return [{"uri": uri, "mimeType": "image/png", "blob": PNG}]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            number = uri.split("/")[3]
            text = f'{{"id": "{number}", "templateTest": true, "data": "Data for ID: {number}"}}'
            return [{"uri": uri, "mimeType": "application/json", "text": text}]
        raise Unknown(f"there is no resource {uri}")


SURFACE = Surface("undrift-conformance", "1", "For the conformance suite.", TOOLS, PROMPTS, Fixtures())

Scope = MutableMapping[str, Any]


def with_token(app: Any, token: str) -> Any:
    """Put the token into each request: the suite cannot send one. Host and Origin reach the guard as they come."""

    async def passed(
        scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
        await app(scope, receive, send)

    return passed


def main(port: int) -> None:
    """Serve until the process is told to end."""
    import uvicorn

    app = with_token(Guard(application(SURFACE, port), names_of(port), "fixture"), "fixture")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
