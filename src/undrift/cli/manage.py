"""``undrift agent manage``: one request through the engine, bytes in and bytes out, for programs in any language."""

import json
import sys
from dataclasses import asdict

import click

from undrift.cli.of_session import BUDGET, settings_in
from undrift.cli.place import HOME_HELP, kept_place, project_option
from undrift.cli.show import at_terminal, note, safe
from undrift.errors import Declined, InputError, WireError
from undrift.session.session import Session
from undrift.values.prepared import Prepared
from undrift.wire.forms import WIRES

__all__ = ["manage_command"]


@click.command("manage")
@click.option("--wire", type=click.Choice(WIRES), required=True, help="The provider's wire format.")
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="An id that all requests of one session share (default: detected from the request).",
)
@click.option("--model", metavar="NAME", help="The model's name; needed if the request has none, as with gemini.")
@click.option("--home", metavar="DIR", help=HOME_HELP)
@project_option
@click.option("--budget", type=BUDGET, metavar="N", help="The most tokens that the request may have.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object that contains the request.")
def manage_command(
    wire: str, session_id: str | None, model: str | None, home: str | None, budget: int | str | None, as_json: bool
) -> None:
    """Make one request fit its budget: JSON on stdin, the request to send on stdout.

    The request must have the whole history. Send the output to the provider unchanged. If nothing had to be
    removed, it is the same as the input. `undrift recall` prints removed text. Later requests of the same session
    are sent without it. Warnings, and headers that the request needs, are printed on stderr.

    \b
    undrift agent manage --wire anthropic --session build-42 < request.json
    """
    if sys.stdin is None or at_terminal(sys.stdin):
        raise click.UsageError("the request is read from stdin: undrift agent manage ... < request.json > edited.json")
    place = kept_place(home)
    settings = settings_in(place, budget_tokens=budget)
    body = sys.stdin.buffer.read()
    try:
        if session_id:
            session = Session.open(session_id, home=place, settings=settings)
        else:
            session = Session.recognise(body, wire=wire, home=place, settings=settings)
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
            f"stdin: {error}; give a whole request in the format {wire}, or send this one unchanged"
        ) from error
    _write(out)
    for line in _notes(prepared):
        note(safe(line))


def _as_json(prepared: Prepared) -> bytes:
    """Return the result as one object; the body is in it with its own bytes, so these must be JSON to the last field."""
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
        "new": [action.ref for action in prepared.new],
        "gone": [asdict(action) for action in prepared.gone],
        "warnings": list(prepared.warnings),
    }
    body: bytes = prepared.body
    return b'{\n  "body": ' + body + b"," + json.dumps(beside, indent=2).encode("ascii")[1:] + b"\n"


def _write(out: bytes) -> None:
    """Write byte for byte to a program, with escapes to a terminal."""
    if not at_terminal(sys.stdout):
        click.echo(out, nl=False)
        return
    text = out.decode("utf-8", "replace")
    shown = safe(text, keep="\n\t")
    click.echo(shown)
    if shown != text:
        note("Control characters are shown as escapes; redirect the output to a file for the exact bytes.")


def _notes(prepared: Prepared) -> list[str]:
    headers = [f"header {name}: {value}" for name, value in prepared.headers.items()]
    return [*prepared.warnings, *headers]
