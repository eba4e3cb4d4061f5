"""Small values for the tests that the seeds name, and a look into a document's section."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from undrift import ContextEntry

__all__ = ["ROOT", "entry", "ids", "modules_after", "section", "tokens", "tool_results"]

ROOT = Path(__file__).parents[2]


def entry(entry_id: str, type_: Any = "reasoning", tokens: int = 100, at: int = 0, **fields: Any) -> ContextEntry:
    """Build an entry; its content says which one it is, its tokens are what the test says."""
    return ContextEntry(entry_id, type_, fields.pop("content", f"content of {entry_id}"), tokens, at, **fields)


def tool_results(count: int, tokens: int = 100, first_at: int = 0) -> list[ContextEntry]:
    """Build tool results with sequential timestamps: ``result-0`` is the oldest."""
    return [
        entry(f"result-{i}", "tool_result", tokens, first_at + i, content=f"$ step {i}\nexit code {i}\n")
        for i in range(count)
    ]


def ids(entries) -> list[str]:
    return [e.id for e in entries]


def tokens(entries) -> int:
    return sum(e.token_count for e in entries)


def section(path: str, title: str) -> str:
    """Return what stands under a heading of a document, up to the next heading of its level or above."""
    file = ROOT / path
    assert file.is_file(), f"{path} must exist: the seeds ask for its section {title!r}"
    text = file.read_text(encoding="utf-8")
    heading = re.search(rf"^(#+) {re.escape(title)}\s*$", text, re.MULTILINE)
    assert heading, f"{path} needs a section {title!r}"
    rest = text[heading.end() :]
    end = re.search(rf"^#{{1,{len(heading[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def modules_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter and return the names of the modules that are loaded then."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))
