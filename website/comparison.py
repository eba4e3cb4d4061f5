"""docs/comparison.md: ``python -m website.comparison`` writes it from website/comparison.toml.

Law: no cell without its evidence. A cell that we have not checked says so.
"""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from website.stage import ROOT

__all__ = ["PAGE", "cells", "main", "written"]

PAGE = ROOT / "docs" / "comparison.md"
_OURS = {"measured": "measured here", "ours": "our page"}
_SOURCE = Path(__file__).with_name("comparison.toml")

_INTRODUCTION = """\
# Beside other tools
This page asks six questions of tools for long sessions, one a table. Each cell has its evidence. To read about one tool, click its name in the first
table: all its answers stand together [at the end](#tool-by-tool).
- **Measured here** leads to our page with the figure and the command.
- **Our page** says how undrift, or a client that we drive in tests, does it.
- **Read** leads to the tool's own words, in a stored copy of 2026. It may have changed since, and a claim that was read is not a claim that holds.
- **Not checked** says that we have not looked.

`python -m website.comparison` writes this page from one file, and a test refuses a cell without evidence.

Tools differ in what they are for. Many of these can run beside undrift.
"""

_SIDE_BY_SIDE = """
## Side by side
`undrift bench drift DIR` measures what windows keep on your own recordings, with undrift beside the newest messages alone. `undrift bench restore DIR`
measures what texts hold at compactions, the client's own summary and its attached files among them. [The figures](figures.md) are from there.
"""


def cells() -> Mapping[str, Any]:
    """Read the table."""
    return tomllib.loads(_SOURCE.read_text(encoding="utf-8"))


def written() -> str:
    """Return the page. Raises ValueError: a tool has no cell for a question, or a cell has no evidence that is known."""
    table = cells()
    questions = table["questions"]
    for tool in table["tool"]:
        if len(tool["cells"]) != len(questions):
            raise ValueError(f"{tool['name']} has {len(tool['cells'])} cells for {len(questions)} questions")
    parts = [_INTRODUCTION, _tools(table["tool"])]
    for number, question in enumerate(questions):
        rows = [f"| {tool['name']} | {_cell(tool['cells'][number], table['read'])} |" for tool in table["tool"]]
        parts.append(
            f"\n## {question[0].upper()}{question[1:]}\n| tool | answer | evidence |\n| --- | --- | --- |\n"
            + "\n".join(rows)
            + "\n"
        )
    return "".join([*parts, _SIDE_BY_SIDE, _by_tool(table)])


def _tools(tools: Sequence[Mapping[str, Any]]) -> str:
    rows = [f"| [{tool['name']}](#{_anchor(tool['name'])}) | {tool['is']} |" for tool in tools]
    return "\n| tool | what it is |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _by_tool(table: Mapping[str, Any]) -> str:
    """Return the same cells once more, a table for each tool."""
    parts = ["\n## Tool by tool\nThese are the same answers, a table for each tool.\n"]
    for tool in table["tool"]:
        rows = [
            f"| {question} | {_cell(cell, table['read'])} |"
            for question, cell in zip(table["questions"], tool["cells"], strict=True)
        ]
        parts.append(
            f"\n### {tool['name']}\n| question | answer | evidence |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
        )
    return "".join(parts)


def _cell(cell: Sequence[str], read: Mapping[str, Mapping[str, str]]) -> str:
    answer, evidence = cell
    kind, _, where = evidence.partition(": ")
    if kind in _OURS and answer and (ROOT / "docs" / where.partition("#")[0]).is_file():
        return f"{answer} | [{_OURS[kind]}]({where})"
    if kind == "read" and answer:
        return f"{answer} | read: [{read[where]['what']}]({read[where]['address']})"
    if evidence == "not checked":
        return f"{answer or '?'} | not checked"
    raise ValueError(f"{answer!r} has the evidence {evidence!r}")


def main() -> int:
    """Write the page."""
    PAGE.write_text(written(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
