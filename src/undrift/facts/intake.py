"""Check new facts before a store keeps them: malformed ones are logged and skipped, long ones cut, secrets masked."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from undrift.core.facts.changes import EndedFacts, FactBatch
from undrift.core.facts.check import clipped, fault_of
from undrift.core.text.secrets import mask
from undrift.values.facts import SessionFact, create_fact_id

__all__ = ["Clock", "batch_ended", "taken_in"]

Clock = Callable[[], int]
"""Gives Unix milliseconds."""

_log = logging.getLogger("undrift.facts")


def batch_ended(facts: Iterable[SessionFact]) -> tuple[EndedFacts, ...]:
    """Return what a batch ends beside its facts; nothing for another list."""
    return facts.ended if isinstance(facts, FactBatch) else ()


def taken_in(facts: Iterable[SessionFact], run_id: str, *, mask_secrets: bool = False) -> list[SessionFact]:
    """Return the facts that are to be kept, as they are kept; what is malformed is logged and passed over."""
    kept = []
    for fact in facts:
        if fault := fault_of(fact):
            _log.warning("a malformed fact was passed over: %s", fault)
            continue
        ours = clipped(_masked(fact) if mask_secrets else fact)
        kept.append(ours if ours.run_id == run_id else replace(ours, run_id=run_id))
    return kept


def _masked(fact: SessionFact) -> SessionFact:
    triple = tuple(mask(text).text for text in fact.triple)
    metadata = fact.metadata
    if metadata is not None:
        metadata = {name: mask(value).text if isinstance(value, str) else value for name, value in metadata.items()}
    if triple == fact.triple and metadata == fact.metadata:
        return fact
    subject, relation, about = triple
    id_ = fact.id if triple == fact.triple else create_fact_id(subject, relation, about)
    return replace(fact, id=id_, subject=subject, relation=relation, object=about, metadata=metadata)
