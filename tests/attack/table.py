"""`make attack`: each attack is a row; attempts, survived and failed are printed, the failures first in the end.

Rows that need root, strace or a browser are skipped, and the table says why. SHORT=1 tries each row a few times; the first
letters of names choose rows: ``ARGS="power disk"``.
"""

import argparse
import logging
import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

from tests.attack import cost, disk, served, trust
from tests.attack.rows import Outcome, Row, Skipped

__all__ = ["ROWS", "line_of", "main", "tried"]

ROWS = (*disk.ROWS, *served.ROWS, *trust.ROWS, *cost.ROWS)


def tried(row: Row, *, is_short: bool) -> Outcome | str:
    """Do one attack; return its outcome, or why it was skipped."""
    try:
        return row.attack(is_short)
    except Skipped as reason:
        return str(reason)
    except Exception as error:  # noqa: BLE001 - a row that breaks has failed
        return Outcome(1, 0, f"{type(error).__name__}: {str(error)[:300]}")


def line_of(row: Row, outcome: Outcome | str) -> str:
    """Return a row of the table, as Markdown."""
    if isinstance(outcome, str):
        cells = [row.name, row.before, "-", "-", "skipped", outcome]
    else:
        failed = f"**{outcome.failed:,}**" if outcome.failed else "0"
        cells = [row.name, row.before, f"{outcome.attempts:,}", f"{outcome.survived:,}", failed, outcome.note]
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def main(arguments: list[str]) -> int:
    """Do the attacks and print the table; return 0 where none failed."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("rows", nargs="*", help="the first letters of the rows to do (default: all)")
    parser.add_argument("--short", action="store_true", help="try each row a few times")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table, failures first")
    chosen = parser.parse_args(arguments)
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(("src", "."))):
        return _attacked(chosen)


def _attacked(chosen: argparse.Namespace) -> int:
    rows = [row for row in ROWS if not chosen.rows or row.name.startswith(tuple(chosen.rows))]
    head = "| attack | before | attempts | survived | failed | |\n| --- | --- | --- | --- | --- | --- |"
    print(head, flush=True)
    found: list[tuple[bool, bool, str]] = []
    for row in rows:
        began_s = time.monotonic()
        outcome = tried(row, is_short=chosen.short)
        line = line_of(row, outcome)
        print(line, f"{time.monotonic() - began_s:.0f} s", flush=True)
        found.append((isinstance(outcome, str) or not outcome.failed, not isinstance(outcome, str), line))
    failed = sum(not held for held, *_ in found)
    skipped = sum(not was_tried for _, was_tried, _ in found)
    print(f"{'FAILED' if failed else 'ok'}: {len(found)} rows, {failed} failed, {skipped} skipped")
    if chosen.write:
        lines = [line for *_, line in sorted(found, key=lambda one: one[:2])]
        chosen.write.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    logging.disable()  # warnings are what many attacks are after
    sys.exit(main(sys.argv[1:]))
