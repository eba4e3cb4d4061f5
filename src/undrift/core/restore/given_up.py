"""Says what was tried and given up, one line each, newest first. Pure."""

from collections.abc import Sequence

from undrift.core.restore.stated import Excerpt
from undrift.core.tried import attempts
from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["given_up", "line_of"]

_CHARACTERS = 110  # of a command, a cause or a reason
_REASONS = {
    "command": "It failed, and did not work later.",
    "change": "It was undone, and does not stand in the end.",
    "statement": "The agent found that it does not work.",
    "rejection": "The user said no.",
}


def given_up(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Return a line for each attempt that came to nothing, the newest first, the same words once."""
    lines: dict[str, Attempt] = {}
    for one in reversed(attempts(entries)):
        lines.setdefault(line_of(one), one)
    return [Excerpt(one.entry_ids[-1], None, (line,), _REASONS[one.kind]) for line, one in lines.items()]


def line_of(one: Attempt) -> str:
    """Return an attempt on one line: what it was, what came of it, why it was given up."""
    what, outcome, reason = _short(one.what), _short(one.outcome), _short(one.reason)
    if one.kind == "command":
        return f"- `{what}` failed: {outcome}" + (f" `{_short(one.worked)}` worked." if one.worked else "")
    if one.kind == "change":
        return f"- {what} was {outcome}" + (f": {reason}" if reason else ".")
    if one.kind == "statement":
        return f"- The agent: {_short(one.what, 2 * _CHARACTERS)}"
    return f"- The user said no to {what}: {reason}"


def _short(text: str, characters: int = _CHARACTERS) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= characters else flat[: characters - 1] + "…"
