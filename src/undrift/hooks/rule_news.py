"""Says to the agent which rules the person added or removed by a command since it last heard of them. Pure.

Law: a rule is said whole and once, in the person's words. The others are counted.
"""

from collections.abc import Sequence

from undrift.hooks.rules import KeptRules
from undrift.values.rule import Rule

__all__ = ["news"]

_TITLE = "The user changed the rules that hold (undrift rules):"
_MOST_CHARACTERS = 6_000


def news(before: KeptRules, after: KeptRules) -> str:
    """Return the text for the agent; empty if it knows them all.

    `after`: what holds now. An added rule that stands in `known` of `before` was said.
    """
    holding = {rule.id for rule in after.rules}
    added = [rule for rule in after.rules if rule.origin == "added" and rule.id not in before.known]
    gone = [
        rule
        for rule in before.rules
        if rule.id not in holding
        and rule.sure
        and not rule.lifts
        and (rule.id in after.removed - before.removed or (rule.origin == "added" and rule.id in before.known))
    ]
    lines = [*_lines("holds from now on", added), *_lines("holds no longer", gone)]
    return "\n".join([_TITLE, *_fitting(lines)]) if lines else ""


def _lines(what: str, rules: Sequence[Rule]) -> list[str]:
    return [f"- {what}: {rule.text}" for rule in rules]


def _fitting(lines: Sequence[str]) -> list[str]:
    left, shown = _MOST_CHARACTERS, list[str]()
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            return [*shown, f"- and {len(lines) - len(shown):,} more: undrift rules lists them"]
        shown.append(line)
    return shown
