"""Reads a rule into what it forbids. Pure, linear in the rule, of which 2,000 characters are read.

Law: what is not plainly forbidden is not forbidden. A condition ("if the tests fail", "before you commit") is none that a
call could be held against, so its rule forbids nothing here; a wish about style or answers names nothing that a call does.
"""

import re
from dataclasses import replace
from functools import lru_cache

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_broad import broad_bans, excepted
from undrift.core.rules.ban_marks import MOST_CHARACTERS, sentences_of
from undrift.core.rules.ban_reader import BanReader
from undrift.core.rules.soft_targets import DoesTarget

__all__ = ["bans_of"]

_MOST_BANS = 40
_BY_HAND = re.compile(r"\b(?:by hand|manually|hand[ -]?(?:edit|writ|cod|tweak|fix|patch)\w*)\b")
_MADE = DoesTarget(frozenset({"made", "listed"}))
"""The files that a generator or a package manager writes: who forbids to change them by hand allows it."""

_SLEEP = re.compile(
    r"sleep\w{0,4}\b.{0,40}?\b(?:longer|more|over|above|beyond)\b(?: than)?\s+(\d{1,5})\s*(s|sec|secs|seconds?|m|min|mins|minutes?)?\b"
)


@lru_cache(maxsize=2_048)
def bans_of(text: str, *, is_typed: bool = False) -> tuple[Ban, ...]:
    """Return what a rule forbids; nothing if that is not plain. `is_typed`: a person typed it as a rule."""
    plain = " ".join(text[:MOST_CHARACTERS].lower().replace("\u2019", "'").split())
    if slept := _SLEEP.search(plain):
        seconds = float(slept[1]) * (60 if (slept[2] or "s").startswith("m") else 1)
        return (Ban(frozenset({"run"}), longest=seconds),)
    reader = BanReader()
    for tokens in sentences_of(text):
        reader.read(tokens)
    found = [*reader.bans(), *broad_bans(text, is_typed=is_typed)][:_MOST_BANS]
    if spared := excepted(text):
        found = [
            replace(ban, spared=(*ban.spared, *spared))
            for ban in found
            if not ban.targets or not set(ban.targets) <= set(spared)
        ]
    if _BY_HAND.search(plain):
        found = [replace(ban, spared=(*ban.spared, _MADE)) for ban in found]
    return tuple(found)
