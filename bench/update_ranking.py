"""Of two statements about one matter, which comes first for a question about now: ``python -m bench.update_ranking``.

Each group of tests/data/updates.jsonl has an older statement, what else was said, a newer statement and a question. All of
them are remembered in one home, all older statements first; where something was said (`source`) does not tell the groups
apart. Each question is asked of `Session.search` and of plain FTS5. Only a contradiction that was found puts a later statement
before a better one. ``--cases FILE`` adds pairs of another origin.
"""

import argparse
import json
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contradiction import Update, read_updates
from undrift import Session, Settings

__all__ = ["Count", "cases", "main", "measured"]

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
K = 10
TALK = 6  # statements
Search = Callable[[str], Sequence[str]]


@dataclass
class Count:
    """How the statements of each group came out."""

    newer_first: int = 0
    newer_best: int = 0
    older_first: int = 0
    neither: int = 0

    @property
    def of(self) -> int:
        """Groups."""
        return self.newer_first + self.older_first + self.neither

    def __str__(self) -> str:
        return f"newer first {self.newer_first} of {self.of} (as the best hit {self.newer_best}), older first {self.older_first}, neither found {self.neither}"


def cases(path: Path) -> list[Update]:
    """Return the pairs of a file of cases, each an initial fact, one that contradicts it, and a query."""
    found = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [
        Update(one["case_id"], "case", one["initial_fact"], one["contradicting_fact"], one["query"], [], "held")
        for one in found
    ]


def measured(groups: Sequence[Update], embedder: str) -> dict[str, Count]:
    """Count for each half and way to search."""
    with tempfile.TemporaryDirectory() as home:
        now = [START_MS]

        def clock() -> int:
            now[0] += HOUR_MS
            return now[0]

        plain = sqlite3.connect(":memory:")
        plain.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61')")
        with Session.open("s", home=home, settings=Settings(embedder=embedder), clock=clock) as session:
            for text, source in said(groups):
                session.remember(text, source=source)
                plain.execute("INSERT INTO t VALUES(?)", (text,))
            ways: dict[str, Search] = {
                "plain FTS5": lambda query: fts5(plain, query),
                "Session.search": lambda query: [hit.entry.content for hit in session.search(query, k=K)],
            }
            counts: dict[str, Count] = {}
            for group in groups:
                for way, search in ways.items():
                    add(counts.setdefault(f"{group.half}: {way}", Count()), group, search(group.query))
        plain.close()
        return counts


def said(groups: Sequence[Update]) -> list[tuple[str, str]]:
    """Return what is said and where, in the order of time: all older statements come before all newer ones."""
    between = [text for group in groups for text in group.distractors]
    texts = [*(group.older for group in groups), *between, *(group.newer for group in groups)]
    return [(text, f"talk {number // TALK}") for number, text in enumerate(texts)]


def fts5(connection: sqlite3.Connection, query: str) -> list[str]:
    """Search by any of the words, best first."""
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query.lower())) or '"-"'
    sql = "SELECT x FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
    return [text for (text,) in connection.execute(sql, (words, K))]


def add(count: Count, group: Update, found: Sequence[str]) -> None:
    """Count one group; a statement that was not found comes after all that were."""
    newer, older = (found.index(text) if text in found else K for text in (group.newer, group.older))
    count.newer_best += newer == 0
    if newer == older == K:
        count.neither += 1
    elif newer < older:
        count.newer_first += 1
    else:
        count.older_first += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(prog="bench.update_ranking", description=__doc__)
    parser.add_argument("--cases", type=Path, help="memtrust_contradiction_cases.json")
    parser.add_argument("--embedder", default="auto", help="as the setting; none searches by words alone")
    options = parser.parse_args(arguments)
    for name, count in sorted(measured(read_updates(), options.embedder).items()):
        print(f"updates.jsonl, {name}: {count}")
    if options.cases:
        for name, count in sorted(measured(cases(options.cases), options.embedder).items()):
            print(f"{options.cases.name}, {name}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
