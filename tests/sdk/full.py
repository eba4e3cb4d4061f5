"""Every documented quick start of every SDK, sync and async, for sixty turns over a budget that bites.

Run as ``python -m tests.sdk.full [PART]``, PART a part of a shape's name. Prints a row for each; ends with 1 on a fault.
"""

import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.sdk.quick_starts.play import Script
from tests.sdk.quick_starts.stage import Row, all_shapes, compare

SCRIPT = Script(turns=60, asked_every=8, lines=40)
BUDGET_TOKENS = 12_000
_HEAD = f"{'shape':<36} {'client':<6} {'requests':>8} {'refused':>7} {'managed':>7} {'recorded':>8} {'tokens':>15} same"


def main(part: str = "") -> int:
    """Play all shapes; return the exit code."""
    logging.disable(logging.WARNING)  # what the SDKs advise, and that previous_response_id passes through
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")  # OpenAI's parse, with wrap or without
    faults, rows, began_s = [], 0, time.process_time()
    print(f"{SCRIPT.turns} turns, a budget of {BUDGET_TOKENS:,} tokens\n{_HEAD}")
    for shape in (one for one in all_shapes() if part in f"{one.wire} {one.name}"):
        with tempfile.TemporaryDirectory() as folder:
            row = compare(shape, SCRIPT, Path(folder) / "home", BUDGET_TOKENS)
        print(_line(row), flush=True)
        faults += [f"{shape}: {fault}" for fault in row.faults()]
        rows += 1
    print(f"{rows} shapes, {len(faults)} faults, {time.process_time() - began_s:.0f} s of the processor")
    print("\n".join(faults))
    return 1 if faults else 0


def _line(row: Row) -> str:
    client = "async" if row.shape.is_async else "sync"
    tokens = f"{row.tokens_before:,} > {row.tokens_after:,}"
    return (
        f"{row.shape.name:<36} {client:<6} {row.requests:>8} {len(row.refused):>7} {row.managed:>7} {row.recorded:>8} "
        f"{tokens:>15} {'yes' if row.is_same else 'NO'}"
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
