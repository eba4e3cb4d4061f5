"""Tells which rule a call plainly contradicts. Pure, linear in the rules and in the call.

Law: precision comes first: a call is named only if it does what the words of a rule forbid. Reading a file is no change of it,
and words in a text that is printed, searched for or committed are no command.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from undrift.core.rules.ban import Ban
from undrift.core.rules.bans import bans_of
from undrift.core.rules.effects import effects_of
from undrift.profiles import Act
from undrift.values.rule import Rule

__all__ = ["Contradiction", "contradicted"]

_MOST_RULES = 400
_MOST_CHECKS = 100_000
"""Comparisons of an effect with a ban. 400 rules and a long script take a tenth of them; the rest is not judged."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A rule, and the part of the call that contradicts it: a command or a path, for a person to read, at most 120 characters."""

    rule: Rule
    what: str


def contradicted(
    rules: Sequence[Rule], acts: Iterable[Act], *, cwd: str = "", branch: str = "", past: Collection[str] = ()
) -> Contradiction | None:
    """Return the first rule that a call's acts plainly contradict, the newest first; None if there is none.

    `cwd`: the absolute folder of the session. `branch`: the one that is checked out. Both may be empty: not known.
    `past`: the ids of rules that were typed before the newest request; what they forbade for one request, they no longer do.
    """
    read = [(rule, bans) for rule in reversed(rules[-_MOST_RULES:]) if (bans := _bans(rule))]
    effects = tuple(dict.fromkeys(effects_of(acts, cwd, branch))) if read else ()
    left = _MOST_CHECKS
    for rule, bans in read:
        left -= len(effects) * len(bans)
        if left < 0:
            break
        here = [ban for ban in bans if not (ban.is_of_task and rule.id in past)]
        for effect in effects:
            if any(ban.is_broken_by(effect, cwd) for ban in here):
                return Contradiction(rule, effect.shown[:120])
    return None


def _bans(rule: Rule) -> tuple[Ban, ...]:
    """Return what a rule forbids; nothing if what was typed after it may allow it."""
    is_limited = rule.lifts or any(not bans_of(text) for text in rule.later)
    return () if is_limited else bans_of(rule.text, is_typed=rule.origin != "file")
