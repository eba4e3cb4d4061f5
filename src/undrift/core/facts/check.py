"""Check a fact before it is kept, and cut one that is too long. Pure."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace

from undrift.values.facts import FACT_ROLES, FACT_TAGS, SessionFact, create_fact_id

__all__ = ["MOST_OBJECT", "MOST_RELATION", "MOST_SUBJECT", "clip_text", "clipped", "fault_of"]

MOST_SUBJECT, MOST_RELATION, MOST_OBJECT = 200, 50, 200
"""Characters; the rest is cut."""

_ELLIPSIS = "..."
_DIGEST_CHARACTERS = 16
_MOST_SQLITE = 2**63


def clip_text(text: str, max_characters: int) -> str:
    """Return a text of at most so many characters; a longer one ends in ``...``, which counts among them."""
    if len(text) <= max_characters:
        return text
    return text[: max(0, max_characters - len(_ELLIPSIS))] + _ELLIPSIS[:max_characters]


def clipped(fact: SessionFact) -> SessionFact:
    """Return a fact within the limits of a store; the very same if it is within them already.

    A cut subject keeps a part of its hash: two long paths that begin alike are two things, and a fact about one must not
    end a fact about the other.
    """
    subject = fact.subject
    if len(subject) > MOST_SUBJECT:
        digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
        subject = clip_text(subject, MOST_SUBJECT - _DIGEST_CHARACTERS) + digest
    triple = (subject, clip_text(fact.relation, MOST_RELATION), clip_text(fact.object, MOST_OBJECT))
    if triple == fact.triple:
        return fact
    return replace(fact, id=create_fact_id(*triple), subject=triple[0], relation=triple[1], object=triple[2])


def fault_of(fact: object) -> str:
    """Return what is wrong with something that is to be kept as a fact; empty if nothing is."""
    if not isinstance(fact, SessionFact):
        return f"it is a {type(fact).__name__}, not a SessionFact"
    for name in ("id", "subject", "relation", "object"):
        if not isinstance(getattr(fact, name), str) or not getattr(fact, name):
            return f"{name} must be a text that is not empty"
    if not isinstance(fact.source_task_id, str) or not isinstance(fact.run_id, str):
        return "source_task_id and run_id must be texts"
    if not isinstance(fact.tags, tuple) or any(tag not in FACT_TAGS for tag in fact.tags):
        return f"tags must be some of {', '.join(FACT_TAGS)}"
    if fact.source_role not in FACT_ROLES:
        return f"source_role must be one of {', '.join(FACT_ROLES)}"
    return _fault_of_numbers(fact) or _fault_of_metadata(fact)


def _fault_of_numbers(fact: SessionFact) -> str:
    for name in ("valid_from", "valid_to", "last_seen"):
        value = getattr(fact, name)
        if value is None and name != "valid_from":
            continue
        if type(value) is not int or not 0 <= value < _MOST_SQLITE:
            return f"{name} must be Unix milliseconds, an integer of at least 0"
    value = fact.confidence
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
        return "confidence must be a number from 0 to 1"
    return ""


def _fault_of_metadata(fact: SessionFact) -> str:
    if fact.metadata is None:
        return ""
    if not isinstance(fact.metadata, Mapping):
        return "metadata must be a mapping"
    try:
        json.dumps(dict(fact.metadata), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return "metadata must consist of JSON values"
    return ""
