"""Fail where a file's line coverage is below its floor in pyproject.toml: ``python -m tests.house.coverage_floors REPORT``."""

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["main", "problems", "shown"]

ROOT = Path(__file__).parents[2]


def lines_percent(report: Mapping[str, Any], path: str) -> float | None:
    """Return a file's covered lines in per cent, from the counts of coverage's JSON report; None where it is not in it."""
    file = report["files"].get(path)
    if file is None:
        return None
    covered, statements = file["summary"]["covered_lines"], file["summary"]["num_statements"]
    return 100.0 * covered / statements if statements else 100.0


def problems(report: Mapping[str, Any], floors: Mapping[str, float]) -> list[str]:
    """Return a sentence for each file that is below its floor or missing from the report."""
    found = []
    for path, floor in floors.items():
        percent = lines_percent(report, path)
        if percent is None:
            found.append(
                f"{path}: not in the coverage report: no test runs it, or it has moved and its floor must follow"
            )
        elif percent < floor:
            lines = report["files"][path].get("missing_lines", [])
            found.append(f"{path}: {percent:.2f} % of the lines, the floor is {floor} %; no test reaches lines {lines}")
    return found


def shown(report: Mapping[str, Any], floors: Mapping[str, float]) -> list[str]:
    """Return one line for each floor that is kept."""
    return [
        f"{path}: {percent:.2f} % of the lines, the floor is {floor} %"
        for path, floor in floors.items()
        if (percent := lines_percent(report, path)) is not None and percent >= floor
    ]


def main(arguments: list[str]) -> int:
    """Read the report named in the arguments and the floors of pyproject.toml; return the exit code."""
    floors = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["undrift"]["coverage_floors"]
    report = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    found = problems(report, floors)
    print(*shown(report, floors), *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
