"""Reports as lines that fit the terminal: sentences broken between words, and tables that never cut a figure.

Law: no word is broken; a long path or id stands alone on its line. The caller makes every text safe first.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.cells import cell_len, set_cell_size

from undrift.cli.show import columns as terminal_columns

__all__ = ["Column", "draw", "next_commands", "say", "table"]

_LEAST_SHORT = 12
"""If less than this of a shortened text fits, the rows are drawn one below the other."""
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    `words`: it holds words, which are broken over lines; else figures, which stay whole, at the right.
    """

    name: str
    words: bool = False
    short: bool = False


def say(sentence: str, *, bold: bool = False, hang: str = "") -> None:
    """Print a sentence, broken between words.

    Args:
        sentence: Spaces at its beginning indent every line of it.
        hang: Further spaces before its second and later lines.
    """
    indent = sentence[: len(sentence) - len(sentence.lstrip(" "))]
    for number, line in enumerate(_folded(sentence.strip(" "), terminal_columns() - len(indent) - len(hang))):
        shown = f"{indent}{hang if number else ''}{line}"
        click.echo(click.style(shown, bold=True) if bold else shown)


def next_commands(**commands: str) -> None:
    """Print the commands to type next, each below the words that say what it does; a command is never broken."""
    click.echo()
    for what, command in commands.items():
        click.echo(f"{what.replace('_', ' ')}:\n  {command}")


def draw(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, head: bool = True) -> None:
    """Print a table as wide as the terminal."""
    for line in table(columns, rows, terminal_columns(), head=head):
        click.echo(line)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, *, head: bool = True) -> Iterator[str]:
    """Yield the lines of a table; if its figures do not fit side by side, each row as lines of its own."""
    cells = [[column.name for column in columns], *rows] if head else list(rows)
    widths = [_least(column, [row[number] for row in cells]) for number, column in enumerate(columns)]
    spare = width - sum(widths) - len(_GAP) * (len(widths) - 1)
    if spare < 0:
        yield from _one_below_the_other(columns, rows, width, head=head)
        return
    for number, column in sorted(enumerate(columns), key=lambda one: one[1].short):
        more = min(spare, max((cell_len(row[number]) for row in cells), default=0) - widths[number])
        if column.words and more > 0:
            widths[number] += more
            spare -= more
    if head:
        yield from _row(columns, cells[0], widths)
        yield _GAP.join("─" * one for one in widths)
    for row in rows:
        yield from _row(columns, row, widths)


def _row(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of one row."""
    parts = []
    for column, cell, width in zip(columns, row, widths, strict=True):
        if column.short and cell_len(cell) > width:
            parts.append([set_cell_size(cell, width - 1) + "…"])
        else:
            parts.append(_folded(cell, width) if column.words and not column.short else [cell])
    for number in range(max(map(len, parts))):
        shown = []
        for column, lines, width in zip(columns, parts, widths, strict=True):
            text = lines[number] if number < len(lines) else ""
            space = " " * (width - cell_len(text))
            shown.append(text + space if column.words else space + text)
        yield _GAP.join(shown).rstrip()


def _least(column: Column, cells: Sequence[str]) -> int:
    """Give the width below which a word or a figure would be broken."""
    if column.short:
        return min(_LEAST_SHORT, max(map(cell_len, cells), default=0))
    parts = [part for cell in cells for part in cell.split()] if column.words else cells
    return max(map(cell_len, parts), default=0)


def _one_below_the_other(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, *, head: bool
) -> Iterator[str]:
    for row in rows:
        (_, first), *others = ((column, cell.strip()) for column, cell in zip(columns, row, strict=True))
        parts = [
            f"{column.name} {cell}" if head and not column.words else cell
            for column, cell in others
            if cell and not column.short
        ]
        yield from _folded(f"{first}: {' · '.join(parts)}" if parts else first, width - 2, "  ")
        for column, cell in others:
            if cell and column.short:
                yield f"    {cell if cell_len(cell) <= width - 4 else set_cell_size(cell, max(1, width - 5)) + '…'}"


def _folded(text: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(text, max(1, width), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in lines] or [indent]
