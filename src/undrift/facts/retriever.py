"""The facts that a task should know, from a store; the shell that never raises.

Law: what goes wrong within is logged with its traceback, and no fact is given: a prompt without facts is a prompt.
"""

import logging
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from undrift.core.facts.retrieve import Wanted, retrieve, wanted
from undrift.core.facts.words import parts_of, telling_words
from undrift.values.facts import FactQuery, SessionFact, SessionFactStore

__all__ = ["IndexedFactStore", "KeywordFactRetriever"]

_log = logging.getLogger("undrift.facts")


@runtime_checkable
class IndexedFactStore(Protocol):
    """A store that keeps an index of words."""

    def best(self, want: Wanted) -> list[SessionFact]:
        """Return what `undrift.core.facts.retrieve` returns for the valid facts."""
        ...


class KeywordFactRetriever:
    """`undrift.values.facts.FactRetriever` by the words that a fact shares with the task's description.

    Args:
        store: Where the facts are; one with an index is asked through it, any other fact by fact.
        stop_words: More words that do not count, in lower case: with ``task`` and ``file`` among them, a description
            that says "task" does not match every fact.
        split_camel_case: Count the parts of words in camelCase as well; goes through all facts.
    """

    def __init__(
        self, store: SessionFactStore, *, stop_words: Iterable[str] = (), split_camel_case: bool = False
    ) -> None:
        self._store = store
        self._stop_words = frozenset(stop_words)
        self._split = parts_of if split_camel_case else telling_words

    def retrieve(self, query: FactQuery) -> list[SessionFact]:
        """Return the facts that match best, the best first; what the task's own results said is left out.

        If nothing matches and the query's `min_score` is 0, these are the newest facts.
        """
        try:
            want = wanted(query, self._stop_words, self._split)
            if self._split is telling_words and isinstance(self._store, IndexedFactStore):
                return self._store.best(want)
            return retrieve(self._store.get_valid(), want, self._split)
        except Exception:  # noqa: BLE001 - logged; the seed forbids a guard where this is called
            _log.error("no facts are given, as they could not be looked for", exc_info=True)
            return []
