"""A session under another name: the same log, whose records say the new name. Pure.

Law: every record is hashed again. A reference that the old session keeps gets a new one here, and what the model has seen
under the old one still says so.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from undrift.stores import rows
from undrift.stores.decisions import decision_from, decision_row
from undrift.stores.dispatch import run_from, run_row
from undrift.stores.documents import document_from, document_row
from undrift.stores.facts import fact_from, fact_row
from undrift.stores.moving.file_rows import original_event
from undrift.stores.moving.values import MovedOperation
from undrift.stores.originals import original_from, original_row
from undrift.stores.postgres.events import Kind, LoggedEvent, as_row, event_of
from undrift.stores.tasks import tag_from, tag_row, task_from, task_row

__all__ = ["forked", "new_refs"]


def new_refs(name: str, refs: Collection[str]) -> dict[str, str]:
    """Return the references that originals have in a fork, by their old ones. `name`: that of the fork."""
    return {one: hashlib.sha256(rows.raw(f"{name}\0{one}")).hexdigest()[:16] for one in refs}


def forked(one: MovedOperation, name: str, refs: Mapping[str, str]) -> MovedOperation:
    """Return an operation as one of another session. `refs`: the new references of originals, by their old ones."""
    packed = [text._replace(ref=refs.get(text.ref, text.ref)) for text in one.packed]
    events = []
    for event in one.logged.events:
        if event.kind == Kind.ORIGINAL and event.row is not None:
            events.append(original_event(event.row[2], packed[event.row[2]]))
        elif event.row is None:
            events.append(event)
        else:
            events.append(_renamed(event, name, refs))
    operation = replace(one.logged.operation, payload=_with_refs(one.logged.operation.payload, refs))
    return one._replace(logged=one.logged._replace(operation=operation, events=tuple(events)), packed=packed)


def _renamed(event: LoggedEvent, name: str, refs: Mapping[str, str]) -> LoggedEvent:
    row, kind = as_row(0, event), Kind(event.kind)
    if kind is Kind.KEPT:
        kept = original_from(row).original
        new = replace(kept, session_id=name, ref=refs.get(kept.ref, kept.ref))
        return event_of(kind, (new.source, new.ref), original_row(new))
    if kind is Kind.DECISION:
        decision = decision_from((*row, None))
        if decision.ref in refs:
            shown = decision.detail.get("shown") or decision.ref
            decision = replace(decision, ref=refs[decision.ref], detail={**decision.detail, "shown": shown})
        return event_of(kind, event.key, decision_row(name, decision))
    row_of_fork: Any
    if kind is Kind.TASK:
        row_of_fork = task_row(name, task_from(row))
    elif kind is Kind.TAG:
        row_of_fork = tag_row(name, tag_from(row))
    elif kind is Kind.FACT:
        row_of_fork = fact_row(name, fact_from(row))
    elif kind is Kind.RUN:
        row_of_fork = run_row(name, *run_from(row))
    else:
        _, path, record = document_from(row)
        row_of_fork = document_row(name, rows.text_from(event.key[0]), path, record, row[7])
    return event_of(kind, event.key, row_of_fork)


def _with_refs(value: Any, refs: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return refs.get(value, value)
    if isinstance(value, Mapping):
        return {key: _with_refs(one, refs) for key, one in value.items()}
    return [_with_refs(one, refs) for one in value] if isinstance(value, list) else value
