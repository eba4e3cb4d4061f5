"""``undrift session restore``: the text that gives an agent back what a compaction removed."""

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from undrift.cli.of_session import TOKENS
from undrift.cli.own import FORMATS_READ, client_folders, own_recordings
from undrift.cli.show import at_terminal, count, echo_json, note, safe
from undrift.recordings.restore import DEFAULT_BUDGET_TOKENS, Restored, restore

__all__ = ["print_text", "restore_command"]


@click.command("restore", epilog=FORMATS_READ)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--budget",
    type=TOKENS,
    default=DEFAULT_BUDGET_TOKENS,
    show_default=True,
    metavar="N",
    help="Print at most N tokens.",
)
@client_folders
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def restore_command(file: Path | None, budget: int, as_json: bool, **folders: Path | None) -> None:
    """Print the text to give an agent after a compaction.

    FILE is a recorded session; without FILE, your newest one is read. Every line of the text is copied from it. The text
    has your rules and last requests, the open task and the newest errors. It also has the parts of files that the agent
    was working on, and names that it was using.

    \b
    undrift session restore
    undrift session restore session.jsonl
    """
    chosen = file or own_recordings("undrift session restore", **folders)[0]
    restored = restore(chosen, budget_tokens=budget)
    if as_json:
        echo_json(_as_json(restored, budget, chosen))
        return
    print_text(restored.text)
    if file is None:
        note(f"Your newest session: {safe(str(chosen))}")
    note(_what(restored, budget))


def print_text(text: str) -> None:
    """Print the text: byte for byte to a program, with escapes to a terminal."""
    if at_terminal(sys.stdout):
        text = safe(text, keep="\n\t")
    end = "" if not text or text.endswith("\n") else "\n"
    click.echo((text + end).encode("utf-8", "replace"), nl=False)


_WORDS = {
    "rules": ("group of rules", "groups of rules"),
    "requests": ("request",),
    "said": ("other message",),
    "pasted": ("pasted text",),
    "plan": ("step of the plan", "steps of the plan"),
    "tried": ("attempt",),
    "file": ("part of a file", "parts of files"),
    "result": ("part of a result", "parts of results"),
}
"""Kind of an item -> one of it, and several; of the others the kind itself is the word."""


def _as_json(restored: Restored, budget: int, path: Path) -> dict[str, Any]:
    return {
        "path": str(path),
        "budget_tokens": budget,
        "tokens": restored.tokens,
        "text": restored.text,
        "items": [asdict(item) for item in restored.items],
    }


def _what(restored: Restored, budget: int) -> str:
    """Return its size and its parts in one line."""
    if not restored.text:
        return f"There is nothing to restore within {budget:,} tokens."
    kinds = Counter(item.kind for item in restored.items)
    parts = ", ".join(count(number, *_WORDS.get(kind, (safe(kind),))) for kind, number in kinds.items())
    return f"{count(restored.tokens, 'token')} of at most {budget:,}: {parts}"
