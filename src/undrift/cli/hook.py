"""``undrift agent hook``: its help and options. A client's call does not load this module."""

import sys

import click

from undrift.hooks.answer import Options, answer
from undrift.hooks.call import CLIENTS
from undrift.hooks.start import LARGEST_INPUT_BYTES

__all__ = ["hook_command"]


@click.command("hook")
@click.argument("event", type=click.Choice(("PreCompact", "SessionStart")))
@click.option("--client", type=click.Choice(tuple(CLIENTS)), default="claude", help="The client (claude).")
@click.option("--client-home", metavar="DIR", help="The client's own folder, absolute (default: the usual one).")
@click.option("--home", metavar="DIR", help="The home folder, absolute (default: ~/.undrift).")
@click.option("--part", type=click.IntRange(1, 2), default=1, help="The part of the text, 1 or 2.")
@click.option("--now", is_flag=True, help="PreCompact: work in this process, not in a new one.")
@click.option("--json", is_flag=True, expose_value=False, help="The answer is JSON in any case.")
def hook_command(event: str, client: str, client_home: str | None, home: str | None, part: int, now: bool) -> None:
    """Answer a client's hook: its JSON on stdin, ours on stdout.

    `undrift install` registers it. It never fails the client: on any fault it prints nothing, writes one line to
    hooks.log in the home, and exits with 0.
    """
    given = sys.stdin.buffer.read(LARGEST_INPUT_BYTES + 1)
    text = answer(event, given, Options(client, home, client_home, part, now=now))
    click.echo(text.encode("utf-8", "replace"), nl=False)
