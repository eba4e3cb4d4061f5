"""Precision and recall of the ValidationService on labelled pairs of summary and log: ``python -m bench.validate_summaries``.

Law: the same files give the same tables. The rules were made on ``shown.txt``; ``set_aside.txt`` was written before them
and is only counted.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from undrift.core.validate.service import ValidationResult, ValidationService

__all__ = ["LABELS", "Pair", "Tally", "judge", "main", "read_pairs", "table"]

LABELS = ("true", "partly", "invented", "negated", "evasive")
PAIRS = Path(__file__).parents[1] / "tests" / "data" / "summary_pairs"
HALVES = ("shown", "set_aside")


@dataclass(frozen=True)
class Pair:
    """A summary, its log, and what a careful reader finds in it.

    Args:
        name: Log and number.
        label: One of `LABELS`.
        acceptance_criteria: Of the task.
        summary: As the agent gives it.
        log: The raw text.
        missing: The criteria that are not met.
        unsupported: What the log does not hold.
        hides: Whether the log ends with a failure that the summary hides.
    """

    name: str
    label: str
    acceptance_criteria: tuple[str, ...]
    summary: str
    log: str
    missing: frozenset[str] = frozenset()
    unsupported: tuple[str, ...] = ()
    hides: bool = False
    grounding: object = None
    grounding_evidence: object = None


@dataclass
class Tally:
    """What was found, pair by pair (`judged`) and finding by finding."""

    pairs: int = 0
    judged: int = 0
    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the findings that a careful reader makes too; 1 without any."""
        found = self.hits + self.false_alarms
        return self.hits / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of a careful reader's findings that were made; 1 without any."""
        wanted = self.hits + self.misses
        return self.hits / wanted if wanted else 1.0


def read_pairs(path: Path) -> Iterator[Pair]:
    """Yield the pairs of a file: logs and, below each, the summaries of it."""
    log = ""
    for block in path.read_text(encoding="utf-8").split("\n@@ ")[1:]:
        head, _, body = block.partition("\n")
        kind, name, *label = head.split()
        if kind == "log":
            log = body.strip("\n")
            continue
        fields, _, summary = body.partition("---\n")
        given = dict(line.split(": ", 1) for line in fields.strip().splitlines())
        criteria = tuple(given["criteria"].split(" | "))
        missing = frozenset(criteria[int(number) - 1] for number in _listed(given.get("missing", "")))
        unsupported = tuple(_listed(given.get("unsupported", "")))
        yield Pair(name, label[0], criteria, summary.strip(), log, missing, unsupported, given.get("hidden") == "yes")


def judge(pair: Pair) -> ValidationResult:
    """Validate one pair."""
    return ValidationService().validate(pair, pair.summary, [pair.log])


def count(pairs: Sequence[Pair]) -> dict[tuple[str, str], Tally]:
    """Count by label and kind of finding; kind ``pair`` is accepted or flagged as a whole."""
    tallies = {
        (label, kind): Tally() for label in (*LABELS, "all") for kind in ("pair", "missing", "unsupported", "hidden")
    }
    for pair in pairs:
        result = judge(pair)
        flagged = not result.is_valid or not result.is_faithful
        wanted = bool(pair.missing or pair.unsupported or pair.hides)
        for label in (pair.label, "all"):
            whole = tallies[label, "pair"]
            whole.pairs += 1
            whole.judged += flagged == wanted
            _add(tallies[label, "missing"], pair.name, pair.missing, frozenset(result.missing_criteria))
            _add(tallies[label, "unsupported"], pair.name, *_matched(pair.unsupported, result.unsupported))
            hidden = frozenset({"a failure"} if result.hidden_failures else ())
            _add(tallies[label, "hidden"], pair.name, frozenset({"a failure"} if pair.hides else ()), hidden)
            _add(whole, pair.name, frozenset({"flag"} if wanted else ()), frozenset({"flag"} if flagged else ()))
    return tallies


def table(pairs: Sequence[Pair]) -> str:
    """Return a table of Markdown: a line a label; of each kind of finding precision, recall, and how many there are."""
    tallies = count(pairs)
    kinds = ("missing", "unsupported", "hidden")
    lines = [
        "| label | judged right | flagged: precision, recall | "
        + " | ".join(f"{kind}: precision, recall (of)" for kind in kinds)
        + " |",
        "| --- " * (3 + len(kinds)) + "|",
    ]
    for label in (*LABELS, "all"):
        whole = tallies[label, "pair"]
        cells = [_cell(tallies[label, kind]) for kind in kinds]
        shown = f"{whole.precision:.2f}, {whole.recall:.2f}" if whole.hits + whole.misses + whole.false_alarms else "-"
        lines.append(f"| {label} | {whole.judged} of {whole.pairs} | {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with ``--misses`` also what was missed or reported wrongly, on the shown half only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list each miss and false alarm of the shown half")
    options = parser.parse_args(arguments)
    for half in HALVES:
        pairs = list(read_pairs(PAIRS / f"{half}.txt"))
        print(f"{half}: {len(pairs)} pairs\n\n{table(pairs)}\n")
        if options.misses and half == "shown":
            for (label, kind), tally in count(pairs).items():
                if label == "all":
                    print(*(f"{kind}: {note}" for note in tally.notes), sep="\n")
    return 0


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(", ") if part.strip()]


def _matched(wanted: Sequence[str], found: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Name each found thing as it was wanted where one holds the other: ``src/a.ts`` and ``a.ts`` are one finding."""
    named = {
        next((want for want in wanted if want.lower() in each.lower() or each.lower() in want.lower()), each)
        for each in found
    }
    return frozenset(wanted), frozenset(named)


def _add(tally: Tally, name: str, wanted: frozenset[str], found: frozenset[str]) -> None:
    tally.hits += len(wanted & found)
    tally.misses += len(wanted - found)
    tally.false_alarms += len(found - wanted)
    tally.notes += [f"{name}: missed {each!r}" for each in sorted(wanted - found)]
    tally.notes += [f"{name}: wrongly reported {each!r}" for each in sorted(found - wanted)]


def _cell(tally: Tally) -> str:
    of = tally.hits + tally.misses
    if not of and not tally.false_alarms:
        return "-"
    return f"{tally.precision:.2f}, {tally.recall:.2f} ({of})"


if __name__ == "__main__":
    sys.exit(main())
