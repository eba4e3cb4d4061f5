"""Measure everything: ``python -m bench.run [PART]...``; the reports go to build/ and to the terminal."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    body,
    counting,
    facts,
    hook,
    lance,
    mcp_start,
    memory_scale,
    overhead,
    proxy,
    rewind,
    start,
    store,
    window,
)
from bench.figures import Report

__all__ = ["main"]

FOLDER = Path(__file__).parents[1] / "build"
PARTS: dict[str, Callable[[], Report]] = {
    "hook": hook.measure,
    "start": start.measure,
    "mcp_start": mcp_start.measure,
    "overhead": overhead.measure,
    "store": store.measure,
    "window": window.measure,
    "counting": counting.measure,
    "body": body.measure,
    "facts": facts.measure,
    "proxy": proxy.measure,
    "rewind": rewind.measure,
    "memory_scale": memory_scale.measure,
    "lance": lance.measure,
}


def main(arguments: list[str]) -> int:
    """Run the named parts, or all; write build/bench.json and build/bench.md, and print the table."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"one of {', '.join(PARTS)}; default: all")
    wanted = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    report = Report()
    for part in wanted:
        print(f"measuring {part} ...", file=sys.stderr, flush=True)
        report.add(PARTS[part]())
    report.write(FOLDER)
    print(report.as_markdown())
    print(f"written: {FOLDER.name}/bench.json, {FOLDER.name}/bench.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
