"""The rules that a history lacks: the user laid them down before the client replaced the history by a summary. Pure.

Law: a rule is given in the user's words, and only if the history does not hold it word for word. In doubt it is given. If there
are too many, the oldest leave, and a line says so.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from undrift.core.rules.holding import holding
from undrift.core.rules.judge import SentenceKind
from undrift.core.rules.likely import likely_first
from undrift.core.rules.typed import TypedSaying, sayings_in
from undrift.core.text.secrets import mask
from undrift.core.text.typed import calls_in_text, user_texts
from undrift.values.rule import Rule, rule_id
from undrift.values.window import ContextEntry, Item

__all__ = [
    "LackingWords",
    "RULES",
    "SAYINGS",
    "has_summary",
    "lacking_words",
    "rules_text",
    "said_in",
    "sayings_of",
    "typed_in",
]

RULES, SAYINGS = "rules", "sayings"
"""Values of ``made_of`` in a pin's metadata: a text that is placed in a window, and one that is only kept."""

_MOST_TOKENS = 2_000
_SHARE = 0.05
_HEAD = "[What the user said before, word for word, oldest first. A line with ! is a rule: it holds until the user says otherwise]"
_SAID_SHARE = 0.5
_LOOKED_AT = 400
_SUMMARY = re.compile(
    r"This session is being continued from|Another language model started|<(?:state_snapshot|conversation[_-]summary)>"
    r"|What did we do so far\?|I spoke to you previously about"
    r"|\bsummar(?:y|ized?|ised?) (?:of )?(?:the |our |this |your |what ){0,2}(?:\w{1,20} ){0,2}(?:conversation|session|history|work|happened)\b",
    re.IGNORECASE,
)
"""The beginnings of clients' summaries."""


@dataclass(frozen=True, slots=True)
class LackingWords:
    """A sentence of the user that a history lacks. `is_rule`: it is a rule, or is about one; else it may be one."""

    text: str
    is_rule: bool = True


def has_summary(item: Item) -> bool:
    """Tell whether an item has a text that reads as a client's summary of the earlier history."""
    return any(_is_summary(entry) for entry in item.entries)


def _is_summary(entry: ContextEntry) -> bool:
    return entry.meta("kind") == "text" and _SUMMARY.search(entry.content[:_LOOKED_AT]) is not None


def typed_in(item: Item, before: Item | None) -> tuple[ContextEntry, ...]:
    """Return the texts of an item that a person typed; none if the agent may have called a tool by its words before it."""
    if item.role != "user":
        return ()
    answer = before.entries if before is not None and before.role == "assistant" else ()
    if any(entry.meta("kind") == "text" and calls_in_text(entry.content) for entry in answer):
        return ()
    return tuple(entry for entry in user_texts(item.entries) if not _is_summary(entry))[::-1]


def said_in(text: str) -> tuple[TypedSaying, ...]:
    """Return the sentences of a typed text that lay down, lift or limit something, masked as they are stored."""
    return tuple(TypedSaying(mask(one.text).text, one.kind, one.where) for one in sayings_in(text, 1))


def sayings_of(pins: Iterable[ContextEntry]) -> tuple[TypedSaying, ...]:
    """Return the sentences that a session's pins keep, in the order of typing, a pin for each message.

    A damaged pin gives none.
    """
    found: list[TypedSaying] = []
    for number, pin in enumerate(pins, 1):
        if pin.meta("made_of") == SAYINGS:
            texts, kinds = pin.content.split("\n"), pin.meta("kinds")
            if isinstance(kinds, list) and len(kinds) == len(texts):
                where = f"request {number}"
                found += [TypedSaying(text, _kind(kind), where) for text, kind in zip(texts, kinds, strict=True)]
    return tuple(found)


def _kind(value: Any) -> Any:
    return value if value in get_args(SentenceKind) else "perhaps"


def lacking_words(
    sayings: Sequence[TypedSaying], added: Sequence[Rule], removed: frozenset[str], history: Iterable[str]
) -> tuple[LackingWords, ...]:
    """Return what a history lacks, in the order of typing: rules that hold, what ended one that it still has, and the rest.

    Args:
        sayings: All that was typed in the session, in the order of typing.
        added: The rules that the user added by a command.
        removed: The ids of those that the user removed.
        history: The texts in which the words may stand: of the user, and ours.
    """
    held = holding(sayings, added)
    here = "\n".join(" ".join(text.split()) for text in history)
    wanted = {rule.text: rule.sure for rule in held.shown if rule.id not in removed}
    ended = (one.by for one in held.ended if one.rule.text in here and rule_id(one.by) not in removed)
    wanted |= dict.fromkeys(ended, True)
    return tuple(LackingWords(text, sure) for text, sure in wanted.items() if text not in here)


def rules_text(lacking: Sequence[LackingWords], *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Return the text that gives them to a window: at most 5% of its budget, and 2,000 tokens. Empty: none fits.

    The newest rules fit first. The rest has at most half of the room: the sentences that are most like a rule.
    """

    def size(text: str) -> int:
        return count(f"- {text}\n")

    room = min(_MOST_TOKENS, int(_SHARE * budget_tokens)) - count(f"{_HEAD}\n[1,000 older rules are left out here]\n")
    rules = [one.text for one in lacking if one.is_rule]
    newest = dict.fromkeys(_newest(rules, room, size), "!")
    left = min(room - sum(map(size, newest)), int(_SAID_SHARE * room))
    marks = newest | dict.fromkeys(likely_first([one.text for one in lacking if not one.is_rule], left, size), "-")
    lines = [f"{marks[one.text]} {one.text}" for one in lacking if one.text in marks]
    out = len(rules) - len(newest)
    left_out = [f"[{out:,} older {'rule is' if out == 1 else 'rules are'} left out here]"] if out else []
    return "\n".join([_HEAD, *left_out, *lines]) if lines else ""


def _newest(rules: Sequence[str], room: int, size: Callable[[str], int]) -> list[str]:
    kept: list[str] = []
    for rule in reversed(rules):
        room -= size(rule)
        if room < 0:
            break
        kept.append(rule)
    return kept
