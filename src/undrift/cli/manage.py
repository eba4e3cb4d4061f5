"""``undrift manage``: one request through the engine, bytes in and bytes out, for programs in any language."""

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from undrift.cli.show import at_terminal, safe
from undrift.errors import Declined, InputError, WireError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.window import Prepared
from undrift.wire.forms import WIRES

__all__ = ["manage_command"]


@click.command("manage")
@click.option("--wire", type=click.Choice(WIRES), required=True, help="The provider's form.")
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="The same for all requests of one session (default: found by what the body says and holds).",
)
@click.option("--model", metavar="NAME", help="The model, where the body does not name it, as with gemini.")
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="The most tokens of the request.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, with the body in it.")
def manage_command(
    wire: str, session_id: str | None, model: str | None, home: str | None, budget: int | None, as_json: bool
) -> None:
    """Make one request fit: JSON on stdin, the request to send in its place on stdout.

    The request holds the whole history. Send what comes out, byte for byte: where nothing had to leave, it is what came
    in. What left is kept under --home, for undrift recall, and stays out of each later request of the session. stderr
    says what to know besides, and names the headers that must go with the request.
    """
    if sys.stdin is None or at_terminal(sys.stdin):
        raise click.UsageError("the request is read from stdin: undrift manage ... < request.json > edited.json")
    given: dict[str, Any] = {"budget_tokens": budget, "home": home}
    settings = Settings.from_environment(**{name: value for name, value in given.items() if value is not None})
    body = sys.stdin.buffer.read()
    try:
        if session_id:
            session = Session.open(session_id, settings=settings)
        else:
            session = Session.recognise(body, wire=wire, settings=settings)
        with session:
            prepared = session.prepare(body, wire=wire, model=model)
        out = _as_json(prepared) if as_json else prepared.body
    except Declined as error:
        answer = {"status": error.status, "body": error.body}
        if as_json:
            click.echo(json.dumps({"answer": answer}, indent=2))
        raise InputError(
            f"{error}; answer the client with status {error.status} and {json.dumps(error.body)}"
        ) from error
    except WireError as error:
        raise InputError(
            f"stdin: {error}; give a whole request in the form {wire}, or send this one as it is"
        ) from error
    _write(out)
    for line in _notes(prepared):
        click.echo(safe(line), err=True)


def _as_json(prepared: Prepared) -> bytes:
    """The result as one object; the body stands in it with its own bytes, so those have to be JSON to the last field."""
    try:
        prepared.body.decode("utf-8")
    except UnicodeDecodeError as error:  # in a field that the engine had no need to look into
        raise WireError(f"malformed JSON: {error}") from error
    beside = {
        "headers": dict(prepared.headers),
        "tokens_before": prepared.tokens_before,
        "tokens_after": prepared.tokens_after,
        "budget_tokens": prepared.budget_tokens,
        "actions": [asdict(action) for action in prepared.actions],
        "warnings": list(prepared.warnings),
    }
    body: bytes = prepared.body
    return b'{\n  "body": ' + body + b"," + json.dumps(beside, indent=2).encode("ascii")[1:] + b"\n"


def _write(out: bytes) -> None:
    """Write to a program byte for byte, to a terminal without what could steer it."""
    if not at_terminal(sys.stdout):
        click.echo(out, nl=False)
        return
    text = out.decode("utf-8", "replace")
    shown = safe(text, keep="\n\t")
    click.echo(shown)
    if shown != text:
        click.echo("control characters are shown as escapes; send it to a file for the exact bytes", err=True)


def _notes(prepared: Prepared) -> list[str]:
    headers = [f"header {name}: {value}" for name, value in prepared.headers.items()]
    return [*prepared.warnings, *headers]
