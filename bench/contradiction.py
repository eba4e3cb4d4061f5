"""How often a contradiction that was found is one, and how many are found: ``python -m bench.contradiction``.

Law: the same files give the same tables. The rules were made on the half ``dev`` (and on ``contradictions_tuning.jsonl``); the
half ``held`` was set aside before them and is only counted.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from undrift.core.contradict.rules import Comparison, compare
from undrift.core.contradict.verdicts import SUPERSEDE_CONFIDENCE

__all__ = [
    "CHANGES",
    "Pair",
    "Tally",
    "Update",
    "changes_table",
    "count",
    "main",
    "read_changes",
    "read_pairs",
    "read_sick",
    "read_updates",
    "table",
    "updates",
    "wilson_lower",
]

DATA = Path(__file__).parents[1] / "tests" / "data"
PAIRS = DATA / "contradictions.jsonl"
TUNING = DATA / "contradictions_tuning.jsonl"
UPDATES = DATA / "updates.jsonl"
CHANGES = {"tuning": DATA / "changes_tuning.jsonl", "more": DATA / "changes_more.jsonl"}
THIRDS = 3
"""Of ``more``, the lines whose number is a multiple of this were not chosen by."""
FAMILIES = {
    "polarity": "rule of polarity",
    "correction": "rules of correction",
    "change": "rules of change",
    "name": "rules of names",
    "role": "rules of names",
    **dict.fromkeys(
        ("count", "number", "duration", "size", "share", "money", "version", "port", "date", "weekday", "clock"),
        "rules of numbers, versions and dates",
    ),
}
CLASSES_FAMILY = "rules of value classes"
_Z = 1.959964  # 95%, two-sided


@dataclass(frozen=True)
class Update:
    """Two things that somebody said about one matter at different times, what else was said, and a question."""

    id: str
    kind: str
    older: str
    newer: str
    query: str
    distractors: list[str]
    half: str


@dataclass(frozen=True)
class Pair:
    """Two statements, the older first, and what a careful reader says they are to each other."""

    id: str
    older: str
    newer: str
    label: str
    kind: str
    half: str

    @property
    def is_contradiction(self) -> bool:
        """Whether both cannot hold."""
        return self.label == "contradiction"


@dataclass
class Tally:
    """What was found by one rule, or by all."""

    hits: int = 0
    false_alarms: int = 0
    of: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of what was found that is one; 1 without any."""
        found = self.hits + self.false_alarms
        return self.hits / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of what is one that was found; 1 without any."""
        return self.hits / self.of if self.of else 1.0


def wilson_lower(hits: int, of: int) -> float:
    """Return the lower bound of the 95% Wilson interval of a share; 0 without any."""
    if not of:
        return 0.0
    share, square = hits / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return (middle - spread) / (1 + square / of)


def read_pairs(path: Path) -> list[Pair]:
    """Return the labelled pairs of a file of JSON lines."""
    return [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def read_sick(path: Path) -> list[Pair]:
    """Return the pairs of SICK, which have no order: sentence A counts as the older."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [Pair(row[0], row[1], row[2], row[4].strip().lower(), "sick", "") for row in rows]


def count(pairs: Iterable[Pair], least: float = 0.0) -> dict[str, Tally]:
    """Count by rule, and ``all`` together.

    Args:
        least: The confidence from which a contradiction counts as found.
    """
    tallies: dict[str, Tally] = {"all": Tally()}
    for pair in pairs:
        found = compare(pair.older, pair.newer)
        tallies["all"].of += pair.is_contradiction
        if found.kind != "contradiction" or found.confidence < least:
            if pair.is_contradiction:
                tallies["all"].notes.append(f"missed {pair.id}: {pair.older} || {pair.newer}")
            continue
        for name in ("all", _family(found.rule), found.rule):
            _add(tallies.setdefault(name, Tally()), pair, found)
    return tallies


def table(pairs: Sequence[Pair]) -> str:
    """Return a table of Markdown: what is found at all, what is sure enough to supersede, and each rule."""
    every, sure = count(pairs), count(pairs, SUPERSEDE_CONFIDENCE)
    lines = ["| | right | precision | at least (95%) | recall |", "| --- | --- | --- | --- | --- |"]
    lines.append(_row("contradiction found", every["all"]))
    lines.append(_row("sure enough to supersede", sure["all"]))
    families = [name for name in dict.fromkeys((*FAMILIES.values(), CLASSES_FAMILY)) if name in every]
    lines += [_row(name, every[name], recall=False) for name in families]
    rules = sorted((name for name in every if ":" in name), key=lambda name: (-every[name].hits, name))
    lines += [_row(f"`{name}`", every[name], recall=False) for name in rules]
    return "\n".join(lines)


def read_updates(path: Path = UPDATES) -> list[Update]:
    """Return the groups of the update set."""
    return [Update(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def updates(groups: Sequence[Update]) -> str:
    """Return how many updates of conversation are found, and how many other pairs are taken for one, as a sentence."""
    found = [compare(group.older, group.newer) for group in groups]
    hits = [one for one in found if one.kind == "contradiction"]
    sure = sum(one.confidence >= SUPERSEDE_CONFIDENCE for one in hits)
    said = [(group.id, text) for group in groups for text in (group.older, group.newer, *group.distractors)]
    others = [(one[1], two[1]) for place, one in enumerate(said) for two in said[place + 1 :] if one[0] != two[0]]
    wrong = sum(compare(one, two).kind == "contradiction" for one, two in others)
    return (
        f"{len(hits)} of {len(groups)} updates are found ({sure} sure enough to supersede); "
        f"of {len(others):,} pairs about different matters {wrong} are taken for one"
    )


def read_changes(path: Path) -> list[Pair]:
    """Return the pairs of a file of changes: ``earlier``, ``later``, ``label`` (change, none or same) and ``kind``."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = {"change": "contradiction", "same": "reinforce", "none": "none"}
    return [
        Pair(
            f"{at}",
            row["earlier"],
            row["later"],
            labels[row["label"]],
            row["kind"],
            "held" if at % THIRDS == 0 else "dev",
        )
        for at, row in enumerate(rows, start=1)
    ]


def changes_table(pairs: Sequence[Pair]) -> str:
    """Return a table of Markdown: precision and recall of the changes that are found, with intervals, also for each kind."""
    lines = ["| | right | precision (95%) | found | recall (95%) |", "| --- | --- | --- | --- | --- |"]
    lines.append(_changes_row("closed", count(pairs, SUPERSEDE_CONFIDENCE)["all"]))
    lines.append(_changes_row("found", count(pairs)["all"]))
    kinds = sorted({pair.kind for pair in pairs})
    lines += [_changes_row(kind, count([pair for pair in pairs if pair.kind == kind])["all"]) for kind in kinds]
    return "\n".join(lines)


def _changes_row(name: str, tally: Tally) -> str:
    found = tally.hits + tally.false_alarms
    precision, recall = (
        f"{share:.2f} ({_interval(tally.hits, of)})"
        for share, of in ((tally.precision, found), (tally.recall, tally.of))
    )
    return f"| {name} | {tally.hits} of {found} | {precision} | {tally.hits} of {tally.of} | {recall} |"


def _interval(hits: int, of: int) -> str:
    return f"{abs(wilson_lower(hits, of)):.2f} to {abs(1 - wilson_lower(of - hits, of)):.2f}"


def same(pairs: Iterable[Pair]) -> str:
    """Return how well repeats are recognised, as a sentence."""
    found = Counter((compare(pair.older, pair.newer).kind == "reinforce", pair.label == "reinforce") for pair in pairs)
    right, wrong, missed = found[True, True], found[True, False], found[False, True]
    return f"repeats: {right} of {right + missed} recognised, {wrong} taken for one wrongly"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with ``--misses`` also what was missed or found wrongly, on the dev half only."""
    parser = argparse.ArgumentParser(prog="bench.contradiction", description=__doc__)
    parser.add_argument("--sick", type=Path, help="SICK_train.txt, to measure the rule of polarity on")
    parser.add_argument("--changes", type=Path, help="another file of pairs with earlier, later, label and kind")
    parser.add_argument("--misses", action="store_true", help="list what was missed or found wrongly in the dev half")
    options = parser.parse_args(arguments)
    pairs = read_pairs(PAIRS)
    for half in ("dev", "held"):
        of_half = [pair for pair in pairs if pair.half == half]
        print(f"{half}: {len(of_half)} pairs\n\n{table(of_half)}\n\n{same(of_half)}")
        print(f"conversation: {updates([group for group in read_updates() if group.half == half])}\n")
    files = {"changes, tuning": read_changes(CHANGES["tuning"])}
    more = read_changes(CHANGES["more"])
    files |= {f"changes, more, {half}": [pair for pair in more if pair.half == half] for half in ("dev", "held")}
    if options.changes:
        files = {str(options.changes): read_changes(options.changes)}
    for name, found in files.items():
        print(f"{name}: {len(found)} pairs\n\n{changes_table(found)}\n")
    if options.misses:
        shown = [pair for pair in pairs if pair.half == "dev"] + read_pairs(TUNING)
        print(*count(shown)["all"].notes, sep="\n")
    if options.sick:
        sick = read_sick(options.sick)
        print(
            f"SICK: {len(sick)} pairs, {sum(pair.is_contradiction for pair in sick)} contradictions\n\n{table(sick)}\n"
        )
        tally = count(sick)[FAMILIES["polarity"]]
        print(
            f"the rule of polarity alone finds {tally.hits / max(1, sum(p.is_contradiction for p in sick)):.3f} of them"
        )
    return 0


def _add(tally: Tally, pair: Pair, found: Comparison) -> None:
    tally.hits += pair.is_contradiction
    tally.false_alarms += not pair.is_contradiction
    if not pair.is_contradiction:
        tally.notes.append(f"wrong {pair.id} by {found.rule}: {pair.older} || {pair.newer}")


def _family(rule: str) -> str:
    kind, _, detail = rule.partition(":")
    return FAMILIES.get(detail if kind == "value" else kind, CLASSES_FAMILY)


def _row(name: str, tally: Tally, *, recall: bool = True) -> str:
    found = tally.hits + tally.false_alarms
    lower = wilson_lower(tally.hits, found)
    shown = f"{tally.recall:.3f}" if recall else ""
    return f"| {name} | {tally.hits} of {found} | {tally.precision:.3f} | {lower:.3f} | {shown} |"


if __name__ == "__main__":
    sys.exit(main())
