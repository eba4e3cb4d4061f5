"""The shell of session facts: who reads the clock, logs what was passed over, and writes.

Law: what is decided stands in `undrift.core.facts`; here it is carried out. Everything can be made without an argument.
"""

from undrift.facts.extractor import RuleBasedFactExtractor
from undrift.facts.memory import InMemorySessionFactStore
from undrift.facts.retriever import KeywordFactRetriever
from undrift.facts.sqlite import SqliteSessionFactStore

__all__ = ["InMemorySessionFactStore", "KeywordFactRetriever", "RuleBasedFactExtractor", "SqliteSessionFactStore"]
