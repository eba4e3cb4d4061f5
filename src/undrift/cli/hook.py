"""``undrift agent hook``: its help and options. A client's call does not load this module."""

import sys
from typing import Any

import click

from undrift.cli.of_session import Whole
from undrift.hooks.answer import answer
from undrift.hooks.call import CLIENTS, FIRST_PARTS, Options
from undrift.hooks.events import EVENTS
from undrift.hooks.start import LARGEST_INPUT_BYTES
from undrift.hooks.status_line import start_line
from undrift.values.restored import MOST_PARTS

__all__ = ["hook_command"]


@click.command("hook")
@click.argument("event", metavar="EVENT", type=click.Choice((*EVENTS, "StatusLine")))
@click.option(
    "--client", type=click.Choice(tuple(CLIENTS)), default="claude", help="The client that calls (default: claude)."
)
@click.option(
    "--client-home",
    metavar="DIR",
    help="The client's own folder, as an absolute path (default: ~/.claude or ~/.codex).",
)
@click.option("--home", metavar="DIR", help="The folder of undrift's data, as an absolute path (default: ~/.undrift).")
@click.option("--part", type=Whole(1, MOST_PARTS), default=1, metavar="N", help="The part of the answer to print.")
@click.option(
    "--parts",
    type=Whole(1, MOST_PARTS),
    default=FIRST_PARTS,
    metavar="N",
    help="The number of parts that the client asks for.",
)
@click.option("--now", is_flag=True, help="For PreCompact: do the work in this process, not in a new one.")
@click.option("--json", is_flag=True, expose_value=False, help="No effect: the answer is always JSON.")
def hook_command(event: str, **given: Any) -> None:
    """Run as a client's hook: read its JSON from stdin, print the answer on stdout.

    EVENT is an event of the client, such as PreCompact or SessionStart, or StatusLine, which prints one line for Claude
    Code's status line. `undrift install` registers them. An error never stops the client: the hook then prints nothing, writes one line to hooks.log in
    its data folder, and exits with 0.
    """
    if event == "StatusLine":
        folders = {"--home": given["home"], "--client-home": given["client_home"]}
        start_line([f"{option}={value}" for option, value in folders.items() if value is not None])
        return
    payload = sys.stdin.buffer.read(LARGEST_INPUT_BYTES + 1)
    text = answer(event, payload, Options(**given))
    click.echo(text.encode("utf-8", "replace"), nl=False)
