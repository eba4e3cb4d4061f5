"""``undrift hook``: what a client calls. The program goes past this module when a client does; it serves the help."""

import sys

import click

from undrift.hooks.answer import Options, answer
from undrift.hooks.call import CLIENTS
from undrift.hooks.start import LARGEST_INPUT_BYTES

__all__ = ["hook_command"]


@click.command("hook")
@click.argument("event", type=click.Choice(("PreCompact", "SessionStart")))
@click.option("--client", type=click.Choice(tuple(CLIENTS)), default="claude", help="Whose hook it is.")
@click.option("--client-home", metavar="DIR", help="The client's own folder, absolute (default: the usual one).")
@click.option("--home", metavar="DIR", help="The folder of the store, absolute (default: ~/.undrift).")
@click.option("--part", type=click.IntRange(1, 2), default=1, help="Which part of the text.")
@click.option("--now", is_flag=True, help="PreCompact: do the work before returning, not in a process of its own.")
@click.option("--json", is_flag=True, expose_value=False, help="The answer is JSON in any case.")
def hook_command(event: str, client: str, client_home: str | None, home: str | None, part: int, now: bool) -> None:
    """Answer a client's hook: its JSON on stdin, ours on stdout.

    Never fails the client: on any fault nothing is printed, the exit code is 0, and one line goes to hooks.log in the
    home. undrift install registers it.
    """
    given = sys.stdin.buffer.read(LARGEST_INPUT_BYTES + 1)
    text = answer(event, given, Options(client, home, client_home, part, now=now))
    click.echo(text.encode("utf-8", "replace"), nl=False)
