"""Fits the weights of `core/rules/likely.py`: ``python -m bench.fit_rules LABELS... --recordings DIR... --write``.

Law: the same files give the same weights. A file of labels has a message and its rules on each line, in JSON. Typed sentences
of recordings count as no rules, as nearly all are none; a word counts only if it stands in three labelled sentences.
"""

import argparse
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.lasting import fits
from bench.rules_found import typed_texts
from undrift.core.rules.likely import features_of
from undrift.core.rules.marks import plain_words
from undrift.core.rules.spoken import spoken

__all__ = ["fitted", "main"]

_RIDGE = 3.0
_LEAST = 3
_SMALLEST = 0.05
_ROUNDS = 25
_WIDTH = 116
_OWN = Path(__file__).with_name("rule_sentences.txt")
_WRITTEN = Path(__file__).parents[1] / "src/undrift/core/rules/weights.py"


def _labelled(path: Path) -> Iterator[tuple[str, bool]]:
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        for sentence in spoken(row["message"]):
            yield sentence.text, any(fits(sentence.text, rule) for rule in row["rules"])


def fitted(
    labelled: Sequence[tuple[str, bool]], others: Sequence[str], ridge: float = _RIDGE
) -> tuple[dict[str, float], float]:
    """Return the weight of each feature, and the bias. `others`: sentences that are most likely no rules."""
    rows = [(features_of(plain_words(text)), is_rule) for text, is_rule in labelled]
    known = Counter(name for found, _ in rows for name in found)
    names = sorted(name for name, count in known.items() if count >= _LEAST)
    place = {name: number for number, name in enumerate(names)}
    rows += [(features_of(plain_words(text)), False) for text in others]
    given = np.zeros((len(rows), len(names) + 1))
    given[:, -1] = 1
    for number, (found, _) in enumerate(rows):
        for name in found & place.keys():
            given[number, place[name]] = 1
    wanted = np.array([float(is_rule) for _, is_rule in rows])
    weights = np.zeros(len(names) + 1)
    cost = np.full(len(names) + 1, ridge)
    cost[-1] = 0.01
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (chance - wanted) + cost * weights
        bend = (given * (chance * (1 - chance))[:, None]).T @ given + np.diag(cost)
        weights -= np.linalg.solve(bend, slope)
    return {name: float(weights[place[name]]) for name in names}, float(weights[-1])


def _module(weights: dict[str, float], bias: float) -> str:
    pairs = " ".join(f"{name}={round(100 * one)}" for name, one in weights.items() if abs(one) >= _SMALLEST)
    lines = "\n".join(textwrap.wrap(pairs, _WIDTH, break_long_words=False, break_on_hyphens=False))
    return (
        '"""The weights of `likely`, in hundredths, by feature. `python -m bench.fit_rules` writes them. Pure."""\n\n'
        f'__all__ = ["BIAS", "WEIGHTS"]\n\nBIAS = {bias:.2f}\nWEIGHTS = """\n{lines}\n"""\n'
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, and print or write the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", nargs="*", type=Path)
    parser.add_argument("--recordings", nargs="*", type=Path, default=[])
    parser.add_argument("--only", default="", help="names of recordings, separated by commas")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    labelled = [(line[2:], line[0] == "R") for line in _OWN.read_text("utf-8").splitlines()]
    for path in given.labels:
        labelled += _labelled(path)
    others = [one.text for text in typed_texts(given.recordings, given.only.split(",")) for one in spoken(text)]
    text = _module(*fitted(labelled, others))
    if given.write:
        _WRITTEN.write_text(text, "utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
