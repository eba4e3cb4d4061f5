"""``undrift serve``: the gateway as a service for a team, and the keys of its people."""

import json
import logging
import secrets
import sys
from pathlib import Path

import click

from undrift.cli.draw import say
from undrift.cli.gateway_log import LOOPBACK, log_to
from undrift.cli.show import echo_json, note, safe
from undrift.settings import environment
from undrift.settings.serving import read_serve_config, session_settings
from undrift.values.member import hash_of, is_member_name
from undrift.values.serving import ServeConfig

__all__ = ["serve_command"]

_KEY_BYTES = 32


@click.group("serve", invoke_without_command=True)
@click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The configuration, a TOML file.")
@click.option(
    "--check", metavar="FILE", type=click.Path(path_type=Path), help="Only check a configuration, and say what it does."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def serve_command(context: click.Context, config: Path | None, check: Path | None, as_json: bool) -> None:
    """Run the gateway for a team until a signal stops it.

    Each request names its person by a key. Several such gateways may stand behind a balancer, in front of one home.
    Variables such as UNDRIFT_SERVE_LISTEN win over the file. For each request one line is printed on stderr, without
    the request's content.

    \b
    undrift serve --config serve.toml
    undrift serve --check serve.toml
    undrift serve key --person ana --project shop
    """
    if context.invoked_subcommand is not None:
        return
    if check is not None:
        _check(check, as_json=as_json)
    else:
        _run(config, as_json=as_json)


@serve_command.command("key")
@click.option("--person", metavar="P", help="The person who gets the key.")
@click.option("--project", metavar="P", help="The project of the person's sessions with this key.")
@click.option("--metrics", "is_metrics", is_flag=True, help="Make the operator's key instead, for metrics.")
@click.option("--json", "as_json", is_flag=True, help="Print the key and its hash as one JSON object.")
def key_command(person: str | None, project: str | None, is_metrics: bool, as_json: bool) -> None:
    """Make a key, and print it once with the lines for the configuration.

    The configuration holds only the hash of the key. Nothing is stored: make another key if one is lost.

    \b
    undrift serve key --person ana --project shop
    undrift serve key --metrics
    """
    if is_metrics == bool(person or project) or (not is_metrics and not (person and project)):
        raise click.UsageError("give --person and --project, or --metrics alone")
    for name in (person, project):
        if name is not None and not is_member_name(name):
            raise click.UsageError("a name has 1 to 128 characters, and no control characters")
    key = secrets.token_hex(_KEY_BYTES)
    lines = (
        ["[metrics]"] if is_metrics else ["[[keys]]", f"person = {_quoted(person)}", f"project = {_quoted(project)}"]
    )
    lines.append(f'sha256 = "{hash_of(key)}"')
    if as_json:
        echo_json({"key": key, "sha256": hash_of(key), "person": person, "project": project, "lines": lines})
        return
    click.echo(f"{key}\n")
    click.echo("\n".join(lines))
    if is_metrics:
        note("The first line is the key, shown this once. Put the other lines into the configuration.")
    else:
        note(
            "The first line is the key, shown this once: give it to its person. Put the other lines into the "
            "configuration, and start the gateway again."
        )


def _quoted(name: str | None) -> str:
    """Return a name as TOML writes it."""
    return json.dumps(name, ensure_ascii=False)


def _check(path: Path, *, as_json: bool) -> None:
    """Check a configuration as a start would, without listening or opening anything."""
    from undrift.proxy.team.server import gateway_config

    variables = environment()
    serve = read_serve_config(path, variables)
    gateway_config(serve, session_settings(serve, variables), variables)
    people = sorted({line.person for line in serve.keys})
    if as_json:
        listens = {"host": serve.host, "port": serve.port}
        echo_json({"home": serve.home, **listens, "keys": len(serve.keys), "people": people})
        return
    click.echo(f"{safe(str(path))} is good.\n")
    click.echo(f"Home:    {safe(serve.home)}")
    click.echo(f"Listens: {safe(serve.host)}:{serve.port}")
    click.echo(f"Keys:    {len(serve.keys)}, of {len(people)} people")
    issuer = "none" if serve.oidc is None else safe(serve.oidc.issuer)
    click.echo(f"Issuer:  {issuer}")
    if not serve.keys and serve.oidc is None:
        say("No person can use it yet: add a key with undrift serve key, or an [oidc] table.")
    say(f"Next: undrift serve --config {safe(str(path))}")


def _run(path: Path | None, *, as_json: bool) -> None:
    from undrift.proxy.team.exporters import export_by, is_asked_for
    from undrift.proxy.team.server import TeamServer, gateway_config

    variables = environment()
    serve = read_serve_config(path, variables)
    settings = session_settings(serve, variables)
    server = TeamServer(gateway_config(serve, settings, variables), serve)
    log_to(logging.StreamHandler(), _TextLine() if serve.log == "text" else None)
    end = export_by(variables) if is_asked_for(variables) else None
    if serve.host not in LOOPBACK:
        note(f"undrift: other machines can reach {safe(serve.host)}; put a reverse proxy with TLS in front of it")
    try:
        server.run(lambda: _say(server.url, server.port, serve, as_json=as_json))
    finally:
        if end is not None:
            end()


def _say(url: str, port: int, serve: ServeConfig, *, as_json: bool) -> None:
    if as_json:
        echo_json({"url": url, "port": port, "home": serve.home})
    else:
        click.echo(f"undrift serves a team on {url}\nThe records are kept in {safe(serve.home)}\n")
        click.echo(f"A base URL: {url}/KEY/via/anthropic")
        click.echo(f"Ready:      {url}/undrift/ready\nHealth:     {url}/undrift/health")
        click.echo(f"Metrics:    {url}/undrift/metrics")
    sys.stdout.flush()


class _TextLine(logging.Formatter):
    """Writes the log's JSON as words with their values, one line for each message."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the standard library
        try:
            fields = json.loads(record.message)
            shown = " ".join(f"{name}={_word(value)}" for name, value in fields.items())
        except (ValueError, AttributeError):
            shown = record.message
        return safe(f"{record.levelname.lower()} {shown}")


def _word(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=') else text
