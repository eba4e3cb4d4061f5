"""Finds the statements of a user that hold beyond the task at hand: rules, preferences, decisions, facts. Pure.

Law: precision comes first. A sentence needs the sign of a lasting statement and none of a request, a question, a doubt or a
report of a fault. An uncertain one is left out. Each statement is a sentence of the user, word for word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["LastingKind", "LastingStatement", "lasting_statements"]

LastingKind = Literal["rule", "preference", "decision", "fact"]

_LEAST_WORDS = 4
_MOST_CHARACTERS = 320
"""A longer sentence is most often a plan or a description; it could also contradict nothing (see contradiction.md)."""

_MOST_LINES = 40
"""A message with more typed lines is a prepared document, such as a plan."""


@dataclass(frozen=True, slots=True)
class LastingStatement:
    """A statement and the sign that it was found by. `place`: the number of its line among the given ones, from 0."""

    text: str
    kind: LastingKind
    sign: str
    place: int


_START = r"(?:^|[,;:.(] ?|\b(?:and|but|so|also|then|please|ok|okay|yes|no|btw)[,:]? )"
"""The beginning of a clause; the typed text is lower case by then."""

_EVERY = (
    r"\b(?:(?:on|for|after|before|at|in) (?:every|each|any)\b|every ?time\b|each time\b|any ?time\b|all the time\b"
    r"|whenever\b|unless\b|by default\b|automatically\b|without (?:asking|my|me|permission|approval)\b|any ?more\b|again\b)"
)
_THINGS = r"[\w@./`'\"-]{1,60}(?: [\w@./`'\"-]{1,60}){0,5}?"
_PATH = r"(?:[`'\"]?(?:~|\.{1,2}|@?[\w.-]{1,40})/[\w./@~-]{1,120}|`[^`]{2,80}`|https?://\S{4,200}|\.[a-z][\w.-]{2,60})"

_SIGNS: tuple[tuple[str, LastingKind, str], ...] = (
    ("never", "rule", _START + r"never (?!mind\b|ever mind\b|the less\b)[a-z]{2,20}\b"),
    ("never", "rule", r"\b(?:should|must|can|will|may)(?: also)? never\b|\bnever (?:should|be|have to)\b"),
    (
        "always",
        "rule",
        _START
        + r"always [a-z]{2,20}\b|\b(?:should|must|need to|have to|has to|can|you to|it to|them to)(?: also)? always\b",
    ),
    ("always", "rule", r"\b(?:we|i) always\b"),
    ("not every time", "rule", _START + r"(?:do not|don'?t|dont|stop|avoid|no need to) .{2,160}?" + _EVERY),
    ("stop", "rule", _START + r"(?:please )?stop (?!(?:it|this|that|the|here|now|and|for|being)\b)[a-z]{3,20}ing\b"),
    ("each time", "rule", r"\b(?:every ?time|each time|whenever|(?:after|before|for|on|in|at) (?:every|each))\b"),
    (
        "from now on",
        "rule",
        r"\b(?:from now on|going forward|from here on|in (?:the )?future(?! (?:reference|work))|as a rule)\b",
    ),
    (
        "ask me",
        "rule",
        r"\b(?:ask|check with|confirm with|consult) me\b.{0,60}\b(?:before|first|every|each|if|when|whether|to)\b|\b(?:before|if|when)\b.{2,80}\bask me\b",
    ),
    (
        "remember",
        "rule",
        _START
        + r"(?:remember|keep in mind|bear in mind|please note|note)(?: that| to|:| we| you| the) |\bmake a note\b",
    ),
    ("any", "rule", r"^(?:any|all|every|each|no|most) .{3,120}?\b(?:should|must|needs? to|has to|have to|may)\b"),
    (
        "commits",
        "preference",
        r"\b(?:do|make|create|use|keep|prefer|in) (?:small(?:er)?|meaningful|individual|separate|atomic|conventional|signed|granular)(?: and [a-z]{3,12})? commits?\b",
    ),
    (
        "prefer",
        "preference",
        r"\bi(?:'d|'ll| would| will| do| generally| usually| always| really| strongly)* (?:prefer|rather have)\b",
    ),
    (
        "like",
        "preference",
        r"\bi (?:really |do |also |quite |generally |absolutely )?(?:like|liked|love|loved|hate|dislike|don'?t like)(?! (?:it|this|that|them|to|you|how it|what)\b) ",
    ),
    ("only want", "preference", r"\bi(?: would|'d)? only (?:want|need|care)\b|\bi never want\b|\bi don'?t ever want\b"),
    (
        "we use",
        "decision",
        r"(?<!\bdo )(?<!\bif )(?<!\bcan )(?<!should )(?<!\bhow )(?<!could )(?<!\bwhat )(?<!would )\bwe(?:'re| are| do|'ve| have)?(?: also| always| only| usually| generally| normally| mostly| already| actually| still| now| just)*(?: don'?t| do not| never)?(?: also| only)? (?:use|using|follow|prefer|deploy|deploying|publish|support|target|maintain|rely on|sync with|store|host|adopted|standardi[sz]ed on|settled on|decided (?:to|on|against|that))\b",
    ),
    (
        "switched",
        "decision",
        r"\b(?:i|we)(?:'ve| have)?(?: just| already)? (?:switched|moved|migrated) (?:to|from|over to)\b",
    ),
    (
        "let's use",
        "decision",
        r"\blet'?s (?:use|switch to|stick (?:to|with)|standardi[sz]e on|call (?:it|this|them)|name (?:it|them)|default to) (?!(?:this|that|these|it|the (?:same|plan|first|second))\b)",
    ),
    (
        "on purpose",
        "decision",
        r"\b(?:deliberate(?:ly)?|deliberatly|intentional(?:ly)?|on purpose|by design)\b|\b(?:it'?s|it is|is|are) (?:allowed|ok|okay|fine|acceptable) (?:to|that)\b|\bi(?:'m| am) fine (?:with )?[a-z]{3,20}ing\b",
    ),
    (
        "not the way",
        "decision",
        r"\bnot the way to go\b|\bthere(?:'s| is) no reason (?:for|to)\b|\b(?:is|are) not relevant\b",
    ),
    (
        "should stay",
        "decision",
        r"\bshould (?:only|stay|remain)\b|\bshould(?:n'?t| not) (?:ever|persist)\b|\bmust not\b",
    ),
    (
        "place",
        "fact",
        r"\b(?:is|are|lives?|located|stored|sits?|defined|documented|kept|found|its|it'?s) (?:at|in|under|inside)(?: the)? "
        + _PATH,
    ),
    (
        "only used",
        "fact",
        r"\b(?:is|are) only (?:used|needed|set|meant|required|relevant|there|available|for)\b|\b(?:is|are) (?:used|meant) only\b",
    ),
    (
        "project",
        "fact",
        r"\b(?:this|it|that)(?:'s| is) (?:a|an|our|my) (?:[a-z-]{2,20} ){0,3}(?:project|repo|repository|monorepo|library|package|product|prototype|poc|fork|app|service|site)\b(?! (?:that|which|to) (?:i|we) )",
    ),
    ("only one", "fact", r"\bthere(?:'s| is) only (?:one|a single)\b|\b(?:that|it|this)(?:'s| is) public\b"),
    (
        "we are",
        "fact",
        r"\bwe(?:'re| are) (?:the )?(?:maintainers?|owners?|a (?:small|two|team)|on (?:go|node|python|ruby|java|react|version|v\d))\b|\bwe already have an? \b",
    ),
    (
        "i am",
        "fact",
        r"\bi(?:'m| am) (?:on|running|using) (?:mac|macos|windows|linux|ubuntu|wsl|arch|debian|fedora|nix|zsh|fish|powershell)",
    ),
    (
        "has",
        "fact",
        r"^(?:but |and |the )?"
        + _THINGS
        + r" has (?:a|an|its own|two|three|no) .{3,80}\b(?:which|that|different|built-in|own)\b",
    ),
)
_LOOKS = tuple((name, kind, re.compile(pattern)) for name, kind, pattern in _SIGNS)

_AGAINST = re.compile(
    r"""(?:\?\s*$)|^(?:can|could|would|should|shall|do|does|did|is|are|was|were|have|has|what|why|how|where|when\ (?:do|did|is|will)|which|who|any\ idea)\b(?=.{0,300}\?)
    | \b(?:never\ mind|nevermind|for\ now|this\ time|right\ now|at\ the\ moment|today|tonight|theoretically|hypothetically|as\ before|not\ yet)\b
    | \b(?:maybe|perhaps|probably|might|not\ sure|i\ guess|i\ wonder|i\ assume|i\ believe|i\ suppose|seems?|looks\ like|it\ appears|i\ have\ a\ feeling|i\ feel\ like)\b
    | \b(?:bugs?|buggy|broken|fail(?:s|ed|ing|ure)?|errors?|crash(?:es|ed)?|wrong|incorrect(?:ly)?|weird|stuck|does(?:n'?t|\ not)\ work|not\ working|traceback|exception|still\ (?:not|the|get|see|has|have|a|trying))\b
    | \b(?:review|finding|issue|problem|todo)s?\ (?:was|were|is|are)\ (?:fixed|done)\b
    """,
    re.VERBOSE,
)
_FUTURE = re.compile(r"\b(?:in (?:the )?future|from now on|going forward|for the next)\b")
_ASKS_FOR = re.compile(r"^(?:(?:and|also|please|ok|okay|so|then) )?(?:can|could) (?:we|you)\b")
_BULLET = re.compile(r"^\s{0,3}(?:[-*+•]|\d{1,2}[.)]|[a-z][.)])\s+")
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s|\*\*[^*]{2,80}\*\*:?\s*$|-{3,}\s*$|={3,}\s*$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=\S)")
_DOCUMENT = re.compile(
    r"\b(?:following|this|attached|below) (?:\w{1,20} )?(?:plan|spec|specification|prompt|instructions|task)s?\b.{0,20}:\s*$|^(?:you are (?:a|an|the)|your task is to)\b",
    re.IGNORECASE,
)
_INDENTED = re.compile(r"\s{2,}\S")


def lasting_statements(lines: Sequence[str]) -> tuple[LastingStatement, ...]:
    """Return the lasting statements among the lines of one message that the user typed."""
    if len(lines) > _MOST_LINES:
        return ()
    found: dict[str, LastingStatement] = {}
    for place, sentence in _sentences(lines):
        if (one := _judged(sentence, place)) is not None:
            found.setdefault(one.text.casefold(), one)
    return tuple(found.values())


def _sentences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the sentences with the number of their line, up to the first sign of a prepared document."""
    for place, line in enumerate(lines):
        if _HEADING.match(line) or _DOCUMENT.search(line[:400]):
            return
        if len(line) > 10 * _MOST_CHARACTERS or _INDENTED.match(line):  # indented: taken from a terminal
            continue
        for sentence in _SENTENCE_END.split(_BULLET.sub("", line.strip())):
            yield place, " ".join(sentence.split())


def _judged(sentence: str, place: int) -> LastingStatement | None:
    """Return the statement that a sentence is; None if it is none, or if that is not sure."""
    if len(sentence) > _MOST_CHARACTERS or len(sentence.split()) < _LEAST_WORDS or "…" in sentence:
        return None
    said = sentence.lower().replace("\u2019", "'")
    if _AGAINST.search(said) and not (_FUTURE.search(said) and _ASKS_FOR.search(said)):
        return None
    for sign, kind, pattern in _LOOKS:
        if pattern.search(said):
            return LastingStatement(sentence, kind, sign, place)
    return None
