"""Tells whether two statements with the same words say another thing: who does what to whom, or must, may, has or needs it. Pure.

Law: a doubt keeps two statements apart. Linear in the words but for pairs of one part, which are few.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from undrift.core.contradict.words import STOP
from undrift.core.memory.same_words import RELATING
from undrift.core.memory.word_forms import light, normal, normal_forms
from undrift.core.text.words import stem

__all__ = ["says_another"]

_PART = re.compile(r"(?<=[.!?;:]) |;|, | [-\u2013\u2014]{1,2} | (?:and|but|so) ", re.IGNORECASE)
_WORD = re.compile(r"[\w.+#/@%:-]++")
_MOST_WORDS = 40
_LEAST_WORDS = 2
_PERSONS = {
    "i": "i", "me": "i", "mine": "i", "myself": "i", "user": "i", "user's": "i", "we": "i", "us": "i", "ourselves": "i",
    "you": "you", "yourself": "you", "he": "he", "him": "he", "himself": "he", "she": "she", "herself": "she",
    "they": "they", "them": "they", "themselves": "they",
}  # fmt: skip
_OWNERS = {
    "my": "i", "our": "i", "user's": "i", "users'": "i", "your": "you", "his": "he", "her": "she", "their": "they", "theirs": "they",
    "hers": "she", "yours": "you", "ours": "i", "mine": "i",
}  # fmt: skip
_EVERYONE = frozenset({"everyone", "everybody", "anyone", "anybody", "nobody", "someone", "somebody"})
_LOOSE = frozenset({"port", "number", "date", "version", "due", "direct"})
_THIRD = frozenset({"he", "she", "they"})
_BE = r"(?:is|are|was|were|be|been|being|gets?|got)"
_PARTICIPLE = re.compile(rf"\b{_BE} (?:\w+ )?([a-z]{{2,}}(?:ed|en|wn|pt|nt|ld|ft|lt|de|un|ut))\b")
_BY = re.compile(rf"^(.+?) {_BE} ((?:\w+ )?\w+) by (.+)$", re.IGNORECASE)
_WHERE = re.compile(r"^(.+?) (?:is|are) (?:the \w+ )?where (.+)$", re.IGNORECASE)
_KEEP = re.compile(r"^(?:keep|make) (?:the |your |my )?(\w+) (\w+)[.!]?$", re.IGNORECASE)
_COPULA = re.compile(r" (?:is|are|was|were) ", re.IGNORECASE)
_PER = re.compile(r"\bper (\w+)")
_EVERY = re.compile(r"\b(?:every|each) (\w+)", re.IGNORECASE)
_SEQUENCE = re.compile(
    r"\b(?:first|then|second|afterwards?|next|before|after|last|finally|later|earlier)\b", re.IGNORECASE
)
_EVERY_NEEDS = re.compile(r"\b(?:every|each|all|any) (?:\w+ ){1,3}(?:needs?|requires?)\b", re.IGNORECASE)
_SENSES = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for name, pattern in (
        ("may", r"(?:can|could|(?<!\d )may(?! \d)|might|able to|allow(?:s|ed)?|permit(?:s|ted)?)(?! not)|free to|optional(?:ly)?"),
        ("need not", r"need not|(?:do|does|did) not (?:need|have|require)(?: to)?|not (?:required|needed|necessary|mandatory)|optional"),
        ("need", r"needs?(?! to\b)|needed|requires?|required|requirements?"),
        ("have", r"(?:have|has|had|having|possess(?:es)?)(?! (?:to|been|\w+(?:ed|en|wn))\b)"),
        ("try", r"try|tries|tried|trying|attempts?|experiment(?:s|ing)?"),
        ("know", r"knows?|knew|known|knowing|familiar"),
        ("undecided", r"(?:needs?|have|has|had|must|should|yet|still|will|going|want) (?:to )?(?:decide|choose|pick|agree)|undecided|deciding"),
        ("would", r"would|could|might|maybe|perhaps|possibly|probably|likely|unlikely"),
        ("not all", r"not (?:all|every|each|any|both|always|only|even)"),
        ("some", r"some(?:one|body|thing|times)?|several|a few|few|most(?:ly)?|many|half|part of|partly|almost|nearly|about half"),
        ("only", r"only|solely|exclusively|just|merely"),
        ("plan", r"plan(?:s|ned|ning)?|intend(?:s|ed|ing)?|aim(?:s|ed|ing)?|hop(?:e|es|ed|ing)|expect(?:s|ed|ing)?|will(?! not)|wants? to|wanted to"),
        ("become", r"becom(?:e|es|ing)|became|turn(?:s|ed|ing)? into"),
        ("remember", r"think(?:s|ing)?|thought|believ(?:e|es|ed)|guess(?:es|ed)?|suppos(?:e|es)|heard|seems?|looks? like|says?|said"),
        ("more", r"more|further|additional|another|extra"), ("less", r"less|fewer|lesser"),
        ("too", r"too (?:\w+)(?= )|not enough|enough"),
        ("before", r"before|prior|until|till"), ("after", r"after|since|once"),
        ("if", r"if|unless|when|whenever|in case|provided|except|otherwise"),
        ("i am", r"(?:i|we|users?) (?:am|are|is|was|were)"),
        ("or", r"or|either"),
        ("best", r"best|worst|better|worse"), ("bad", r"bad|badly|poor|poorly"),
        ("alone", r"alone|together|separately|each other|one another|themselves|itself|himself|herself|myself|yourself"),
    )
)  # fmt: skip
"""Senses that two statements share, or they say two things. "Must" and "should" may be missing: a rule says it without them."""
_NEEDS = frozenset({"need", "needs", "require", "requires"})
_ACTS = tuple(
    frozenset(group.split())
    for group in (
        "give gives gave given giving lend lends lent", "take takes took taken taking", "come comes came coming", "go goes went going",
        "find finds found", "look looks", "see sees saw seen", "show shows", "make makes made making", "do", "work works", "stay stays",
        "have has had", "need needs require requires", "love loves like likes want wants prefer prefers enjoy enjoys favour favours",
        "get gets got", "put puts", "set sets", "run runs",
    )
)  # fmt: skip
"""Verbs that one statement may leave out, and that never replace each other."""

_SIDES = tuple(
    frozenset(group.split())
    for group in ("for", "by", "with using via through", "against", "from", "to into onto", "outside", "in inside within", "about", "on",
                  "under below beneath", "above over", "behind", "without", "as", "near beside", "between among")
)  # fmt: skip
_ARTICLES = frozenset(
    {"the", "a", "an", "our", "my", "its", "their", "your", "his", "her", "this", "that", "each", "every", "all", "any"}
)
_ONE_SIDE = frozenset({frozenset(pair) for pair in ((7, 9), (5, 7), (5, 9), (0, 7), (0, 9), (1, 2), (0, 5))})
"""Sides of a thing that one may say by either word: "in" and "on" a server."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A statement as it is compared.

    Args:
        parts: The words of each part in their order; a person is a word.
        halves: The words before and behind "is" of each part; empty where it has none.
        participles: Participles, whose place in a part means nothing.
        owned: Each thing with its owner, if a word names one.
        sides: Each word behind a preposition, with the place of that in `_SIDES`.
    """

    parts: tuple[tuple[str, ...], ...]
    halves: tuple[tuple[frozenset[str], frozenset[str]], ...]
    participles: frozenset[str]
    owned: frozenset[tuple[str, str]]
    sides: frozenset[tuple[str, int]]
    third: frozenset[str]
    senses: frozenset[str]
    raw: frozenset[str]
    every: frozenset[str]
    written: tuple[str, ...]
    is_sequence: bool


def says_another(one: str, other: str) -> bool:
    """Tell whether two statements in plain form differ in who does what to whom, or in a word that bounds them."""
    left, right = _read(one), _read(other)
    return (
        left.senses != right.senses
        or left.third != right.third
        or _is_other_addressee(left.raw, right.raw)
        or _is_other_owner(left, right)
        or _is_other_side(left, right)
        or _is_other_act(left.raw, right.raw)
        or _is_compared(left.raw - right.raw, right.raw)
        or _is_compared(right.raw - left.raw, left.raw)
        or bool(left.every and right.every and left.every.isdisjoint(right.every))
        or _is_rearranged(left, right)
        or _is_spread(left, right)
        or _is_spread(right, left)
        or _is_turned(left, right)
    )


@lru_cache(maxsize=2_048)
def _read(text: str) -> _Said:
    pieces = [piece.strip() for piece in _PART.split(text) if piece and piece.strip()]
    participles = frozenset(normal(word.casefold()) for word in _PARTICIPLE.findall(text))
    pieces = [_KEEP.sub(r"\2 \1", _WHERE.sub(r"\2 in \1", _BY.sub(r"\3 \2 \1", piece))) for piece in pieces]
    words = [_words(piece) for piece in pieces]
    owned = frozenset(
        (owner, normal(behind)) for part in words for word, behind in pairwise(part)
        if (owner := _OWNERS.get(word))
    )  # fmt: skip
    first = words[0] if words else []
    named = {_PERSONS.get(word) or _OWNERS.get(word) or "" for word in first}
    raw = frozenset(word for part in words for word in part)
    senses = {name for name, pattern in _SENSES if pattern.search(text)}
    if _EVERY_NEEDS.search(text):
        senses.discard("need")  # a rule: "every change needs a review"
        raw -= _NEEDS
    return _Said(
        tuple(tuple(_meant(part)) for part in words),
        tuple(_halves(piece) for piece in pieces),
        participles,
        owned,
        frozenset(side for part in words for side in _sides(part)),
        _THIRD & named,
        frozenset(senses.union(_PER.findall(text.casefold()))),
        raw,
        frozenset(map(normal, _EVERY.findall(text.casefold()))),
        tuple(stem(word) for part in words for word in part if word not in _ARTICLES),
        _SEQUENCE.search(text) is not None,
    )


def _words(text: str) -> list[str]:
    found = (word.casefold().rstrip(".:/@-") for word in _WORD.findall(text))
    return [word for word in found if any(map(str.isalnum, word))][:_MOST_WORDS]


def _meant(words: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for word in words:
        meant = f"@{_PERSONS[word]}" if word in _PERSONS else "" if word in STOP else normal(word)
        if meant and meant not in seen and meant not in light():
            seen.add(meant)
            yield meant


def _halves(piece: str) -> tuple[frozenset[str], frozenset[str]]:
    found = _COPULA.search(piece)
    if not found:
        return frozenset(), frozenset()
    before, behind = (_words(half) for half in (piece[: found.start()], piece[found.end() :]))
    return frozenset(_meant(before)), frozenset(_meant(behind))


def _is_other_owner(left: _Said, right: _Said) -> bool:
    ours, theirs = ({thing: owner for owner, thing in one.owned} for one in (left, right))
    return any(owner != theirs.get(thing, owner) for thing, owner in ours.items())


def _sides(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each word that stands behind a preposition, with the place of that in `_SIDES`."""
    side = -1
    for word in words:
        found = next((at for at, group in enumerate(_SIDES) if word in group), -1)
        if found < 0 and side >= 0 and word not in _ARTICLES:
            yield normal(word), side
        side = found if found >= 0 else side if word in _ARTICLES else -1


def _is_other_side(left: _Said, right: _Said) -> bool:
    """Tell whether one thing stands on two sides: "for Ana" and "by Ana"."""
    return any(
        word == same and side != another and frozenset((side, another)) not in _ONE_SIDE
        for word, side in left.sides
        for same, another in right.sides
    )


def _is_other_addressee(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Tell whether one speaks to "you" and the other of everyone."""
    return any(
        "you" in one and "you" not in other and other & _EVERYONE for one, other in ((ours, theirs), (theirs, ours))
    )


def _is_other_act(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    left, right = ({at for at, group in enumerate(_ACTS) if group & one} for one in (ours, theirs))
    return bool(left - right and right - left)


def _is_compared(added: frozenset[str], words: frozenset[str]) -> bool:
    """Tell whether a word of one is the other's in a higher degree: "older" and "old"."""
    return any(
        word.endswith(end) and ({base, f"{base}e", f"{base[:-1]}y", base[:-1]} & words)
        for word in added
        for end in ("er", "est")
        if len(base := word.removesuffix(end)) > 2
    )


def _is_rearranged(left: _Said, right: _Said) -> bool:
    """Tell whether the very same words stand in another order, but for "A is B" and "B is A"."""
    if left.written == right.written or sorted(left.written) != sorted(right.written):
        return False
    return len(left.halves) != 1 or len(right.halves) != 1 or not _is_swapped(left.halves[0], right.halves[0])


def _is_spread(one: _Said, other: _Said) -> bool:
    """Tell whether a part of one is spread over two parts of the other, as if A and B change what they own."""
    if min(sum(len(part) >= _LEAST_WORDS for part in each.parts) for each in (one, other)) < _LEAST_WORDS:
        return False
    wholes = [set(part) for part in other.parts]
    everything = set().union(*wholes)
    return any(not any(set(part) & everything <= whole for whole in wholes) for part in one.parts)


def _is_turned(left: _Said, right: _Said) -> bool:
    """Tell whether two words that both parts share stand in the other order."""
    if (left.is_sequence or right.is_sequence) and _is_other_order(
        _joined(left), _joined(right), left.participles | right.participles
    ):
        return True
    return any(
        _is_other_order(ours, theirs, left.participles | right.participles)
        and not _is_swapped(left.halves[at], right.halves[to])
        for at, ours in enumerate(left.parts)
        for to, theirs in enumerate(right.parts)
    )


def _joined(one: _Said) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for part in one.parts for word in part))


def _is_other_order(ours: Sequence[str], theirs: Sequence[str], participles: frozenset[str]) -> bool:
    shared = set(ours) & set(theirs) - participles - normal_forms(RELATING) - _LOOSE
    kinds = (_is_figure, _is_path, _is_word)
    return any(
        [word for word in ours if word in shared and of(word)]
        != [word for word in theirs if word in shared and of(word)]
        for of in kinds
    )


def _is_figure(word: str) -> bool:
    return word.isdigit()


def _is_path(word: str) -> bool:
    return "/" in word


def _is_word(word: str) -> bool:
    return not word[0].isdigit() and "/" not in word


def _is_swapped(ours: tuple[frozenset[str], frozenset[str]], theirs: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Tell whether "A is B" and "B is A" have the same sides."""
    return bool(ours[0] and ours[1]) and (ours[0], ours[1]) == (theirs[1], theirs[0])
