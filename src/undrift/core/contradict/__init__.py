"""Contradiction without a model: keyed slots, correction cues, value classes, numbers with units, polarity. Pure.

Law: every verdict names its rule and the words that it rests on; how similar two texts are decides nothing.
"""

from undrift.core.contradict.lexicon import CLASSES, Relation, relation_of
from undrift.core.contradict.rules import Comparison, compare
from undrift.core.contradict.verdicts import LONGEST_STATEMENT, SUPERSEDE_CONFIDENCE, Verdict, judge, slots_of

__all__ = [
    "CLASSES",
    "Comparison",
    "LONGEST_STATEMENT",
    "Relation",
    "SUPERSEDE_CONFIDENCE",
    "Verdict",
    "compare",
    "judge",
    "relation_of",
    "slots_of",
]
