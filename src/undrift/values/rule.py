"""One rule that a person, or a file of a project, laid down. Frozen.

Law: the text is the person's own, word for word. Who reads it may shorten nothing.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

__all__ = ["LONGEST_RULE", "Rule", "RuleOrigin", "RuleScope", "rule_id"]

RuleOrigin = Literal["typed", "file", "pin", "added"]
"""``typed`` in a session, a ``file`` of the project or the user, a ``pin`` of a session, ``added`` by a command."""

RuleScope = Literal["session", "project", "user"]
"""How far a rule holds: in one session, in a project, or everywhere."""

LONGEST_RULE = 1_000
"""The most characters of a rule that is kept; it is a sentence, seldom over 400."""

_ID_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that holds.

    Args:
        id: See `rule_id`.
        text: The sentence or sentences of the rule.
        where: The place for a person to look at, such as ``CLAUDE.md:12`` or ``request 3, line 2``.
        later: What was typed after it and may limit or end it, word for word, in order. It is read with the rule.
        lifts: It binds nothing by itself: it ends or limits an earlier rule, and is shown after it.
        sure: False: its words are like those of a rule, and no sign shows that it is one. It stands only in texts with room.
    """

    id: str
    text: str
    origin: RuleOrigin
    where: str
    scope: RuleScope
    later: tuple[str, ...] = ()
    lifts: bool = False
    sure: bool = True


def rule_id(text: str) -> str:
    """Return 12 hexadecimal characters of the SHA-256 of a rule's words; spaces and capital letters make no difference."""
    return sha256(" ".join(text.split()).casefold().encode("utf-8", "replace")).hexdigest()[:_ID_CHARACTERS]
