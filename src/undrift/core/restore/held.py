"""Shows the rules that hold, in the words of the person, before anything else has a share; then what else was typed. Pure.

Law: word for word and in the order of typing, so that of two sentences the later one counts. If the rules are too many the oldest
are left out, and a line says how many and how to list them. The other sentences follow, those most like a rule first: one that no
sign shows to be a rule may be one.
"""

from collections.abc import Sequence

from undrift.core.restore.carried import carried_rules
from undrift.core.restore.stated import Excerpt
from undrift.core.rules.holding import holding
from undrift.core.rules.likely import likely_first
from undrift.core.rules.typed import sayings
from undrift.core.text.typed import user_texts
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry

__all__ = ["MOST_SHARE", "held_rules", "not_kept", "said_beside", "typed_rules_of"]

MOST_SHARE = 1 / 3
"""The most of a text that the rules may use."""

_TITLE = "### Oldest first: a later one counts"
_LEFT_OUT = " ({} older ones are left out: undrift rules lists them)"
_AROUND = 28
"""For the heading of the section."""

_SHOWN = frozenset({"typed", "pin", "added"})


def typed_rules_of(entries: Sequence[ContextEntry], *, unsure: bool = False) -> tuple[Rule, ...]:
    """Return the typed rules of a session that hold; first those that it was handed over with.

    `unsure`: with all else that was typed.
    """
    held = holding(sayings(entries), carried_rules(entries))
    return held.shown if unsure else held.rules


def not_kept(rules: Sequence[Rule], entries: Sequence[ContextEntry], left: Sequence[ContextEntry]) -> tuple[Rule, ...]:
    """Return the rules that do not stand in a text which the client keeps. `left`: the entries without what it keeps."""
    lost = {entry.id for entry in left}
    kept = [" ".join(entry.content.split()) for entry in user_texts(entries) if entry.id not in lost]
    return tuple(rule for rule in rules if not any(" ".join(rule.text.split()) in text for text in kept))


def held_rules(rules: Sequence[Rule], characters: int) -> list[Excerpt]:
    """Return the rules for a text, without those of files, which the client sends by itself.

    `characters`: what they may use; the newest ones fit first.
    """
    shown = [rule for rule in rules if rule.origin in _SHOWN and rule.sure]
    left = characters - len(_TITLE) - _AROUND
    if sum(len(rule.text) + 1 for rule in shown) > left > 2 * len(_LEFT_OUT):
        left -= len(_LEFT_OUT)
    lines = _newest([rule.text for rule in shown], left)
    if not lines:
        return []
    title = _TITLE + (_LEFT_OUT.format(len(shown) - len(lines)) if len(lines) < len(shown) else "")
    return [
        Excerpt(shown[len(shown) - len(lines)].id, None, lines, "The user laid it down, and it holds.", title=title)
    ]


def said_beside(rules: Sequence[Rule], characters: int, shown: Sequence[str] = ()) -> list[Excerpt]:
    """Return what else was typed, in its order: as many of the sentences most like a rule as fit.

    `shown`: lines that stand in the text already.
    """
    here = "\n".join(" ".join(line.split()) for line in shown)
    others = [rule for rule in rules if not rule.sure and rule.text not in here]
    lines = likely_first([rule.text for rule in others], characters - 2 * _AROUND, lambda text: len(text) + 1)
    if not lines:
        return []
    return [Excerpt(next(one.id for one in others if one.text == lines[0]), None, lines, "The user said it.")]


def _newest(texts: Sequence[str], characters: int) -> list[str]:
    lines: list[str] = []
    for text in reversed(texts):
        characters -= len(text) + 1
        if characters < 0:
            break
        lines.append(text)
    return lines[::-1]
