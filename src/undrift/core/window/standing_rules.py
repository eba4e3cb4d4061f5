"""The rules that a history lacks: the user laid them down before the client replaced the history by a summary. Pure.

Law: a rule is given in the user's words, and only if the history does not hold it word for word. In doubt it is given. If there
are too many, the oldest leave, and a line says so.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.rules.holding import holding
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
    "lacking_rules",
    "rules_text",
    "said_in",
    "sayings_of",
    "typed_in",
]

RULES, SAYINGS = "rules", "sayings"
"""Values of ``made_of`` in a pin's metadata: a text that is placed in a window, and one that is only kept."""

_MOST_TOKENS = 2_000
_SHARE = 0.05
_HEAD = "[Rules of the user, word for word: they hold until the user says otherwise]"
_PERHAPS = "[What else the user said, word for word]"
_PERHAPS_SHARE = 0.25
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
    """The user's words that a history lacks, in the order of typing: `rules`, and what is `perhaps` one."""

    rules: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


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
    """Return the sentences that a session's pins keep, in the order of typing; a damaged pin gives none."""
    found: list[TypedSaying] = []
    for pin in pins:
        if pin.meta("made_of") == SAYINGS:
            texts, kinds = pin.content.split("\n"), pin.meta("kinds")
            if isinstance(kinds, list) and len(kinds) == len(texts):
                found += [TypedSaying(text, _kind(kind), "") for text, kind in zip(texts, kinds, strict=True)]
    return tuple(found)


def _kind(value: Any) -> Any:
    return value if value in ("rule", "lifts", "limits", "may lift") else "perhaps"


def lacking_rules(
    sayings: Sequence[TypedSaying], added: Sequence[Rule], removed: frozenset[str], history: Iterable[str]
) -> LackingWords:
    """Return the words that a history lacks: rules that hold, and what ended one that it still has.

    Args:
        sayings: All that was typed about rules in the session, in the order of typing.
        added: The rules that the user added by a command.
        removed: The ids of those that the user removed.
        history: The texts in which the words may stand: of the user, and ours.
    """
    held = holding(sayings, added)
    here = "\n".join(" ".join(text.split()) for text in history)
    wanted = {rule.text: rule.sure for rule in held.shown if rule.id not in removed}
    ended = (one.by for one in held.ended if one.rule.text in here and rule_id(one.by) not in removed)
    wanted |= dict.fromkeys(ended, True)
    lacking = {text: sure for text, sure in wanted.items() if text not in here}
    return LackingWords(*(tuple(text for text, sure in lacking.items() if sure is one) for one in (True, False)))


def rules_text(lacking: LackingWords, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Return the text that gives rules to a window: at most 5% of its budget, and 2,000 tokens. Empty: none fits.

    Sentences that are perhaps rules stand behind them, with at most a quarter of that.
    """
    room = min(_MOST_TOKENS, int(_SHARE * budget_tokens))
    rules, left = _part(_HEAD, lacking.rules, room, count)
    perhaps, _ = _part(_PERHAPS, lacking.perhaps, min(left, int(_PERHAPS_SHARE * room)), count, counts_left=False)
    return "\n".join([*rules, *perhaps])


def _part(
    head: str, rules: Sequence[str], room: int, count: Callable[[str], int], *, counts_left: bool = True
) -> tuple[list[str], int]:
    """Return the lines of the newest rules that fit, below a heading, and the tokens that are left."""
    if not rules:
        return [], room
    before = room
    room -= count(f"{head}\n[1,000 older rules are left out here]\n")
    kept: list[str] = []
    for rule in reversed(rules):
        room -= count(f"- {rule}\n")
        if room < 0:
            break
        kept.append(f"- {rule}")
    if not kept:
        return [], before
    left = len(rules) - len(kept) if counts_left else 0
    line = [f"[{left:,} older {'rule is' if left == 1 else 'rules are'} left out here]"] if left else []
    return [head, *line, *reversed(kept)], max(room, 0)
