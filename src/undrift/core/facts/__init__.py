"""Session facts: what one sub-agent learned reaches the next one's prompt, without a model being asked. Pure.

Law: the values stand on the lowest floor, in `undrift.values.facts`; what is decided about them stands here, as functions
and plain containers; who reads a clock, logs or writes is `undrift.facts`.
"""

from undrift.core.facts.book import FactBook
from undrift.core.facts.changes import CARDINALITY, EndedFacts, FactBatch, fact_changes
from undrift.core.facts.check import clip_text, clipped, fault_of
from undrift.core.facts.extract import IMPLEMENTER_RULES, REVIEWER_RULES, Extraction, FactRule, FactSource
from undrift.core.facts.format import format_session_facts
from undrift.core.facts.retrieve import Wanted, retrieve, wanted
from undrift.core.facts.words import STOP_WORDS, parts_of, telling_words

__all__ = [
    "CARDINALITY",
    "EndedFacts",
    "Extraction",
    "FactBatch",
    "FactBook",
    "FactRule",
    "FactSource",
    "IMPLEMENTER_RULES",
    "REVIEWER_RULES",
    "STOP_WORDS",
    "Wanted",
    "clip_text",
    "clipped",
    "fact_changes",
    "fault_of",
    "format_session_facts",
    "parts_of",
    "retrieve",
    "telling_words",
    "wanted",
]
