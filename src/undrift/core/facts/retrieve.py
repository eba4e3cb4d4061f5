"""Find the facts that a task should know, by the words, in any form, that they share with its description. Pure.

Law: the plain form, one look at each fact. `undrift.core.facts.index` gives the same answers faster; a test holds the
two together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from undrift.core.facts.words import stems, telling_words
from undrift.values.facts import FactQuery, SessionFact

__all__ = ["Wanted", "cost_tokens", "retrieve", "text_of", "wanted", "within_budget"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query, its description split into the stems of its words. `total`: of the weights; 0 if it has no word."""

    query: FactQuery
    weights: Mapping[str, int]
    total: int

    def passes(self, weight: int) -> bool:
        """Say whether a fact that holds words of that weight in all reaches the least score; its score is the share."""
        return (weight / self.total if self.total else 0.0) >= self.query.min_score


def wanted(
    query: FactQuery, stop_words: frozenset[str] = frozenset(), split: Callable[[str], Iterable[str]] = telling_words
) -> Wanted:
    """Read a query. `stop_words`: more words that do not count, in addition to the seed's."""
    weights = Counter(stems(word for word in split(query.task_description) if word not in stop_words))
    return Wanted(query, weights, weights.total())


def retrieve(
    facts: Sequence[SessionFact], want: Wanted, split: Callable[[str], Iterable[str]] = telling_words
) -> list[SessionFact]:
    """Return the facts that match best within the query's limits, the best first; equal ones the newest first.

    score = words of the description that the fact holds in any form / words of the description, repeated ones repeated.

    Returns at most `max_facts`. Without any match and with a `min_score` of 0: the newest.
    """
    query = want.query
    tags = None if query.tags is None else frozenset(query.tags)
    ranked = []
    for number, fact in enumerate(facts):
        if fact.source_task_id == query.task_id or (tags is not None and tags.isdisjoint(fact.tags)):
            continue
        weight = sum(want.weights.get(word, 0) for word in set(stems(split(text_of(fact)))))
        if want.passes(weight):
            ranked.append((weight, fact.seen, number, fact))
    ranked.sort(key=lambda one: one[:3], reverse=True)
    return within_budget([one[3] for one in ranked[: max(0, query.max_facts)]], query)


def text_of(fact: SessionFact) -> str:
    """Return the text of a fact that is compared with a description."""
    return " ".join(fact.triple)


def cost_tokens(fact: SessionFact, chars_per_token: int) -> int:
    """Return what a fact counts for the budget: its characters over `chars_per_token`, rounded up."""
    return -(-sum(map(len, fact.triple)) // chars_per_token)


def within_budget(facts: Sequence[SessionFact], query: FactQuery) -> list[SessionFact]:
    """Return the first facts that fit the query's tokens; the first one that does not ends it."""
    kept: list[SessionFact] = []
    left = query.max_tokens
    for fact in facts:
        left -= cost_tokens(fact, query.chars_per_token)
        if left < 0:
            break
        kept.append(fact)
    return kept
