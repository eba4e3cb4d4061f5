"""The sentences that a person typed into one message, with their lines: no paste, no quotation, no prepared document. Pure.

Law: linear in the text. A line counts as typed only if that is certain. `core/text/pasted.py` decides what a paste is; one
with a visible end, right after the words that introduce it, ends there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from undrift.core.text.pasted import pasted_lines, without_quotations

__all__ = ["CUT", "SpokenSentence", "announces_rules", "is_item", "sentences_of", "spoken"]

CUT = "…"
"""The mark in place of a quotation within a sentence."""

_MOST_CHARACTERS = 1_000
"""The longest sentence that counts."""

_MOST_LINES = 2_000
"""A longer message is a file."""


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence, word for word. `line`: from 1. `under_rules`: an item of a list whose heading announces rules."""

    text: str
    line: int
    under_rules: bool = False


_FENCE = re.compile(r"`{3,}|~{3,}")
_FENCED = re.compile(r"^\s{0,3}(?:`{3,}|~{3,})")
_QUOTED = re.compile(r"^\s{0,3}>")
_INDENTED = re.compile(r"^(?: {4}|\t)")
_RULER = re.compile(r"^\s{0,3}(?:-{3,}|={3,}|_{3,}|\*{3,}|#{3,}(?=.{0,60}#{3,}))")
_BULLET = re.compile(r"^\s{0,12}(?:[-*+•\u2013]|\(?\d{1,2}[.)]|[a-z][.)])\s+")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S|^\s{0,3}\*\*[^*]{2,80}\*\*:?\s*$")
_ANNOUNCES = re.compile(
    r"\b(?:rules?|conventions?|agreements?|guidelines?|constraints?|policy|policies|principles|preferences|etiquette|do'?s and don'?ts|don'?ts"
    r"|reminders?|remember|keep in mind|bear in mind|please note|restrictions?|limits|requirements for you|how (?:i|we) work|house style"
    r"|never|always|no[- ]gos?|must|must not|important)\b",
    re.IGNORECASE,
)
_ANNOUNCED_CHARACTERS = 100
_OTHERS_RULES = re.compile(
    r"\b(?:here(?:'s| is| are)|below|attached|following|this is|these are) (?:is |are )?(?:the|a|an|their|his|her|its|another)\b"
    r"|\b(?:says?|said|wrote|reads?|of another|example)\b",
    re.IGNORECASE,
)
_HERE_IS = re.compile(
    r"(?:^|[.!?] )[^.!?]{0,80}\b(?:here(?:'s| is| are)|below|attached|the (?:raw |full |current )?(?:list|log|output|notes?|text|draft|plan|todo)s?)\b"
    r".{0,80}:\s*$",
    re.IGNORECASE,
)
_PREPARED = re.compile(
    r"^\s{0,3}(?:implement|execute|carry out|follow|apply|review|here is|here's) (?:the|this) (?:\w{1,20} )?"
    r"(?:plan|spec|specification|prompt|instructions|design|proposal)\b.{0,40}:?\s*$"
    r"|^(?:you are (?:an?|the) [\w -]{3,60}(?:agent|assistant|engineer|expert|reviewer|developer)|your task is to|base directory for this skill:)",
    re.IGNORECASE,
)
_TOOLS_LINE = re.compile(
    r"^\s{0,8}(?:[a-z]{2,12} (?:ERR|WARN|error|warning)\b|(?:error|warning|warn|hint|fatal|info|debug|panic|note to agents?)\b[ (\[]{0,2}[\w-]{0,20}[\])]?:|E   )",
    re.IGNORECASE,
)
"""A program printed it."""

_END = re.compile(r"(?<=[.!?])[\"')\]]{0,2}\s+(?=\S)")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|nr|[a-z])\.|^\(?\d{1,2}\.)$", re.IGNORECASE)
_WRAPPED_CHARACTERS = 55
_SAYS = re.compile(
    r"\b(?:had this|think (?:of|about) this|about this|got this|this is what|(?:he|she|they|it|agent|bot|colleague|reviewer) (?:said|says|wrote|suggests?"
    r"|suggested|found|thinks|answered|replied)|thoughts|findings|feedback|suggestions?)\b.{0,80}:\s*$"
    r"|\b(?:here(?:'s| is| are)|this is|below|attached|from|of)\b.{0,60}\.(?:md|txt|rst|log|json|ya?ml|toml|py|ts|js|html?)\b.{0,60}:\s*$",
    re.IGNORECASE,
)
"""The text after it is another's, to the end: nothing says where the person's own words begin again."""


def spoken(text: str) -> Iterator[SpokenSentence]:
    """Yield the sentences of a message that its person typed, in their order."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        return
    own = _own_lines(lines)
    announced = listed = False
    for number, line in _paragraphs(lines, own):
        if _HEADING.match(line):
            announced = announces_rules(line)
            if not announced:
                return  # a prepared document has no end
            continue
        if _PREPARED.match(line[:400]):
            return
        if _TOOLS_LINE.match(line[:100]):
            continue
        if _SAYS.search(line[-400:]) and _following(lines, number) in own:
            yield from (SpokenSentence(sentence, number) for sentence in sentences_of(line))
            return
        listed_here = is_item(line)
        if not listed_here:
            announced, listed = (
                announces_rules(line) and line.rstrip().endswith(":"),
                _HERE_IS.search(line[-200:]) is not None,
            )
        elif listed and not announced:
            continue
        for sentence in sentences_of(_BULLET.sub("", line) if listed_here else line):
            yield SpokenSentence(sentence, number, announced and listed_here)


def announces_rules(line: str) -> bool:
    """Tell whether a heading, or a line that ends with a colon, says that rules follow; the writer's own."""
    last = re.split(r"[.!?] ", line[-_ANNOUNCED_CHARACTERS:])[-1]
    return _ANNOUNCES.search(last) is not None and _OTHERS_RULES.search(line[-4 * _ANNOUNCED_CHARACTERS :]) is None


def _own_lines(lines: Sequence[str]) -> set[int]:
    """Return the places of the lines that were typed."""
    cut = _visible_pastes(lines)
    left = [number for number in range(len(lines)) if number not in cut]
    # words that introduce a paste whose end is seen introduce nothing else
    shown = ["." if number + 1 in cut or _next_filled(lines, number) in cut else lines[number] for number in left]
    others = pasted_lines(shown)
    found = {number for place, number in enumerate(left) if place not in others}
    return {number for number in found if lines[number].strip()}


def _following(lines: Sequence[str], number: int) -> int:
    """Return the place of the first line with words behind the line of this number; -1 if there is none."""
    return next((place for place in range(number, len(lines)) if lines[place].strip()), -1)


def _next_filled(lines: Sequence[str], number: int) -> int:
    return number + 2 if number + 2 < len(lines) and lines[number].strip() and not lines[number + 1].strip() else -1


def _visible_pastes(lines: Sequence[str]) -> set[int]:
    """Return the lines of pastes that begin behind a line with words and whose end is seen."""
    cut: set[int] = set()
    fences = [number for number, line in enumerate(lines) if _FENCE.search(line)]
    if len(fences) == 2 and all(_FENCED.match(lines[number]) for number in fences):
        cut.update(range(fences[0], fences[1] + 1))
    rulers = [number for number, line in enumerate(lines) if _RULER.match(line[:200])]
    if len(rulers) == 2 and rulers[1] - rulers[0] > 1 and not fences:
        cut.update(range(rulers[0], rulers[1] + 1))
    if not rulers and (cut or not fences):
        left = [line if number not in cut else "." for number, line in enumerate(lines)]
        for sign in (_QUOTED, _INDENTED):
            cut |= _blocks(left, sign)
    return cut


def _blocks(lines: Sequence[str], sign: re.Pattern[str]) -> set[int]:
    """Return the lines with a sign, of blocks that begin behind a colon; blank ones between them belong to the block."""
    found: set[int] = set()
    introduced, was_empty = False, False
    for number, line in enumerate(lines):
        if sign.match(line) and line.strip() and introduced and (was_empty or number - 1 in found or sign is _QUOTED):
            found.add(number)
        elif line.strip():
            introduced = line.rstrip().endswith(":")
        was_empty = not line.strip()
    return found


def _paragraphs(lines: Sequence[str], own: set[int]) -> Iterator[tuple[int, str]]:
    """Yield typed lines with their numbers, from 1; a sentence over several lines is one."""
    number = 0
    while number < len(lines):
        if number not in own:
            number += 1
            continue
        first, parts = number, [lines[number].strip()]
        while number + 1 in own and _goes_on(lines[number], lines[number + 1]):
            number += 1
            parts.append(lines[number].strip())
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        yield first + 1, indent + " ".join(parts)
        number += 1


def _goes_on(line: str, following: str) -> bool:
    is_open = len(line.rstrip()) >= _WRAPPED_CHARACTERS and line.rstrip()[-1:] not in ".!?:;"
    head = following.lstrip()[:1]
    return is_open and (head.islower() or head in "`'\"(") and not _BULLET.match(following)


def is_item(line: str) -> bool:
    """Tell whether a line is an item of a list."""
    return _BULLET.match(line) is not None


def sentences_of(line: str) -> Iterator[str]:
    """Split a line into sentences; a long quotation and what another said become `CUT`."""
    line = without_quotations(line.strip(), CUT)
    start = 0
    for end in _END.finditer(line):
        if not _ABBREVIATED.search(line[max(0, end.start() - 8) : end.start()]):
            yield from _bounded(line[start : end.start() + len(end[0].rstrip())])
            start = end.end()
    yield from _bounded(line[start:])


def _bounded(sentence: str) -> Iterator[str]:
    sentence = " ".join(sentence.split())
    if sentence and len(sentence) <= _MOST_CHARACTERS:
        yield sentence
