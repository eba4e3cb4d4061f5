"""Reads a rule into what it forbids. Pure, linear in the rule, of which 2,000 characters are read.

Law: what is not plainly forbidden is not forbidden. A condition ("if the tests fail", "before you commit") is none that a
call could be held against, so its rule forbids nothing here; a wish about style or answers names nothing that a call does.
"""

import re
from functools import lru_cache

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_clause import MAY_FORBID
from undrift.core.rules.ban_marks import MOST_CHARACTERS, sentences_of
from undrift.core.rules.ban_reader import BanReader

__all__ = ["bans_of"]

_MOST_BANS = 40
_SLEEP = re.compile(
    r"sleep\w{0,4}\b.{0,40}?\b(?:longer|more|over|above|beyond)\b(?: than)?\s+(\d{1,5})\s*(s|sec|secs|seconds?|m|min|mins|minutes?)?\b"
)


@lru_cache(maxsize=2_048)
def bans_of(text: str) -> tuple[Ban, ...]:
    """Return what a rule forbids; nothing if that is not plain."""
    plain = " ".join(text[:MOST_CHARACTERS].lower().replace("\u2019", "'").split())
    if not MAY_FORBID.search(plain):
        return ()
    if found := _SLEEP.search(plain):
        seconds = float(found[1]) * (60 if (found[2] or "s").startswith("m") else 1)
        return (Ban(frozenset({"run"}), longest=seconds),)
    reader = BanReader()
    for tokens in sentences_of(text):
        reader.read(tokens)
    return tuple(reader.bans()[:_MOST_BANS])
