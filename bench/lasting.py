"""Prints the precision and the recall of learned statements against labels: ``python -m bench.lasting LABELS``.

Law: the same files give the same figures. A learned statement that fits a label of which the reader was not sure counts
neither as right nor as wrong; only labels of which the reader was sure count for the recall.
"""

import argparse
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.core.memory.lasting import lasting_statements
from undrift.errors import TranscriptError
from undrift.recordings.learn import taught_by

__all__ = ["LastingTally", "LearnedText", "fits", "interval", "main", "tallied"]

_Z = 1.959964  # 95%, two-sided
_SHARED_WORDS = 0.75
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class LearnedText:
    """A statement that was learned, with its kind and the sign that found it."""

    text: str
    kind: str
    sign: str


@dataclass
class LastingTally:
    """The counts. `wrong`: statements that fit no label. `missed`: labels that nothing fits."""

    right: int = 0
    open: int = 0
    found: int = 0
    wrong: list[LearnedText] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The two figures with their intervals."""
        judged, wanted = self.right + len(self.wrong), self.found + len(self.missed)
        return [
            f"precision {_share(self.right, judged)}, and {self.open} of which the reader was not sure",
            f"recall    {_share(self.found, wanted)}",
        ]


def fits(learned: str, quote: str) -> bool:
    """Tell whether a statement and a label are about the same words: one holds the other, or most of its words."""
    words = sorted((_WORD.findall(text.lower()) for text in (learned, quote)), key=len)
    shorter, longer = words
    if not shorter:
        return False
    return f" {' '.join(shorter)} " in f" {' '.join(longer)} " or len({*shorter} & {*longer}) >= _SHARED_WORDS * len(
        {*shorter}
    )


def tallied(learned: Iterable[LearnedText], labels: Sequence[Mapping[str, Any]], tally: LastingTally) -> None:
    """Count one session or message."""
    found: set[int] = set()
    for one in learned:
        mine = [number for number, label in enumerate(labels) if fits(one.text, label["quote"])]
        found.update(mine)
        if any(labels[number].get("sure", True) for number in mine):
            tally.right += 1
        elif mine:
            tally.open += 1
        else:
            tally.wrong.append(one)
    for number, label in enumerate(labels):
        if label.get("sure", True):
            tally.found += number in found
            tally.missed += [] if number in found else [label["quote"]]


def interval(hits: int, of: int) -> tuple[float, float]:
    """Return the Wilson interval of a share, 95%."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, _Z**2 / of
    middle = share + square / 2
    half = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of))
    return (middle - half) / (1 + square), (middle + half) / (1 + square)


def _share(hits: int, of: int) -> str:
    low, high = interval(hits, of)
    return f"{hits}/{of} {hits / of if of else 0:.3f} [{low:.2f}-{high:.2f}]"


def _sessions(labels: Path, listed: Path | None, tally: LastingTally) -> list[str]:
    """Count the sessions of a label file; return those that cannot be read."""
    by_session: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in map(json.loads, labels.read_text("utf-8").splitlines()):
        by_session[row["session"]].append(row)
    names = listed.read_text("utf-8").split() if listed is not None else list(by_session)
    failed = []
    for name in names:
        try:
            taught = taught_by(name)
        except TranscriptError:
            failed.append(name)
            continue
        learned = [LearnedText(one.text, one.kind, one.sign) for one in taught.lessons if one.trust == "user"]
        tallied(learned, by_session[name], tally)
    return failed


def _messages(labels: Path, tally: LastingTally) -> None:
    """Count a file of single messages, each with its lasting parts."""
    for row in map(json.loads, labels.read_text("utf-8").splitlines()):
        learned = [LearnedText(x.text, x.kind, x.sign) for x in lasting_statements(row["message"].split("\n"))]
        tallied(learned, [{"quote": one} for one in row["lasting"]], tally)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one label file."""
    parser = argparse.ArgumentParser(prog="python -m bench.lasting", description=__doc__)
    parser.add_argument("labels", type=Path, help="JSON lines: session and quote, or message and lasting")
    parser.add_argument("--sessions", type=Path, help="a list of the labelled sessions, also of those without a label")
    parser.add_argument("--show", action="store_true", help="print each statement that is wrong, and each label missed")
    given = parser.parse_args(arguments)
    tally = LastingTally()
    first = json.loads(given.labels.read_text("utf-8").partition("\n")[0])
    failed = [] if "message" in first else _sessions(given.labels, given.sessions, tally)
    if "message" in first:
        _messages(given.labels, tally)
    print("\n".join(tally.lines))
    for name in failed:
        print(f"not read: {name}")
    if given.show:
        print("\n".join(f"wrong  {one.kind} ({one.sign}): {one.text}" for one in tally.wrong))
        print("\n".join(f"missed {quote}" for quote in tally.missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
