"""``undrift agent mcp``: the MCP server, on stdin and stdout or over HTTP on this machine."""

from typing import get_args

import click

from undrift import __version__
from undrift.cli.of_session import Whole
from undrift.cli.place import HOME_HELP, home_settings, named_place, project_option
from undrift.cli.show import echo_json, note, safe
from undrift.mcp.place import ServedHome
from undrift.mcp.surface import ToolChoice, surface_of
from undrift.stores.served import home_path

__all__ = ["mcp_command"]

_PORT = 7357


@click.command("mcp")
@click.option("--http", "over_http", is_flag=True, help="Serve over streamable HTTP, not over stdin and stdout.")
@click.option(
    "--port", type=Whole(0, 65535), metavar="N", help=f"The port for --http (default: {_PORT}; 0 picks a free one)."
)
@click.option(
    "--tools",
    type=click.Choice(get_args(ToolChoice)),
    default="default",
    show_default=True,
    help="The tools that the model gets; each costs tokens on every turn.",
)
@click.option("--session", metavar="ID", help="The session's id (default: one of its own for each server).")
@click.option("--home", metavar="DIR", help=HOME_HELP)
@project_option
@click.option("--json", "as_json", is_flag=True, help="With --http: print the address as one JSON object.")
def mcp_command(
    over_http: bool, port: int | None, tools: ToolChoice, session: str | None, home: str | None, as_json: bool
) -> None:
    """Serve tasks, recall, search and memory to an agent over the Model Context Protocol.

    A client starts this by itself after `undrift install CLIENT --mcp`.

    \b
    undrift agent mcp --http --port 0
    """
    if port is not None and not over_http:
        raise click.UsageError("--port needs --http")
    settings = home_settings(home)
    place = ServedHome(home_path(settings.home), settings, named_place(home), shares=True, session=session)
    surface = surface_of(place, __version__, tools)
    if not over_http:
        from undrift.mcp.serving import run_stdio

        run_stdio(surface)
        return
    from undrift.mcp.over_http import run_http
    from undrift.stores.secret import TOKEN_NAME, http_token

    token_file = place.home / TOKEN_NAME

    def ready(url: str) -> None:
        if as_json:
            echo_json({"url": url, "token_file": str(token_file), "tools": tools})
        else:
            note(f"{url}  (Authorization: Bearer, with the token in {safe(str(token_file))})")

    run_http(surface, port=_PORT if port is None else port, token=http_token(place.home), ready=ready)
