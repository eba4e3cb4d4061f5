"""``undrift restore``: what to give an agent back after its context was compacted."""

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from undrift.cli.own import FORMATS_READ
from undrift.cli.show import at_terminal, count, echo_json, safe
from undrift.recordings.restore import DEFAULT_BUDGET_TOKENS, Restored, restore

__all__ = ["restore_command"]


@click.command("restore", epilog=FORMATS_READ)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=DEFAULT_BUDGET_TOKENS,
    show_default=True,
    metavar="N",
    help="The most tokens of the text.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def restore_command(file: Path, budget: int, as_json: bool) -> None:
    """Print what to give an agent back after its context was compacted.

    FILE is a session that a client has recorded, up to now. The text holds your rules and last requests, the open task,
    the regions of files in work, the newest errors and the names that the work still uses: every line stood in the
    session. stderr says how large it is and what it holds.
    """
    restored = restore(file, budget_tokens=budget)
    if as_json:
        echo_json(_as_json(restored, budget))
        return
    _print(restored.text)
    click.echo(_what(restored, budget), err=True)


def _print(text: str) -> None:
    """Print the text: to a program byte for byte, to a terminal without what could steer it."""
    if at_terminal(sys.stdout):
        text = safe(text, keep="\n\t")
    end = "" if not text or text.endswith("\n") else "\n"
    click.echo((text + end).encode("utf-8", "replace"), nl=False)


def _as_json(restored: Restored, budget: int) -> dict[str, Any]:
    return {
        "budget_tokens": budget,
        "tokens": restored.tokens,
        "text": restored.text,
        "items": [asdict(item) for item in restored.items],
    }


def _what(restored: Restored, budget: int) -> str:
    """Say in one line how large the text is and what it holds."""
    if not restored.text:
        return f"nothing to give back within {budget:,} tokens"
    kinds = Counter(item.kind for item in restored.items)
    parts = ", ".join(f"{number:,} {safe(kind)}" for kind, number in kinds.items())
    return f"{count(restored.tokens, 'token')} of at most {budget:,}: {parts}"
