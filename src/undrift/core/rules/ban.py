"""One thing that a rule forbids, and whether an effect of a call is it. Frozen, pure."""

import re
from dataclasses import dataclass, replace

from undrift.core.rules.effects import Effect
from undrift.core.rules.targets import BranchTarget, PathTarget, Target

__all__ = ["Ban"]

_TEMPORARY = re.compile(r"/(?:private/)?(?:tmp|var/tmp|var/folders)/")


@dataclass(frozen=True, slots=True)
class Ban:
    """One thing that a rule forbids.

    Args:
        does: The effects that it is about; empty for all that can be done to the target.
        target: What must not be touched or used; None for anything.
        spared: What is allowed all the same.
        outside: True: all that is not the target is forbidden.
        also: What the effect must be of too.
        is_of_task: It is about everything, as people say of one request: ``don't change anything, just look``.
        longest: More seconds than these are forbidden (of ``sleep``).
    """

    does: frozenset[str]
    targets: tuple[Target, ...] = ()
    spared: tuple[Target, ...] = ()
    outside: bool = False
    also: tuple[Target, ...] = ()
    is_of_task: bool = False
    longest: float = 0.0

    def is_broken_by(self, effect: Effect, cwd: str) -> bool:
        """Say whether an effect is what this forbids."""
        if self.does and not self.does & effect.does:
            return False
        if self.longest:
            return effect.words[:1] == ("sleep",) and sum(map(_seconds, effect.words[1:])) > self.longest
        if any(target.holds(effect, cwd) for target in self.spared):
            return False
        if effect.outer and any(
            target.holds(replace(effect, words=effect.outer, outer=()), cwd) for target in self.spared
        ):
            return False
        if self.also and not any(target.holds(effect, cwd) for target in self.also):
            return False
        if self.outside:
            return self._is_outside(effect, cwd)
        return not self.targets or any(target.holds(effect, cwd) for target in self.targets)

    def _is_outside(self, effect: Effect, cwd: str) -> bool:
        if any(isinstance(target, PathTarget) for target in self.targets):
            is_absolute = any(isinstance(one, PathTarget) and one.glob in (".", "./") for one in self.targets)
            return any(
                path.startswith(("/", "~", ".."))
                and (is_absolute or not _TEMPORARY.match(path))
                and not any(isinstance(one, PathTarget) and one.names(path, cwd) for one in self.targets)
                for path in effect.paths
            )
        if any(isinstance(target, BranchTarget) for target in self.targets):
            names = [name for name in effect.branches if name]
            return bool(names) and not any(target.holds(effect, cwd) for target in self.targets)
        return not any(target.holds(effect, cwd) for target in self.targets)


def _seconds(word: str) -> float:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", word)
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found else 0.0
