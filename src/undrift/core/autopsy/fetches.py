"""Find the results that only repeat what had been read before. Pure.

A result counts when at least half of its telling lines (of `_TELLING_CHARACTERS` or more) had been read before, and they
make at least `_LEAST_CHARACTERS`. Only reading counts: files, searches, pages. Tests, builds and edits repeat lines as
well, but to run them again is work.
"""

import re
from collections.abc import Iterator, Sequence

from undrift.core.autopsy.findings import Fetch
from undrift.core.autopsy.steps import Step, is_edit, is_fetch
from undrift.core.autopsy.used import WINDOW_CALLS
from undrift.core.text.references import lines_of
from undrift.core.text.secrets import mask

__all__ = ["ReadBefore"]

_TELLING_CHARACTERS = 12
_LEAST_CHARACTERS = 200
_SHARE = 0.5
_TARGET_CHARACTERS = 200
_MASKED_CHARACTERS = 10_000
"""Masked before it is cut: half a secret is not recognised."""
_HIT = re.compile(r"^[\w./\\@+-]{1,200}[:-]\d{1,7}[:-]")
"""``path:line:`` before a hit of a search."""


class ReadBefore:
    """The lines that the session has read, each with its first and its last call."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def take(self, step: Step) -> None:
        """Add one step of the session; only results of tools and the client's attachments count as read."""
        if step.kind == "client" or (step.kind == "result" and not is_edit(step)):
            for line in _telling(step.entry.content):
                self._first.setdefault(line, step.call)
                self._last[line] = step.call

    def again(
        self, steps: Sequence[Step], native: Sequence[str], *, at_ms: int | None, calls_before: int
    ) -> tuple[Fetch, ...]:
        """Give the results after a compaction that repeat what was read before it.

        Not counted: the client's own texts, what was read again already, what the user pasted.
        """
        seen = {line for text in native for line in _telling(text)}
        return tuple(self._again(steps, seen, at_ms, calls_before))

    def _again(self, steps: Sequence[Step], seen: set[str], at_ms: int | None, calls_before: int) -> Iterator[Fetch]:
        for step in steps:
            if step.kind not in ("result", "user", "client"):
                continue
            lines = set(_telling(step.entry.content))
            if step.kind == "result" and is_fetch(step):
                known = [line for line in lines if line in self._last and line not in seen]
                characters = sum(map(len, known))
                share = characters / sum(map(len, lines)) if lines else 0
                if share >= _SHARE and characters >= _LEAST_CHARACTERS:
                    yield Fetch(
                        call=step.call - calls_before,
                        session_call=step.call,
                        after_ms=_since(step, at_ms),
                        tool=step.tool,
                        what=mask(step.target[:_MASKED_CHARACTERS]).text[:_TARGET_CHARACTERS],
                        tokens=step.entry.token_count,
                        known_tokens=round(step.entry.token_count * share),
                        read_calls_before=max(0, calls_before - max(self._last[line] for line in known)),
                        entry_id=step.entry.id,
                    )
            seen |= lines

    def usual(self, before: Sequence[Step]) -> tuple[int, int]:
        """Measure the same over the last calls before a compaction, when nothing had been removed.

        Returns:
            Tokens that were read again, and over how many calls.
        """
        if not before:
            return 0, 0
        end = before[-1].call
        start = max(end - WINDOW_CALLS, before[0].call - (before[0].kind == "call"))
        seen: set[str] = set()
        tokens = 0
        for step in before:
            if step.call <= start or step.kind not in ("result", "user", "client"):
                continue
            lines = set(_telling(step.entry.content))
            if step.kind == "result" and is_fetch(step):
                known = sum(len(line) for line in lines if self._first.get(line, end) <= start and line not in seen)
                share = known / sum(map(len, lines)) if lines else 0
                if share >= _SHARE and known >= _LEAST_CHARACTERS:
                    tokens += round(step.entry.token_count * share)
            seen |= lines
        return tokens, end - start


def _telling(text: str) -> Iterator[str]:
    for line in lines_of(text):
        if len(line) >= _TELLING_CHARACTERS:
            yield _HIT.sub("", line, count=1).strip()


def _since(step: Step, at_ms: int | None) -> int | None:
    return None if at_ms is None or not step.entry.timestamp else max(0, step.entry.timestamp - at_ms)
