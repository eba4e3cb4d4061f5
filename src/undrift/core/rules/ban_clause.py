"""One clause of a rule as it is read, and the words that tell how its clauses hang together. Pure."""

import re
from dataclasses import dataclass, field

from undrift.core.rules.ban_spot import NamedThing
from undrift.core.rules.ban_words import words_in
from undrift.core.rules.targets import Target

__all__ = [
    "Clause",
    "GOOD_STARTS",
    "IN_CODE",
    "I_RUN",
    "MINE",
    "MYSELF",
    "MY_JOB",
    "MY_VERBS",
    "SMALL",
    "SURE_STARTS",
    "Said",
]

SURE_STARTS = words_in("use ask let tell prefer just always instead please")
"""Words that begin what is wanted, at any place."""

GOOD_STARTS = SURE_STARTS | words_in(
    """download make change run go put keep check open work do create write add say show give try"""
)
"""Words that begin what is wanted behind what is forbidden."""

IN_CODE = words_in(
    """code tests test components component library lib python typescript javascript source functions modules templates
    handlers scripts script queries hooks production-code"""
)
"""Places in a program: a command that is not to stand there is no command of the agent."""

SMALL = words_in(
    """a an the any of our my to this these those in on and or new more extra other direct plain raw ever spare either
    even bare straight directly goes gets lands go land into from onto recursive uncommitted local"""
)
"""Words that may stand between ``no`` and what is forbidden."""

MY_VERBS = words_in("commit push merge deploy publish rebase tag stage")
MY_JOB = re.compile(
    r"\b(\w{4,12})(?: \w+)? (?:is|are) (?:my (?:job|business|task|call|thing)|on me|up to me|mine)\b"
    r"|\bleave (?:the |all )?(\w{4,12})(?: \w+)? to me\b"
    r"|\b(\w{4,12}) (?:is|are) (?:something|a thing|what) i (?:always |only )?(?:do|handle|keep)\b"
    r"|\b(\w{4,12}) (?:is|are) (?:\w+ )?by (?:me|us|humans?|people)\b"
    r"|\bi(?:'m| am) the (?:only )?one (?:who|that) (\w{4,12})\b|\bi(?:'ll| will)? (\w{3,12})(?: \w+){0,2} myself\b"
)
I_RUN = re.compile(
    r"\bi(?:'ll| will| always| can| do| prefer to| want to)? (?:run|start|launch|trigger|kick off|do|execute|apply|handle|take care of)"
    r" (?:(?:it|them|that|those|these|this)(?: \w+){0,2}?|(?:the |all |our )?[\w:-]{2,40}(?: [\w:-]{2,40}){0,2}?) (?:myself|by hand|on my own|manually|when needed|if needed|when i|as needed)\b"
)
"""Who says so of what was named before keeps it from the agent."""

MYSELF = re.compile(
    r"\bi(?:'ll| will| always| do)? (?:do |handle |make |run |take care of )?(?:all )?(?:of )?(?:the |my |every )?"
    r"(commit|push|merge|deploy|publish|release|rebase|tag)(?:es|s|ing|ting|ment|ments|ging)?\b"
    r"(?! (?:message|request|the|a|to the|with))"
)
MINE = re.compile(
    r"\b(?:mine|off[ -]limits|frozen|read[ -]?only|locked|yours|business|belongs?|untouched|unchanged|protected|owned"
    r"|as (?:it|they))\b"
)
"""Words behind what is forbidden, from which it is known that the things before them are."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a clause names. `verbs`: what is done to it; none for ``no X``. `is_lacking`: it must not be missing.

    `is_called`: files by what people call them, not by a path.
    """

    named: NamedThing
    verbs: tuple[str, ...] = ()
    is_lacking: bool = False
    is_called: bool = False


@dataclass(slots=True)
class Clause:
    """One clause: its mood, its verbs, and the things that it names.

    Args:
        mood: ``forbid``, ``only``, ``permit``, ``told`` (a reason, a story), or empty: not known.
        spared: What it excepts.
        instead_of: The kinds of things that are wanted instead of what it names.
        needs_spare: Whether it begins an exception, without which it forbids nothing that is plain.
        outside: Whether it is about what lies outside of what it names; `outsiders` are those things.
        other: Whether it is about all others of what was named before.
        pronoun: Whether it means what was named before it.
        purpose: What is done with what it names: ``edit with sed``.
        joins: Whether an option that it names belongs to a command before it: ``python through -c``.
        beside: The branches that its sentence names.
        tail: The words that are neither verbs nor things.
    """

    mood: str = ""
    verbs: list[str] = field(default_factory=list)
    mentions: list[Said] = field(default_factory=list)
    spared: list[NamedThing] = field(default_factory=list)
    outside: bool = False
    other: bool = False
    pronoun: bool = False
    conditional: bool = False
    lacking: bool = False
    is_spare: bool = False
    purpose: str = ""
    joins: bool = False
    sentence: int = 0
    instead_of: tuple[str, ...] = ()
    needs_spare: bool = False
    outsiders: list[NamedThing] = field(default_factory=list)
    beside: tuple[Target, ...] = ()
    tail: list[str] = field(default_factory=list)

    @property
    def verb(self) -> str:
        """The last of its verbs; empty if it has none."""
        return self.verbs[-1] if self.verbs else ""

    def names(self, kind: str) -> bool:
        """Say whether it names something of a kind."""
        return any(one.named.kind == kind for one in self.mentions)
