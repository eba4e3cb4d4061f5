"""``undrift web``: the living page, served on this machine until Ctrl-C."""

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from undrift.cli.draw import say
from undrift.cli.keeper import wait_for_end
from undrift.cli.of_session import Whole
from undrift.cli.own import client_folders, recorded_homes
from undrift.cli.place import HOME_HELP, home_settings
from undrift.cli.show import echo_json
from undrift.errors import SettingsError
from undrift.settings.model_table import read_models
from undrift.stores.secret import http_token
from undrift.stores.served import home_path
from undrift.values.extras import command_for

if TYPE_CHECKING:
    from undrift.web.serve import PageServer

__all__ = ["web_command"]

_LESS_URGENT = 5


@click.command("web")
@click.option(
    "--port", type=Whole(0, 65535), default=8788, show_default=True, metavar="N", help="The port; 0 picks a free one."
)
@click.option("--no-open", is_flag=True, help="Only print the address; open no browser.")
@click.option("--while-pid", type=Whole(min=1), metavar="PID", help="Stop the page when process PID ends.")
@click.option("--home", metavar="DIR", help=HOME_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
@client_folders
def web_command(
    port: int, no_open: bool, while_pid: int | None, home: str | None, as_json: bool, **folders: Path | None
) -> None:
    """Show your sessions in a browser while they run.

    The page is served on 127.0.0.1 alone. The address that is printed carries a secret token; keep it to yourself.
    The page reads your clients' recordings and undrift's data, and sends nothing anywhere. It changes only what you
    change in it. A gateway serves it too, at /undrift/ of its address.

    \b
    undrift web
    undrift web --port 0 --no-open
    """
    try:
        from undrift.web.serve import PageServer
    except ImportError as error:
        raise SettingsError(f"the page needs uvicorn ({error}): {command_for('proxy')}") from error
    from undrift.web.gateways import OpenInGateways
    from undrift.web.source import PageSource

    settings = home_settings(home)
    place = home_path(settings.home)
    token = http_token(place)
    gateways = OpenInGateways(place, token)
    source = PageSource(place, recorded_homes(**folders), read_models(settings.models_file), gateways.sessions)
    server = PageServer(source, token, port)
    _say(server.url, as_json=as_json)
    if while_pid is not None:
        if hasattr(os, "nice"):
            os.nice(_LESS_URGENT)
        threading.Thread(target=_end_with, args=(server, while_pid), daemon=True).start()
    if not (no_open or as_json):
        webbrowser.open(server.url)
    server.run()


def _end_with(server: "PageServer", process: int) -> None:
    """Stop the page with a process whose work goes before it."""
    wait_for_end(process)
    server.stop()


def _say(url: str, *, as_json: bool) -> None:
    if as_json:
        shown: dict[str, Any] = {"url": url}
        echo_json(shown)
        sys.stdout.flush()
        return
    say("The page is open until Ctrl-C. Its address carries a secret token:", bold=True)
    click.echo(f"  {url}")
