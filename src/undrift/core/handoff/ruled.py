"""Shows the active rules in a handoff, each below its source. Pure.

Law: word for word, and a rule stands whole or not at all. If they are too many, the oldest are left out, those of files first:
a file can be read again. The others are counted.
"""

from collections.abc import Sequence

from undrift.core.restore.carried import heading_of_rule
from undrift.core.restore.stated import Excerpt
from undrift.values.rule import Rule

__all__ = ["sourced_rules"]

_FILES_SHARE = 1 / 3
"""The most of the room that rules of files may use."""

_LEFT_OUT = " ({} older ones are left out: undrift rules lists them)"
_AROUND = 28 + len(_LEFT_OUT)
"""For the heading of the section, and the line about what is left out."""

_A_HEADING = 3


def sourced_rules(rules: Sequence[Rule], characters: int) -> list[Excerpt]:
    """Return the rules in their order, in one excerpt for each source. `characters`: what they may use."""
    shown = [rule for rule in rules if rule.sure]
    room = characters - _AROUND
    other, used = _newest([rule for rule in shown if rule.origin != "file"], room)
    of_files, _ = _newest([rule for rule in shown if rule.origin == "file"], min(room - used, int(room * _FILES_SHARE)))
    kept = {rule.id for rule in (*other, *of_files)}
    groups: list[tuple[str, list[Rule]]] = []
    for rule in (rule for rule in shown if rule.id in kept):
        heading = heading_of_rule(rule)
        if not groups or groups[-1][0] != heading:
            groups.append((heading, []))
        groups[-1][1].append(rule)
    missing = len(shown) - len(kept)
    reason = "It is laid down, and it holds."
    return [
        Excerpt(
            some[0].id,
            None,
            [rule.text for rule in some],
            reason,
            title=heading + (_LEFT_OUT.format(missing) if missing and not place else ""),
        )
        for place, (heading, some) in enumerate(groups)
    ]


def _newest(rules: Sequence[Rule], room: int) -> tuple[list[Rule], int]:
    """Return the newest rules that fit, in their order, and the characters that they use with their headings."""
    fitting: list[Rule] = []
    used, heading = 0, ""
    for rule in reversed(rules):
        own = heading_of_rule(rule)
        cost = len(rule.text) + 1 + (len(own) + _A_HEADING if own != heading else 0)
        if used + cost > room:
            break
        used, heading = used + cost, own
        fitting.append(rule)
    return fitting[::-1], used
