"""How reports are drawn: sentences broken between words, tables in which no figure is ever cut.

Law: the only module of the command line that makes a console; what is drawn has been made safe before.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from undrift.cli.show import at_terminal

__all__ = ["Column", "PIPE_WIDTH", "console", "draw", "say"]

PIPE_WIDTH = 120
_LEAST_WORDS = 12
"""So much of a column of words must fit, or the rows are drawn one below the other."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Args:
        name: Its head.
        words: It holds words, which may be broken over lines; else figures, which stay whole, at the right.
        short: Of its words what fits on one line is enough.
    """

    name: str
    words: bool = False
    short: bool = False


def console() -> Console:
    """Give what draws on stdout: as wide as the terminal, `PIPE_WIDTH` elsewhere."""
    width = None if at_terminal(sys.stdout) else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def say(on: Console, sentence: str, style: str = "") -> None:
    """Print a sentence; broken between words on a terminal, one line each elsewhere."""
    on.print(Text(sentence, style=style), soft_wrap=not on.is_terminal)


def draw(on: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, head: bool = True) -> None:
    """Print a table; where the figures do not fit side by side, each row as lines of its own.

    Args:
        on: As `console` gives it.
        columns: The first one names the row.
        rows: One cell a column.
        head: Whether the names stand above; they are needed where rows stand for themselves.
    """
    if _least_width(columns, rows, head=head) > on.width:
        _one_below_the_other(on, columns, rows, head=head)
        return
    grows = any(column.short for column in columns)
    table = Table(box=box.SIMPLE_HEAD if head else None, pad_edge=False, show_header=head, expand=grows)
    for column in columns:
        table.add_column(
            column.name,
            justify="left" if column.words else "right",
            no_wrap=column.short or not column.words,
            overflow="ellipsis" if column.short else "fold",
            ratio=1 if column.short else None,
            max_width=max(_LEAST_WORDS, on.width * 3 // 10) if grows and column.words and not column.short else None,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    on.print(table)


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, head: bool) -> int:
    """Give the width below which a figure would be cut: each column with a space beside it, and the edges."""
    width = 2
    for number, column in enumerate(columns):
        cells = [row[number] for row in rows] + ([column.name] if head else [])
        widest = max(map(cell_len, cells), default=0)
        width += 3 + (min(widest, _LEAST_WORDS) if column.words else widest)
    return width


def _one_below_the_other(on: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, head: bool) -> None:
    for row in rows:
        first, *others = ((column, cell.strip()) for column, cell in zip(columns, row, strict=True))
        parts = [
            f"{column.name} {cell}" if head and not column.words else cell
            for column, cell in others
            if cell and not column.short
        ]
        say(on, f"  {first[1]}: " + " · ".join(parts) if parts else f"  {first[1]}")
        for column, cell in others:
            if cell and column.short:
                on.print(Text(f"    {cell}"), no_wrap=True, overflow="ellipsis")
