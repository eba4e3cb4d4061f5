"""``undrift proxy``: the gateway in the foreground. It says how to point each client at it, then a line a request."""

import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import say
from undrift.cli.gateway_log import LOOPBACK, log_to
from undrift.cli.keeper import LOG, LOG_BYTES, open_log, wait_for_end
from undrift.cli.of_session import BUDGET, Whole
from undrift.cli.place import HOME_HELP, home_settings, named_place, project_option
from undrift.cli.show import at_terminal, note, safe
from undrift.core.budget_price import budget_price
from undrift.errors import SettingsError
from undrift.proxy import GatewayConfig, Server
from undrift.proxy.config import DEFAULT_UPSTREAMS, regional, upstream_of
from undrift.proxy.room import bytes_of, default_bytes
from undrift.settings import Settings, environment
from undrift.stores.secret import TOKEN_NAME
from undrift.stores.served import home_path
from undrift.stores.service import Service, load
from undrift.values.provider import PROVIDERS, Provider

__all__ = ["CLIENTS", "proxy_command", "upstream_options"]

_Command = Callable[..., Any]

_FIRST_HANDED_OVER = 3  # sd_listen_fds(3): descriptors begin there

CLIENTS = {
    "Claude Code": "ANTHROPIC_BASE_URL={anthropic} claude",
    "Claude Code on Bedrock": "ANTHROPIC_BEDROCK_BASE_URL={bedrock} claude",
    "Claude Code on Vertex AI": "ANTHROPIC_VERTEX_BASE_URL={vertex}/v1 claude",
    "Codex": 'in ~/.codex/config.toml: openai_base_url="{openai}/v1"',
    "Gemini CLI": "GOOGLE_GEMINI_BASE_URL={gemini} gemini",
    "opencode": 'in opencode.json, provider.anthropic.options.baseURL: "{anthropic}/v1" (another provider\'s alike)',
    "aider": "OPENAI_API_BASE={openai}/v1 aider --model openai/NAME",
    "mini-swe-agent": "OPENAI_API_BASE={openai}/v1 mini -m openai/NAME",
    "SDK of Anthropic": 'base_url="{anthropic}", or ANTHROPIC_BASE_URL={anthropic}',
    "SDK of OpenAI": 'base_url="{openai}/v1", or OPENAI_BASE_URL={openai}/v1',
    "SDK of Google": 'http_options={{"base_url": "{gemini}"}}, or GOOGLE_GEMINI_BASE_URL={gemini}',
}
"""Client -> how it is pointed at the gateway. None by its command line, which every user of a machine can see."""


_TITLES: Mapping[Provider, str] = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Gemini",
    "bedrock": "Amazon Bedrock",
    "vertex": "Claude on Vertex AI",
    "chatgpt": "ChatGPT, from Codex with such a login",
}
_REGIONS: Mapping[Provider, str] = {"bedrock": "that of AWS_REGION", "vertex": "that of CLOUD_ML_REGION"}


def upstream_options(*, has_defaults: bool) -> Callable[[_Command], _Command]:
    """Give a command the options that say where requests go.

    `has_defaults`: False if the command detects the addresses.
    """

    def given(command: _Command) -> _Command:
        for provider in reversed(PROVIDERS):
            shown = _REGIONS.get(provider, DEFAULT_UPSTREAMS[provider])
            option = click.option(
                f"--upstream-{provider}",
                metavar="URL",
                show_default=shown if has_defaults else False,
                help=f"The address for requests to {_TITLES[provider]}.",
            )
            command = option(command)
        return command

    return given


@click.command("proxy")
@click.option(
    "--port", type=Whole(0, 65535), default=8787, show_default=True, metavar="N", help="The port; 0 picks a free one."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="IP",
    help="The address to listen on; the default serves only this machine.",
)
@upstream_options(has_defaults=True)
@click.option(
    "--budget",
    type=BUDGET,
    metavar="N",
    help="The most tokens that a request may have, such as 120k, or auto (the default).",
)
@click.option("--home", metavar="DIR", help=HOME_HELP)
@project_option
@click.option(
    "--memory",
    metavar="SIZE",
    help="The memory that the gateway may use, such as 1G. Default: a quarter of the machine's.",
)
@click.option("--while-pid", type=Whole(min=1), metavar="PID", help="Stop the gateway when process PID ends.")
@click.option(
    "--socket", "descriptor", type=Whole(min=0), metavar="FD", help="Listen on this inherited socket, not on --port."
)
@click.option(
    "--service",
    "is_service",
    is_flag=True,
    help="Run as `undrift install CLIENT --gateway` has set it up: with its port and addresses.",
)
@click.option(
    "--recall-reachable",
    is_flag=True,
    help="Mention `undrift recall` where text was removed, for agents that can run it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON object.")
def proxy_command(
    port: int,
    host: str,
    budget: int | str | None,
    home: str | None,
    memory: str | None,
    while_pid: int | None,
    descriptor: int | None,
    is_service: bool,
    recall_reachable: bool,
    as_json: bool,
    **upstreams: str | None,
) -> None:
    """Run the gateway until Ctrl-C. It shortens requests that exceed the budget.

    To use it, a client needs only another base URL; the command prints it. Keys and logins pass through unchanged.
    For each request one line of JSON is printed on stderr, without the request's content.

    \b
    undrift proxy --port 0
    undrift proxy --budget 120k
    """
    settings = home_settings(home, budget_tokens=budget)
    defaults = regional(environment())
    urls: dict[Any, str] = {name: upstreams[f"upstream_{name}"] or defaults[name] for name in PROVIDERS}
    if is_service:
        service = _service(home_path(settings.home))
        port, host, urls = service.port, "127.0.0.1", {**urls, **service.upstreams}
        descriptor = _handed_over() if descriptor is None else descriptor
        recall_reachable = recall_reachable or service.recall_reachable
    listening = None if descriptor is None else socket.socket(fileno=descriptor)
    config = GatewayConfig(
        settings=settings,
        upstreams={name: upstream_of(url) for name, url in urls.items()},
        host=host,
        port=port,
        recall_reachable=recall_reachable,
        place=named_place(home),
        shares=True,
        memory_bytes=default_bytes() if memory is None else bytes_of(memory),
    )
    log_to(_log_file(home_path(settings.home) / LOG) if is_service else logging.StreamHandler())
    server = Server(config, listening)
    if host not in LOOPBACK:
        note(f"undrift: other machines can reach {safe(host)}; without the token they get 401")
    if while_pid is not None:
        threading.Thread(target=_end_with, args=(server, while_pid), daemon=True).start()
    is_silent = is_service and not at_terminal(sys.stdout)  # its stdout may be its own socket
    server.run((lambda: None) if is_silent else lambda: _say(server, settings, as_json=as_json))


def _service(home: Path) -> Service:
    """Return the service of a home. Raises SettingsError: there is none."""
    found = load(home)
    if found is None:
        raise SettingsError(
            f"{home}: no client uses the gateway of this home yet; first: undrift install CLIENT --gateway"
        )
    return found


def _handed_over() -> int | None:
    """Return the socket that systemd has handed over. None means: it has not started this process.

    Raises SettingsError: it handed over several, and the clients use one.
    """
    around = environment()
    if around.get("LISTEN_PID") != str(os.getpid()):
        return None
    count = around.get("LISTEN_FDS", "")
    if count != "1":
        raise SettingsError(f"systemd handed over {safe(count[:20])} sockets; one is needed: install the gateway again")
    return _FIRST_HANDED_OVER


def _end_with(server: Server, process: int) -> None:
    wait_for_end(process)
    server.stop()


def _say(server: Server, settings: Settings, *, as_json: bool) -> None:
    ways = {client: way.format(**server.base_urls) for client, way in CLIENTS.items()}
    token = str(home_path(settings.home) / TOKEN_NAME)
    if as_json:
        said = {
            "url": server.url,
            "port": server.port,
            "home": settings.home,
            "token_file": token,
            "page": server.page_url,
        }
        click.echo(json.dumps({**said, "base_urls": server.base_urls, "clients": ways}))
    else:
        click.echo(
            f"undrift listens on {server.url}\nThe full text of what leaves a window is kept in {safe(settings.home)}\n"
        )
        for client, way in ways.items():
            click.echo(f"{client}:\n  {way}")
        click.echo()
        say("The long part of an address is your token. Without it the requests of other users get 401.")
        click.echo(f"\nPage:     {server.page_url}")
        click.echo(f"Health:   {server.url}/undrift/health\nMetrics:  {server.url}/undrift/metrics")
        click.echo(f"The metrics need the token in {safe(token)}")
        if isinstance(settings.budget_tokens, int):
            say(f"The budget of {budget_price(settings.budget_tokens)}")
        say(
            "undrift wrap CLIENT does all of this in one command. Ctrl-C stops the gateway when its open streams have ended."
        )
    sys.stdout.flush()


def _log_file(path: Path) -> logging.Handler:
    """Return what writes a log of limited size, made for its owner alone; one older file is kept."""
    os.close(open_log(path))
    os.umask(0o077)
    return RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
