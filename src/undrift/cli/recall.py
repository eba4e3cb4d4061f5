"""``undrift recall``: the original of what left, byte for byte."""

import sys
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.show import at_terminal, count, echo_json, first_line, safe
from undrift.types import Original

__all__ = ["recall_command"]

_MOST_FOUND = 20


@click.command("recall")
@click.argument("ref", required=False)
@click.option(
    "--find", "words", metavar="WORDS", help="Search what left; with REF, show only its lines with all WORDS."
)
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def recall_command(ref: str | None, words: str | None, home: str | None, as_json: bool) -> None:
    """Print the original of what left a window.

    REF is the reference that `undrift replay` and the marks in a window show, or an entry's id. The bytes are exactly
    those that left; on a terminal, control characters are shown as escapes. Secrets were masked before they were
    stored; stderr says how many.
    """
    if ref is None and not words:
        raise click.UsageError("give a REF, or --find WORDS to look for one")
    places = lookup.homes_of(home)
    if ref is None:
        _search(places, words or "", as_json)
        return
    original = lookup.first(places, ref, lambda store, _: lookup.original_in(store, ref))
    lines = _matching(original.entry.content, words) if words else None
    if as_json:
        echo_json(_as_json(original, lines))
        return
    if lines is not None:
        for number, line in lines:
            click.echo(f"{number}: {safe(line, keep=chr(9))}")
        if not lines:
            click.echo(f"no line of it holds all of: {safe(words or '')}", err=True)
    else:
        _print(original.entry.content)
    for note in _masked(original):
        click.echo(note, err=True)


def _print(text: str) -> None:
    if not at_terminal(sys.stdout):
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False)
        return
    shown = safe(text, keep="\n\t")
    click.echo(shown, nl=not shown.endswith("\n"))
    if shown != text:
        click.echo("control characters are shown as escapes; send it to a file for the exact bytes", err=True)


def _matching(text: str, words: str) -> list[tuple[int, str]]:
    wanted = [word.casefold() for word in words.split()]
    lines = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in lines if all(word in line.casefold() for word in wanted)]


def _masked(original: Original) -> list[str]:
    if not original.masked:
        return []
    kinds = ", ".join(sorted({span.name for span in original.masked}))
    secrets = count(len(original.masked), "secret was", "secrets were")
    return [f"{secrets} masked before it was stored: {safe(kinds)}"]


def _as_json(original: Original, lines: list[tuple[int, str]] | None) -> dict[str, Any]:
    entry = original.entry
    value: dict[str, Any] = {
        "ref": original.ref,
        "entry_id": entry.id,
        "session_id": original.session_id,
        "type": entry.type,
        "tokens": entry.token_count,
        "text": entry.content,
        "masked": [{"name": span.name, "start": span.start, "length": span.length} for span in original.masked],
    }
    if lines is not None:
        value["lines"] = [{"number": number, "text": line} for number, line in lines]
    return value


def _search(homes: tuple[str, ...], words: str, as_json: bool) -> None:
    found = lookup.find(homes, words, _MOST_FOUND)
    if as_json:
        echo_json(
            {
                "found": [
                    {"ref": one.ref, "session_id": one.session_id, "type": one.type, "snippet": one.snippet}
                    for one in found
                ]
            }
        )
        return
    for one in found:
        click.echo(f"{one.ref}  {one.type:<11}  {first_line(' '.join(one.snippet.split()), 100)}")
    if not found:
        click.echo(f"nothing that left holds any of these words; looked in {safe(' and '.join(homes))}", err=True)
