"""``undrift wrap``: a client with a gateway of its own, for as long as the client runs.

Law: this process becomes the client, so terminal, signals and exit status are the client's own. No file of the client is
written, so nothing has to be restored. A command line holds the owner's token only on a system that cannot name the user
of a connection, because every user of the machine can read it.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import click

from undrift.cli.addresses import addresses_of
from undrift.cli.become import become
from undrift.cli.keeper import LOG, start
from undrift.cli.of_session import BUDGET
from undrift.cli.place import HOME_HELP, home_settings, named_place, place_here, project_option
from undrift.cli.proxy import upstream_options
from undrift.cli.show import note, safe
from undrift.clients.addressed import gateway_of
from undrift.clients.clouds import SWITCH, cloud_of, foundry_url
from undrift.clients.wrapped import Wrapped, wrapped
from undrift.core.budget_price import budget_price
from undrift.errors import InputError, SettingsError, StoreError
from undrift.proxy.config import regional
from undrift.proxy.owner import without_token
from undrift.proxy.peer import tells_users
from undrift.settings import Settings, environment
from undrift.stores.secret import http_token
from undrift.stores.served import home_path
from undrift.stores.service import load
from undrift.values.provider import PROVIDERS, Provider

__all__ = ["wrap_command"]

_ASK_S = 10

_OPENAI = "https://api.openai.com/v1"
_VARIABLES: Mapping[Provider, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_BASE_URL",),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
    "bedrock": ("ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    "vertex": ("ANTHROPIC_VERTEX_BASE_URL",),
    "chatgpt": (),
}


class _Wrap(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read our options directly after CLIENT as if they stood before it; its own words begin at the first other one."""
        takes_none = {
            name: option.is_flag
            for option in self.params
            if isinstance(option, click.Option)
            for name in (*option.opts, *option.secondary_opts)
        }

        def end_of_ours(at: int) -> int:
            while at < len(args) and args[at].partition("=")[0] in takes_none:
                name, has_value, _ = args[at].partition("=")
                at += 1 if has_value or takes_none[name] else 2
            return at

        client = end_of_ours(0)
        words = end_of_ours(client + 1)
        ours = [*args[:client], *args[client + 1 : words]]
        return super().parse_args(ctx, [*ours, *args[client : client + 1], *args[words:]])


@click.command("wrap", cls=_Wrap, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("client")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS]...")
@upstream_options(has_defaults=False)
@click.option(
    "--budget",
    type=BUDGET,
    metavar="N",
    help="The most tokens that a request may have, such as 120k, or auto (the default).",
)
@click.option("--home", metavar="DIR", help=HOME_HELP)
@project_option
@click.option("--log", metavar="FILE", help=f"The gateway's log file (default: {LOG} in --home).")
@click.option(
    "--recall-reachable/--no-recall-reachable",
    default=None,
    help="Mention `undrift recall` where text was removed, so that the agent can run it "
    "(default: for the clients below, if undrift is on the PATH).",
)
def wrap_command(
    client: str,
    arguments: tuple[str, ...],
    budget: int | str | None,
    home: str | None,
    log: str | None,
    recall_reachable: bool | None,
    **upstream: str | None,
) -> None:
    """Start CLIENT with its own gateway. The gateway stops when CLIENT stops.

    CLIENT is claude, codex, gemini, opencode, aider or mini. It can also be any program that reads its provider's
    address from an environment variable. The options of wrap stand before CLIENT or directly after it. Everything from
    the next word on, or after --, is passed to CLIENT.

    Without --budget text leaves where that costs nothing, out of what the session saved so, and at 75% of the model's
    window. CLIENT may compact before that. With a fixed budget, such as 120k, undrift prunes first, at a price that it
    says.

    The gateway sends requests to the address that CLIENT would have used. An --upstream option sets another
    address.

    \b
    undrift wrap claude --budget 120k
    undrift wrap codex --budget 120k -- exec "fix the test"
    """
    known = wrapped(client)
    program = shutil.which(known.program)
    if program is None:
        remedy = f": {known.remedy}" if known.remedy else ""
        raise InputError(f"{client} is not installed, or not on the PATH{remedy}")
    if not hasattr(os, "fork"):
        raise SettingsError("wrap needs a POSIX system; run `undrift proxy`, and set the client's address yourself")
    settings = home_settings(home, budget_tokens=budget)
    around = environment()
    if known.program == "claude":
        around |= _claude_variables(around)
    upstreams = {
        name: _shown(upstream[f"upstream_{name}"] or _past_service(_used(name, known.program, around), name))
        for name in PROVIDERS
    }
    path = Path(log) if log else home_path(settings.home) / LOG
    words = [f"--upstream-{name}={url}" for name, url in upstreams.items()]
    place = named_place(home) or place_here(home)
    words += [f"--project={place.project.checkout}"] if place.project is not None else []
    words += [f"--home={settings.home}", *([f"--budget={budget}"] if budget else [])]
    if recall_reachable is None:
        recall_reachable = _finds_undrift(known, around)
    words += ["--recall-reachable"] if recall_reachable else []
    url = start([sys.executable, "-P", "-m", "undrift", "proxy", *words], path)
    token = _token(home_path(settings.home))
    at = addresses_of(url, token, upstreams["openai"])
    variables = {**known.environment(at, around), "UNDRIFT_HOME": str(home_path(settings.home).absolute())}
    if sys.stderr.isatty():
        note(f"undrift: {safe(client)} uses {url}; {_budget(settings)}; log: {safe(str(path))}")
        if isinstance(settings.budget_tokens, int):
            note(f"undrift: {budget_price(settings.budget_tokens)}")
        if known.recall.allowing:
            note("undrift: its agent may run `undrift recall` without asking you")
    cloud = cloud_of(around) if known.program == "claude" else None
    if cloud is not None and (obstacle := cloud.obstacle(around)):
        note(f"undrift: nothing will be managed: {safe(client)} uses {cloud.title}, and {safe(obstacle)}")
    own = arguments[arguments[:1] == ("--",) :]
    before = known.words(addresses_of(url, "" if tells_users() else token, upstreams["openai"]), around)
    allowing = known.allowing(own) if recall_reachable else ()
    become(program, [known.program, *before, *allowing, *own], variables)


def _finds_undrift(client: Wrapped, variables: Mapping[str, str]) -> bool:
    """Return whether the shell of the client's agent finds this program."""
    if not client.recall.in_login_shell:
        return client.recall.has_shell and shutil.which("undrift") is not None
    words = [variables.get("SHELL") or "/bin/sh", "-lc", "command -v undrift"]
    try:
        found = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0


def _budget(settings: Settings) -> str:
    if not settings.is_auto:
        return f"budget: {settings.budget_tokens:,} tokens"
    return f"budget: auto, at most {settings.window_share:.0%} of the model's window (--budget N)"


def _token(home: Path) -> str:
    """Return the owner's token; without one the gateway recognises its client by the user alone."""
    try:
        return http_token(home)
    except StoreError:  # the gateway's log says so
        return ""


def _shown(upstream: str) -> str:
    """Return an upstream for the gateway's command line, which every user of the machine can see."""
    return without_token(upstream) if tells_users() else upstream


def _past_service(url: str, provider: Provider) -> str:
    """Return the address behind the user's own service, if a client's settings lead to it: one gateway is enough."""
    found = gateway_of(url)
    try:
        service = load(Path.home() / ".undrift") if found else None
    except (StoreError, RuntimeError):
        service = None
    if found is None or service is None or service.port != found[0]:
        return url
    return service.upstreams.get(provider, url)


def _used(provider: Provider, client: str, variables: Mapping[str, str]) -> str:
    """Return the address that a client would have used."""
    if (provider, client) == ("anthropic", "claude"):
        cloud = cloud_of(variables)
        if cloud is not None and cloud.provider == provider and (url := foundry_url(variables)):
            return url
    if (provider, client) == ("openai", "codex"):
        return _of_codex(variables)
    found = next(filter(None, (variables.get(name) for name in _VARIABLES[provider])), "")
    return found or (_OPENAI if provider == "openai" else regional(variables)[provider])


def _claude_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables in the user's own settings of Claude Code, which go before the environment.

    A project's settings can only choose the cloud; they lead no request elsewhere.
    """
    try:
        folder = Path(variables.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    except RuntimeError:
        return {}
    found = _variables_in(folder / "settings.json")
    for name in ("settings.json", "settings.local.json"):
        project = _variables_in(Path(".claude") / name)
        found |= {key: value for key, value in project.items() if key.startswith(SWITCH)}
    return found


def _variables_in(settings: Path) -> dict[str, str]:
    try:
        found = json.loads(settings.read_text(encoding="utf-8"))["env"]
        return {name: value for name, value in found.items() if isinstance(value, str)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _of_codex(variables: Mapping[str, str]) -> str:
    """Return the address in the user's configuration of Codex, which reads no variable.

    Without one it is OpenAI's; the gateway sends what comes with a login of ChatGPT to ChatGPT.
    """
    try:
        folder = Path(variables.get("CODEX_HOME") or Path.home() / ".codex")
        url = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))["openai_base_url"]
    except (OSError, ValueError, KeyError, RuntimeError):
        url = ""
    return url if isinstance(url, str) and url else _OPENAI
