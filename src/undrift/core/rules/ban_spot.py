"""A place in a sentence of a rule, and what is named there. Frozen, pure."""

from dataclasses import dataclass
from functools import cached_property

from undrift.core.rules.ban_marks import RuleToken
from undrift.core.rules.ban_words import verb_of, words_in
from undrift.core.rules.targets import Target

__all__ = ["NamedThing", "Spot"]

_AHEAD = 14
_PASSIVE = words_in("be been being get gets getting got is are to and or")


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that a sentence names at a place. `length`: its tokens. `kind`: of the thing, for what may be done to it."""

    kind: str
    targets: tuple[Target, ...]
    length: int


@dataclass(frozen=True)
class Spot:
    """A token among those of its sentence. `verb`: what is done there, as `verb_of` says it; empty if nothing is."""

    tokens: tuple[RuleToken, ...]
    at: int
    verb: str = ""

    @property
    def token(self) -> RuleToken:
        return self.tokens[self.at]

    @property
    def text(self) -> str:
        return self.tokens[self.at].text

    @property
    def raw(self) -> str:
        return self.tokens[self.at].raw

    @property
    def before(self) -> str:
        return self.tokens[self.at - 1].text if self.at else ""

    @property
    def follower(self) -> str:
        return self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""

    @property
    def is_last(self) -> bool:
        """Return whether nothing of the same part of the sentence follows."""
        return self.at + 1 >= len(self.tokens) or self.tokens[self.at + 1].kind in ("sign", "dash")

    @property
    def is_behind_verb(self) -> bool:
        return self.at > 0 and self.tokens[self.at - 1].kind == "word" and bool(verb_of(self.before))

    @property
    def lists_verbs(self) -> bool:
        """Return whether verbs continue behind a comma here: ``edit, move or delete``."""
        after = self.moved(1).follower
        return self.follower in ("or", "and", "nor") or after in (",", "or", "and", "nor", "")

    @property
    def is_state(self) -> bool:
        """Return whether a participle tells how something is: ``no files changed``; not ``nothing gets pushed``."""
        if not self.text.endswith(("ed", "ten")) or not verb_of(self.text):
            return False
        return not {token.text for token in self.tokens[max(0, self.at - 4) : self.at]} & _PASSIVE

    @cached_property
    def ahead(self) -> str:
        """The words from here on, each with a blank behind it."""
        return " ".join(token.text for token in self.tokens[self.at : self.at + _AHEAD]) + " "

    def moved(self, steps: int) -> "Spot":
        """Return the place so many tokens on."""
        return Spot(self.tokens, self.at + steps, self.verb)
