"""The counts of a text that was given back after a compaction, and the sentence for the person. Frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

__all__ = ["GOES_ON", "MOST_PARTS", "RestoredContents", "TITLE", "goes_on"]

TITLE = "# From before the compaction (undrift)\n"
"""The first line of every text that is given back."""

GOES_ON = "(undrift, part "
"""The beginning of the first line of each further part, of any version."""

MOST_PARTS = 4
"""The most parts of a text: each is one entry in the settings of a client, which takes about 10,000 characters from one hook."""

_MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class RestoredContents:
    """The counts of a text's own parts. No name, path or word of the session is in it.

    Args:
        tokens: Characters / 4 of the whole text, as it was given.
        files: Files of which it holds lines.
        requests: Lines that the user typed, without `rules`.
        rules: Rules that hold, and sentences that limit one.
        pasted: Texts that the user pasted or quoted.
        steps: Open steps of the plan.
        statements: Texts that the agent said last.
        verdicts: Newest errors or verdicts.
        edits: Newest edits.
        results: Other results and notes.
    """

    tokens: int = 0
    files: int = 0
    requests: int = 0
    rules: int = 0
    pasted: int = 0
    steps: int = 0
    statements: int = 0
    verdicts: int = 0
    edits: int = 0
    results: int = 0

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read the counts from JSON. Raises ValueError: one is missing, or no count."""
        names = [field.name for field in fields(cls)]
        if not isinstance(value, Mapping) or not all(_is_count(value.get(name)) for name in names):
            raise ValueError("these are no counts of a text")
        return cls(**{name: value[name] for name in names})

    def sentence(self) -> str:
        """Return the line that a person reads after a compaction; empty if nothing was given back."""
        if not self.tokens:
            return ""
        shown = [f"lines of {_count(self.files, 'file')}"] if self.files else []
        shown += [_typed(self.requests, self.rules)] if self.requests or self.rules else []
        shown += ["the open plan"] if self.steps else []
        shown += [_count(self.edits, "newest edit")] if self.edits else []
        shown += ["the newest error or verdict"] if self.verdicts else []
        shown += ["the agent's last words"] if self.statements else []
        shown += [f"lines of {_count(self.results, 'other result')}"] if self.results else []
        shown += ["what you pasted"] if self.pasted else []
        return f"undrift gave back {_count(self.tokens, 'token')}: {', '.join(shown) or 'a short text'}"


def goes_on(part: int, parts: int) -> str:
    """Return the first line of a further part. The parts may arrive in any order. `part`: from 2."""
    return f"{GOES_ON}{part} of {parts}: more of what was known before the compaction)\n"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _typed(requests: int, rules: int) -> str:
    if not rules:
        return "your requests"
    return "your requests and rules" if requests else "your rules"


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
