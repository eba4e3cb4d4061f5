"""The page of peers: `undrift bench peers` twice, both runs compared, and the tables of docs/peers.md written.

``python -m bench.peers DIR [--talks FILE] [--sample N]``, or ``make peers DIR=...``, which makes the environment first.
It ends with 1 if a control did not fail as it must, or if a figure of the second run differs by more than 2%.
"""

import argparse
import datetime as dt
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.marked import with_part
from undrift.bench.outcomes_report import outcomes_table
from undrift.bench.peers_report import peers_tables

__all__ = ["largest_difference", "main", "page"]

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "peers.json"
PAGE = ROOT / "docs" / "peers.md"
BEGIN, END = "<!-- figures: written by `make peers` -->", "<!-- end of figures -->"
MOST_DIFFERENCE = 0.02
RUNS = ("windows", "restored", "talks")


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a JSON value with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers(inner, f"{path}/{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def largest_difference(first: dict[str, Any], second: dict[str, Any]) -> tuple[float, str]:
    """Return the largest relative difference between two runs, and its place; 1.0 if a figure is in one of them alone."""
    one, other = (dict(numbers({name: run[name] for name in RUNS})) for run in (first, second))
    if missing := sorted(one.keys() ^ other.keys()):
        return 1.0, missing[0]
    return max(
        ((abs(a - other[at]) / max(abs(a), abs(other[at]), 1e-9), at) for at, a in one.items()), default=(0.0, "")
    )


def page(text: str, value: dict[str, Any]) -> str:
    """Return the page with the tables of these figures between its marks. Raises ValueError: a mark is missing."""
    words = [
        f"Run on {value['date']} with Python {value['python']}: `{value['command']}`.",
        f"The second run differs by {value['difference']:.2%} at most.",
        "",
        peers_tables(value["peers"]),
        "### Solved and failed runs",
        "",
        outcomes_table(value["outcomes"]),
    ]
    return with_part(text, BEGIN, "\n".join(words).rstrip("\n"), END)


def run(*words: str) -> dict[str, Any]:
    """Run a command of undrift and read its JSON; a control that did not fail ends it with 1, and is in the JSON."""
    done = subprocess.run([sys.executable, "-m", "undrift", *words, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(done.returncode or 1)
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def main(arguments: list[str]) -> int:
    """Run twice, compare, and write docs/peers.json and docs/peers.md."""
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--talks", metavar="FILE")
    parser.add_argument("--sample", default="12", metavar="N")
    parser.add_argument("--jobs", default="2", metavar="N")
    given = parser.parse_args(arguments)
    words = ["bench", "peers", given.folder, "--sample", given.sample, "--jobs", given.jobs]
    words += ["--talks", given.talks] if given.talks else []
    first, second = run(*words), run(*words)
    difference, place = largest_difference(first, second)
    print(f"largest difference between the two runs: {difference:.4%} {place}")
    value = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "command": f"undrift bench peers DIR --sample {given.sample}" + (" --talks FILE" if given.talks else ""),
        "difference": difference,
        "peers": first,
        "outcomes": run("bench", "outcomes", given.folder),
    }
    FIGURES.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), value), encoding="utf-8")
    wrong = [one["must_be"] for one in first["controls"] if not one["is"]]
    for words_ in wrong:
        print(f"CONTROL FAILED: {words_}")
    return 1 if wrong or difference > MOST_DIFFERENCE else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
