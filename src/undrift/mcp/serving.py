"""Serves tools and resources over the protocol with the official package: one server for every transport.

Law: the one module that knows the package's types; it passes on and decides nothing. The work of a call runs in a thread, so
that a server answers meanwhile; a cancelled call stops at its next step.
"""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from undrift.errors import InputError, UndriftError
from undrift.mcp.framing import one_line, safe_json
from undrift.mcp.values import Answer, Json, Stopped, Surface, Tool, ToolArguments, Unknown
from undrift.values.extras import command_for

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["SESSION_HEADER", "build", "quick_imports", "run_stdio"]

T = TypeVar("T")

SESSION_HEADER = "x-undrift-session"
"""By this a client names its session over HTTP."""

_LONGEST_NAME = 80
_ROOTS_S = 2
"""So long the first call waits for the client's roots."""


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import the package without garbage collection: this saves a quarter of the time until the first answer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def build(surface: Surface) -> "Server[Any]":
    """Return the package's server for these tools and resources. Raises InputError: the package is not installed."""
    try:
        with quick_imports():
            from mcp.server.lowlevel import Server
    except ImportError as error:
        raise InputError(f"the MCP server needs the package mcp ({error}): {command_for('mcp')}") from error
    handlers = _Handlers(surface)
    return Server(
        surface.name,
        version=surface.version,
        instructions=surface.instructions,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def run_stdio(surface: Surface) -> None:
    """Serve one client on stdin and stdout until it closes them. Raises InputError: the package is not installed."""
    server = build(surface)
    with quick_imports():
        import anyio
        from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


class _Handlers:
    """Answers the package's requests."""

    def __init__(self, surface: Surface) -> None:
        import mcp_types
        from mcp.shared.exceptions import MCPError

        self._types = mcp_types
        self._error = MCPError
        self._surface = surface
        self._tools = {tool.name: tool for tool in surface.tools}
        self._prompts = {prompt.name: prompt for prompt in surface.prompts}
        self._folder: str | None = None if surface.wants_folder else ""

    async def _meet(self, context: Any) -> None:
        """Note the client's name, and ask it once for the folder that it works in."""
        if self._folder is None:
            self._folder = await self._root(context)
        self._surface.meet(_client(context), self._folder)

    async def _root(self, context: Any) -> str:
        """Return the path of the client's first root; empty if it has none, or many clients share the server."""
        import anyio
        from pydantic import ValidationError

        can = context.session.client_capabilities
        if can is None or can.roots is None or getattr(context.request, "headers", None) is not None:
            return ""
        with anyio.move_on_after(_ROOTS_S):
            try:
                found = await context.session.send_request(self._types.ListRootsRequest(), self._types.ListRootsResult)
            except (self._error, ValidationError):
                return ""
            return next((path for root in found.roots if (path := _path_of(str(root.uri)))), "")
        return ""

    async def list_tools(self, _context: Any, _params: Any) -> Any:
        tools = [self._types.Tool.model_validate(_tool_json(tool)) for tool in self._surface.tools]
        return self._types.ListToolsResult(tools=tools)

    async def call_tool(self, context: Any, params: Any) -> Any:
        tool = self._tools.get(params.name)
        if tool is None:
            raise self._refusal(
                f"there is no tool {one_line(params.name, _LONGEST_NAME)}: it has {_named(self._tools)}"
            )
        await self._meet(context)
        answer = await _worked(context, params.arguments or {}, lambda call: _answered(tool, call))
        return self._types.CallToolResult.model_validate(_answer_json(answer))

    async def list_resources(self, context: Any, params: Any) -> Any:
        cursor = (params.cursor if params is not None else None) or ""
        page = await self._asked(context, lambda call: self._surface.resources.page(cursor, call))
        value = {"resources": safe_json(list(page.resources)), "nextCursor": page.cursor or None}
        return self._types.ListResourcesResult.model_validate(value)

    async def list_templates(self, _context: Any, _params: Any) -> Any:
        value = {"resourceTemplates": list(self._surface.resources.templates())}
        return self._types.ListResourceTemplatesResult.model_validate(value)

    async def read_resource(self, context: Any, params: Any) -> Any:
        uri = str(params.uri)
        contents = await self._asked(context, lambda call: self._surface.resources.read(uri, call))
        return self._types.ReadResourceResult.model_validate({"contents": safe_json(list(contents))})

    async def list_prompts(self, _context: Any, _params: Any) -> Any:
        prompts = [
            {"name": one.name, "description": one.description, "arguments": list(one.arguments)}
            for one in self._surface.prompts
        ]
        return self._types.ListPromptsResult.model_validate({"prompts": prompts})

    async def get_prompt(self, context: Any, params: Any) -> Any:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            name = one_line(params.name, _LONGEST_NAME)
            raise self._refusal(f"there is no prompt {name}: it has {_named(self._prompts)}")
        messages = await self._asked(context, prompt.run, params.arguments or {})
        value = {"description": prompt.description, "messages": safe_json(list(messages))}
        return self._types.GetPromptResult.model_validate(value)

    async def _asked(self, context: Any, work: Callable[[ToolArguments], T], arguments: Json | None = None) -> T:
        """Run work that is not a tool call; a refusal becomes an error of the protocol."""
        await self._meet(context)
        try:
            return await _worked(context, arguments or {}, work)
        except Unknown as error:
            raise self._refusal(str(error), _NOT_FOUND) from error
        except (UndriftError, OSError) as error:
            raise self._refusal(str(error)) from error

    def _refusal(self, text: str, code: int | None = None) -> Exception:
        return self._error(self._types.INVALID_PARAMS if code is None else code, safe_json(text))


_NOT_FOUND = -32002
"""The protocol's code for a resource that is not there."""


def _path_of(uri: str) -> str:
    """Return the path of a file's address; empty for another kind."""
    found = urlsplit(uri)
    if found.scheme != "file" or found.netloc not in ("", "localhost"):
        return ""
    return url2pathname(found.path)


def _client(context: Any) -> str:
    """Return the client's name as it introduced itself; empty if it did not."""
    given = context.session.client_params
    return str(given.client_info.name) if given is not None else ""


async def _worked(context: Any, arguments: Json, work: Callable[[ToolArguments], T]) -> T:
    """Run one call in a thread; if the client cancels the call, the thread stops at its next step."""
    import anyio
    import anyio.from_thread
    import anyio.to_thread

    stop = threading.Event()

    def report(done: float, whole: float | None, what: str) -> None:
        anyio.from_thread.run(context.session.report_progress, done, whole, what or None)

    headers = getattr(context.request, "headers", None)
    session = headers.get(SESSION_HEADER, "") if headers is not None else ""
    call = ToolArguments(arguments, session, report, stop.is_set)
    try:
        return await anyio.to_thread.run_sync(work, call, abandon_on_cancel=True)
    finally:
        stop.set()


def _answered(tool: Tool, call: ToolArguments) -> Answer:
    try:
        return tool.run(call)
    except Stopped:
        return Answer.refused("stopped: the client cancelled the call")  # no client reads it


def _tool_json(tool: Tool) -> dict[str, Any]:
    value = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    value |= {} if tool.output_schema is None else {"outputSchema": tool.output_schema}
    return value | ({} if tool.annotations is None else {"annotations": tool.annotations})


def _answer_json(answer: Answer) -> dict[str, Any]:
    value: dict[str, Any] = {"content": safe_json(list(answer.blocks)), "isError": answer.is_error}
    return value if answer.structured is None else {**value, "structuredContent": safe_json(dict(answer.structured))}


def _named(known: Json) -> str:
    return ", ".join(known) or "none"
