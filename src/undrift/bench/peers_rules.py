"""Rules of a user put into a recorded session, and whether windows still hold them. Pure but for the list of rules.

Two sentences of our list of rules are added to texts that the user said anyway: to the first, and to the one nearest
to a third of the session. No turn is added, so that managers which count the user's messages see as many as before.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from undrift.bench.rules_file import own_rules
from undrift.recordings.replay.history import ReplayedHistory, metadata_of
from undrift.transcripts import Recording

__all__ = ["RuleWatch", "said_rules", "with_rules"]

_LATER = 1 / 3


def with_rules(recording: Recording, key: str) -> tuple[Recording, tuple[str, ...]]:
    """Return the recording with two rules in it, or one if the user spoke once, and the rules. `key`: chooses them."""
    entries = list(recording.entries)
    said = [
        place
        for place, entry in enumerate(entries)
        if metadata_of(entry, "role") == "user"
        and metadata_of(entry, "kind") == "text"
        and not metadata_of(entry, "meta")
        and entry.type != "summary"
        and entry.content.strip()
    ]
    if not said:
        return recording, ()
    later = min(said, key=lambda place: abs(place - len(entries) * _LATER))
    texts = sorted({case.rule for case in own_rules() if case.later is None})
    texts.sort(key=lambda text: hashlib.sha256(f"{key}\n{text}".encode()).digest())
    rules = {}
    for place, rule in zip(dict.fromkeys((said[0], later)), texts, strict=False):
        entries[place] = replace(entries[place], content=f"{entries[place].content}\n\n{rule}")
        rules[place] = rule
    return replace(recording, entries=tuple(entries)), tuple(rules.values())


def said_rules(history: ReplayedHistory, rules: Sequence[str]) -> dict[str, int]:
    """Return the message in which each rule stands."""
    found: dict[str, int] = {}
    for number, entries in enumerate(history.entries):
        for rule in rules:
            if any(rule in entry.content for entry in entries):
                found.setdefault(rule, number)
    return found


@dataclass(slots=True)
class RuleWatch:
    """Counts, turn by turn, the rules that were said before and those of them that the window holds word for word."""

    stated: dict[str, int]
    held: int = 0
    due: int = 0

    def observe(self, number: int, texts: Iterable[str]) -> None:
        """Judge the window before the message of this number."""
        due = {rule for rule, at in self.stated.items() if at < number}
        if not due:
            return
        self.due += len(due)
        there = set[str]()
        for text in texts:
            there |= {rule for rule in due - there if rule in text}
        self.held += len(there)
