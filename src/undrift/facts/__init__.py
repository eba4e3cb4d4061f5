"""Session facts: one agent's result becomes facts, and the next agent's prompt gets those that fit its task.

An extractor reads the result of an implementer or a reviewer. A store keeps the facts, and a retriever finds them.

>>> store = InMemorySessionFactStore()
>>> id_ = create_fact_id("src/app.py", "has", "a new route")
>>> fact = SessionFact(id_, "src/app.py", "has", "a new route", ("file_change",), 1, source_task_id="task-1")
>>> store.add([fact])
>>> [fact.object for fact in KeywordFactRetriever(store).retrieve(FactQuery("Test the route of src/app.py", "task-2"))]
['a new route']

Law: `undrift.core.facts` decides; this room reads the clock, logs and writes. Every class can be made without an argument.
"""

from undrift.core.facts.format import format_session_facts
from undrift.facts.extractor import RuleBasedFactExtractor
from undrift.facts.memory import InMemorySessionFactStore
from undrift.facts.retriever import KeywordFactRetriever
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.values.facts import (
    FactExtractor,
    FactQuery,
    FactRetriever,
    ImplementerResult,
    RanTest,
    ReviewerResult,
    ReviewIssue,
    SessionFact,
    SessionFactStore,
    SessionFactTag,
    create_fact_id,
)

__all__ = [
    "FactExtractor",
    "FactQuery",
    "FactRetriever",
    "ImplementerResult",
    "InMemorySessionFactStore",
    "KeywordFactRetriever",
    "RanTest",
    "ReviewIssue",
    "ReviewerResult",
    "RuleBasedFactExtractor",
    "SessionFact",
    "SessionFactStore",
    "SessionFactTag",
    "SqliteSessionFactStore",
    "create_fact_id",
    "format_session_facts",
]
