"""Estimate from its words how hard a task is, so that a table can choose the program for it. Pure; no model is asked.

Law: a task is simple only if its words say so; in doubt it is complex, as a wrong "simple" costs a round of repair.
"""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from undrift.core.dispatch.plan import PlanTask

__all__ = [
    "Classification",
    "ComplexityClassifier",
    "Feature",
    "HeuristicComplexityClassifier",
    "Level",
    "SIMPLE_BELOW",
]

Level = Literal["simple", "complex"]

SIMPLE_BELOW = -0.3
"""A score under this is simple (section 4)."""

_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARD = _words("""
    architecture async atomic auth authentication cache concurrency concurrent consistency crash crypto cryptography
    deadlock design distributed encrypt encryption investigate lock migrate migration optimise optimize parser performance
    protocol race recovery redesign refactor rewrite scheduler schema security thread threads transaction transactions
    """)
_EASY = _words("""
    bump capitalise capitalize changelog comment comments copyright docs docstring docstrings documentation format
    formatting heading headline indent indentation label license message punctuation readme rename reword spelling text
    typo typos version whitespace wording
    """)
_WORDS_OF_A_LONG_PROMPT = 120
_WORDS_LOOKED_AT = 2_000
_FILES_OF_A_LARGE_TASK = 4
_CRITERIA_OF_A_LARGE_TASK = 5


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that counted: its value from -1 (simple) to 1 (complex), and its weight from 0 to 1."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier's answer for a task: its level, how sure it is (0 to 1), why, and which classifier said so."""

    level: Level
    confidence: float
    features: tuple[Feature, ...]
    classifier_id: str


class ComplexityClassifier(Protocol):
    """Says how hard a task looks."""

    def classify(self, task: PlanTask) -> Classification:
        """Return the level of a task; never raises for what stands in it."""
        ...


class HeuristicComplexityClassifier:
    """Classifies by words, length, files and criteria: the score is the sum of value times weight, from -1 to 1."""

    ID = "heuristic-1"

    def classify(self, task: PlanTask) -> Classification:
        """Return ``simple`` where the score is under `SIMPLE_BELOW`, else ``complex``; the distance from it is the confidence."""
        words = [word.casefold() for word in _WORD.findall(task.prompt[: 8 * _WORDS_LOOKED_AT])]
        hard, easy = sum(word in _HARD for word in words), sum(word in _EASY for word in words)
        named = (hard - easy) / (hard + easy) if hard + easy else 0.0
        features = (
            Feature("words", round(named, 4), 0.5),
            Feature("length", _scaled(len(words), _WORDS_OF_A_LONG_PROMPT), 0.2),
            Feature("files", _scaled(len(task.files), _FILES_OF_A_LARGE_TASK), 0.2),
            Feature("criteria", _scaled(len(task.criteria), _CRITERIA_OF_A_LARGE_TASK), 0.1),
        )
        score = sum(feature.value * feature.weight for feature in features)
        level: Level = "simple" if score < SIMPLE_BELOW else "complex"
        confidence = round(min(1.0, 0.5 + abs(score - SIMPLE_BELOW) / 2), 4)
        return Classification(level, confidence, features, self.ID)


def _scaled(number: int, large: int) -> float:
    """Put 0 at -1 and `large` or more at 1."""
    return round(min(1.0, 2 * number / large - 1), 4)
