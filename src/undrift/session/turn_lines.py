"""The lines that a session writes to the log about its turns: figures, kinds and ids, and no text of the conversation."""

import logging
from collections import Counter
from collections.abc import Sequence

from undrift.session.identity import Recognised
from undrift.values.prepared import Prepared
from undrift.values.window import Decision

__all__ = ["write_opening", "write_turn"]

_log = logging.getLogger("undrift.session")

_LEFT = ("pruned", "cut", "trimmed", "evicted")
"""Kinds by which something leaves; a fold keeps what a text says, and a pin or a note adds one."""


def write_opening(found: Recognised) -> None:
    """Write how a session was found: at level INFO if its request shows neither its beginning nor its newest turn."""
    is_usual = found.how != "continued" and not found.is_dressed
    _log.log(logging.DEBUG if is_usual else logging.INFO, "session %.80r: opened (%s)", found.session_id, found.how)


def write_turn(session_id: str, prepared: Prepared, decided: Sequence[Decision]) -> None:
    """Write a turn at level DEBUG, with each new decision; at level INFO if something left."""
    kinds = Counter(decision.kind for decision in decided)
    if any(kind in _LEFT for kind in kinds) and _log.isEnabledFor(logging.INFO):
        said = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        _log.info("session %.80r: %s; %s", session_id, said, _figures(prepared))
    if not _log.isEnabledFor(logging.DEBUG):
        return
    for one in decided:
        _log.debug(
            "session %.80r: %s %.80r, %d tokens less, reference %.80r",
            session_id,
            one.kind,
            one.entry_id,
            one.tokens_saved,
            one.ref,
        )
    _log.debug("session %.80r: turn; %s; %d decisions stand", session_id, _figures(prepared), prepared.action_count)


def _figures(prepared: Prepared) -> str:
    return f"{prepared.tokens_before} tokens came, {prepared.tokens_after} are sent, the budget is {prepared.budget_tokens}"
