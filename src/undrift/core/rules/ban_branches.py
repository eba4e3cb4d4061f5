"""Reads the branches that a rule's sentence names. Pure, bounded."""

import re

from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_words import BRANCHES, STOPS, verb_of, words_in
from undrift.core.rules.targets import BranchTarget, CommandTarget

__all__ = ["branch_at"]

_GIT_VERBS = words_in("push commit merge rebase switch pull reset squash")
_ONTO = frozenset({"to", "onto", "into", "on"})
_NAME = re.compile(r"[\w./*-]+")
_NO_NAME = STOPS | words_in(
    """feature new other git separate own remote wrong current right same shared public protected topic work long-lived
    local old stale merged your whole default"""
)
"""Words before ``branch`` that are no branch's name."""

_SLASHED = re.compile(r"[\w.-]{1,80}/[\w./*-]{1,160}")
_GROUPED = re.compile(r"(?:release|hotfix|feature|feat|fix|chore)s?/[\w./*-]*")
_STAYS = words_in("stay staying remain work working keep")
"""Verbs with which one is on a branch, but in a folder."""

_ENDS = words_in("and or directly please ever pls by either again")


def branch_at(spot: Spot) -> NamedThing | None:
    """Return the branch that is named at a place, if one is."""
    if spot.text == "default" and spot.follower == "branch":
        return _named("main", "master", length=2)
    return _called(spot) or _known(spot) or _target(spot) or _any(spot)


def _called(spot: Spot) -> NamedThing | None:
    """Read ``the X branch`` and ``branch X``."""
    name, text = _short(spot.raw), spot.text
    if spot.follower in ("branch", "branches"):
        if text == "release":
            return _named("release*", length=2)
        is_verb = bool(verb_of(text)) and text not in BRANCHES
        return _named(name, length=2) if _NAME.fullmatch(spot.raw) and text not in _NO_NAME and not is_verb else None
    is_name = _NAME.fullmatch(spot.raw) and text not in STOPS and not verb_of(text)
    return _named(name) if is_name and spot.before in ("branch", "branches") else None


def _known(spot: Spot) -> NamedThing | None:
    """Read a name that is known: ``main``."""
    names, verb = _short(spot.text).split("/"), spot.verb
    if spot.before == "on" and spot.at > 1 and spot.tokens[spot.at - 2].text in _STAYS and _SLASHED.fullmatch(spot.raw):
        return _named(spot.raw)
    if not all(name in BRANCHES for name in names):
        return None
    is_done = verb in _GIT_VERBS or verb in ("change", "touch", "delete", "work", "mine", "leave", "")
    is_place = spot.before in (*_ONTO, "from") and verb not in ("deploy", "connect", "run", "create")
    return _named(*names) if is_done or is_place else None


def _target(spot: Spot) -> NamedThing | None:
    """Read what is pushed to or merged into."""
    text, verb = spot.raw, spot.verb
    is_onto = spot.before in _ONTO
    if verb in ("push", "merge", "switch", "rebase") and is_onto:
        if text == "upstream":
            return NamedThing("command", (CommandTarget(("git", "push", text)),), 1)
        if text in ("origin", "remote", "github", "gitlab"):
            return None
        if _SLASHED.fullmatch(text):
            return _named(text)
    if verb in ("push", "merge", "switch", "rebase", "commit") and _GROUPED.fullmatch(text):
        return _named(text + "*" if text[-1] == "/" else text)
    is_word = re.fullmatch(r"[a-z][\w.-]{1,40}", text) and text not in STOPS
    ends = spot.is_last or spot.follower in _ENDS
    return _named(text) if verb in _GIT_VERBS and is_onto and ends and is_word else None


def _any(spot: Spot) -> NamedThing | None:
    return NamedThing("branches", (), 1) if spot.text in ("branch", "branches") else None


def _short(text: str) -> str:
    return text.removeprefix("origin/")


def _named(*names: str, length: int = 1) -> NamedThing:
    return NamedThing("branch", tuple(BranchTarget(name) for name in names), length)
