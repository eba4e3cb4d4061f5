"""Read a statement clause by clause: its values, where they hold, whether it denies, how sure it is. Pure.

Law: linear in the text, of which no more than the first part is read; a longer text is a document, not a statement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from undrift.core.contradict.lexicon import CASED, OPPOSITES, relation_of, values
from undrift.core.contradict.quantities import quantity_at
from undrift.core.contradict.words import MANY, NEUTRAL, STOP, clauses_of, stated, without_refusals
from undrift.core.text.words import stem, stems_of, terms_of

__all__ = ["StatementClause", "Value", "read_statement"]

_MOST_CHARACTERS = 1_500
_MOST_CLAUSES = 12
_MOST_WORDS = 60
_LONGEST_FORM = 3

_CORRECTION = re.compile(
    # By first letters: at the start of each word, all beginnings are tried.
    r"\b(?:a(?:ctually|ny ?more|s of)|bumped|c(?:orrection|hanged (?:my mind|to|from)|onverted)|d(?:ropped|owngraded|ecreased)"
    r"|e(?:scalated|xtended)|f(?:rom now on)|(?<!not )(?<!n't )forget|handed over|in(?:stead| favou?r of|creased)|lowered|m(?:oved|igrated)"
    r"|no longer|on second thoughts?|postponed|r(?:ather than|e(?:placed|named|scheduled|duced|written)|aised)"
    r"|s(?:cratch that|witched|hortened)|took over|upgraded)\b",
    re.IGNORECASE,
)
_UPDATE = re.compile(r"\b(?:now|these days|by now|turns out|update)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^\s*(?:(?:correction|update|edit|note|heads[ -]up|fyi|scratch that|actually|on second thoughts?"
    r"|i changed my mind|sorry|no(?=[:,-]| (?:doubt|problem|thanks|way|wonder|worries)\b)|ok(?:ay)?"
    r"|as planned|as before|let'?s)\s*[:,-]?\s+)+",
    re.IGNORECASE,
)
_ADDITIVE = re.compile(
    r"\b(?:also|too|as well|additionally|in addition|besides|both|along(?:side| with)|another|plus"
    r"|on top of|furthermore|moreover)\b",
    re.IGNORECASE,
)
_TENTATIVE = re.compile(
    r"\?|\b(?:ma(?:ybe|y be needed)|might|p(?:erhaps|ossibl[ey]|ropos(?:al|ed|es))|blog post|rumou?r"
    r"|co(?:nsider(?:ed|ing|s)?|uld (?:try|use|be|we|switch|move)|mpares?)|not (?:yet )?decided|unless"
    r"|s(?:uggest(?:ed|s|ion|ing)?|ome ?day|hould (?:we|i))|w(?:orth a try|hat about|onder|ould (?:like|be))"
    r"|h(?:ow about|ypothetical(?:ly)?)|i(?:f|n case|dea)|thinking (?:about|of)|e(?:xperiment(?:ally)?|valuat(?:e|ed|ing)))\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:used to|originally|previously|formerly|once|back then|in the past|before (?:\d{4}|we|that)"
    r"|until (?:last|\d{4}|recently)|in (?:19|20)\d\d"
    r"|last (?:year|month|week|spring|summer|autumn|winter)|yesterday|first prototype|at first|initially"
    r"|historically|years? ago"
    r"|months? ago|weeks? ago)\b",
    re.IGNORECASE,
)
_DOUBLE_NEGATION = re.compile(
    r"\b(?:not forget|no reason not|never fails? to|not only|can not wait|not (?:worry|mind))\b", re.IGNORECASE
)
_NEGATORS = frozenset({"not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "cannot"})
_DISPLACED = re.compile(
    r"(?:instead of|rather than|in place of|(?:moved?|migrated?|switch(?:ed)?|changed|renamed|bumped"
    r"|upgraded)\s(?:[\w./-]++\s){0,5}?from|,\s+not|\bnot(?=\s+[\w.+#/@-]+\s+but)|dropped|drop"
    r"|forget|replaced|superseded|deprecated|left"
    r"|prefer (?:\w+\s){1,3}over)\s+((?:the\s+)?[\w.+#/@-]+(?:\s[\w.+#/@-]+)?)",
    re.IGNORECASE,
)
_DISPLACED_SUBJECT = re.compile(
    r"^\s*(?:the\s+)?([\w.+#/@-]+(?:\s[\w.+#/@-]+)?)\s+(?:was|were|is|has been|have been|got|will be)\s+(?:now\s+)?"
    r"(?:replaced|superseded|deprecated|dropped|removed|decommissioned|gone|out|retired|forbidden|dead|deleted)\b",
    re.IGNORECASE,
)
_LISTS = frozenset({
    "tag", "tags", "label", "labels", "todo", "known", "see", "example", "note", "step",
})  # fmt: skip
_DONE_TO_MANY = frozenset({
    "modified", "reviewed", "fixed", "added", "touched", "edited", "deleted", "mentioned", "imported", "visited",
    "read", "had",
})  # fmt: skip
_LETTERS = frozenset("ABDEFGHJKLMNOPQRSTUVWXYZ")
"""Written large and alone, they name things: job A is not job B. ``C`` is a language, ``I`` the speaker."""
_MADE = frozenset({
    "written", "built", "based", "hosted", "implemented", "deployed", "formatted", "generated", "stored", "sent",
    "shipped", "run", "runs", "tested", "linted", "done", "made", "rendered", "compiled", "packaged", "signed",
    "managed", "tracked", "measured", "drawn", "called", "named",
})  # fmt: skip
_BY = frozenset({"in", "with", "on", "to", "by", "via", "through", "from", "at", "against"})
_PIVOT = frozenset({
    "is", "are", "was", "were", "be", "been", "use", "uses", "using", "means", "equals", "becomes", "became",
})  # fmt: skip
_VERBS = frozenset({"passes", "fails", "works", "pass", "fail", "work"})
_PREPOSITIONS = frozenset({"on", "in", "with", "for", "at", "under", "again", "now", "since"})
_BEFORE_SWITCH = frozenset({
    "is", "are", "was", "were", "be", "been", "turned", "switched", "stays", "remains", "set", "to",
})  # fmt: skip


_IS_NAME = re.compile(r"[A-Z0-9]|\w[._/@-]\w")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a clause. `qualifies`: whether it only says which version of the value before it."""

    relation: str
    value: str
    text: str
    at: int
    qualifies: bool = False


@dataclass(frozen=True, slots=True)
class StatementClause:
    """One clause, as the rules see it.

    Args:
        content: Stems of all words that mean something, values included; what polarity is compared on.
        frame: Stems that say where the values hold: no values, no words that only relate.
        head: The stems before the verb that states something, in order; empty if there is none.
        cues: Of ``correction``, ``update`` (a weak sign of one), ``additive``, ``tentative``, ``past``, ``many``.
    """

    text: str
    words: tuple[str, ...]
    content: frozenset[str]
    frame: frozenset[str]
    head: tuple[str, ...]
    tail: tuple[str, ...]
    values: tuple[Value, ...]
    displaced: frozenset[str]
    denies: bool
    cues: frozenset[str]


def read_statement(text: str) -> tuple[StatementClause, ...]:
    """Return the clauses of a statement; of a long text only those of its beginning."""
    return _read(text[:_MOST_CHARACTERS])


@lru_cache(maxsize=2_048)
def _read(text: str) -> tuple[StatementClause, ...]:
    whole = _cues(text)
    clauses = [_clause(part, whole) for part in clauses_of(text)[:_MOST_CLAUSES]]
    return tuple(clause for clause in clauses if clause.words)


def _clause(text: str, whole: frozenset[str]) -> StatementClause:
    opened = stated(_LEAD.sub("", text))
    written = terms_of(opened)[:_MOST_WORDS]
    words = tuple(
        f"#{word.lower()}" if at and len(word) == 1 and word in _LETTERS else word.lower()
        for at, word in enumerate(written)
    )
    displaced = _displaced(opened)
    found = [value for value in _values(written, words) if value.text not in displaced]
    taken = {value.at + offset for value in found for offset in range(len(value.text.split(" ")))}
    stems = [stem(word) for word in words]
    nouns = frozenset().union(*(relation_of(value.relation).nouns for value in found)) if found else frozenset()
    nouns = frozenset(stem(noun) for noun in nouns)
    content = frozenset(one for one, word in zip(stems, words, strict=True) if word not in STOP and one not in STOP)
    gone = frozenset(stem(word) for text in displaced for word in text.split())
    entities = frozenset(value.value for value in found if value.relation == "entity")
    frame = frozenset(
        one
        for index, one in enumerate(stems)
        if index not in taken
        and one in content
        and one not in stems_of(NEUTRAL)
        and one not in nouns
        and one not in gone
    )
    head, tail = _halves(written, words, stems)
    own = _cues(text) | (whole & {"tentative"})
    if _is_list([word for index, word in enumerate(words) if index not in taken]):
        own |= {"many"}
    denies = _denies(opened, found)
    if denies and (flipped := _flipped(found)):
        found, denies = flipped, False
    return StatementClause(
        text=text.strip(),
        words=words,
        content=content,
        frame=frame | entities,
        head=head,
        tail=tail,
        values=tuple(value for value in found if value.relation != "entity"),
        displaced=displaced,
        denies=denies,
        cues=own,
    )


def _cues(text: str) -> frozenset[str]:
    """Return which kinds of cue a text holds."""
    kinds = {
        "correction": _CORRECTION,
        "update": _UPDATE,
        "additive": _ADDITIVE,
        "tentative": _TENTATIVE,
        "past": _PAST,
    }
    return frozenset(name for name, pattern in kinds.items() if pattern.search(text))


def _is_list(words: Sequence[str]) -> bool:
    """Tell whether what a clause names is one of many: by its verb, or as a key like ``tags``."""
    verbs = (word for word in words if not word.endswith("ed") or word in _DONE_TO_MANY)
    return bool(words) and (words[0] in _LISTS or any(stem(word) in stems_of(MANY) for word in verbs))


def _flipped(found: list[Value]) -> list[Value]:
    """Return the values with the one that is denied turned into its opposite; empty if there is no such one."""
    denied = [value for value in found if value.relation in OPPOSITES]
    if len(denied) != 1:
        return []
    first, second = OPPOSITES[denied[0].relation]
    opposite = replace(denied[0], value=second if denied[0].value == first else first)
    return [opposite if value is denied[0] else value for value in found]


def _denies(opened: str, found: Sequence[Value]) -> bool:
    """Tell whether a clause denies: an odd number of negations, those apart that are part of a value ("not null")."""
    if _DOUBLE_NEGATION.search(opened):
        return False
    count = sum(word in _NEGATORS for word in without_refusals(opened).lower().replace(",", " ").split())
    count -= sum(value.text.split(" ").count("not") for value in found)
    return count % 2 == 1


def _displaced(opened: str) -> frozenset[str]:
    """Return what a clause says is replaced: "instead of X", "from X to Y", "X was replaced by Y"."""
    found = set()
    for pattern in (_DISPLACED, _DISPLACED_SUBJECT):
        for match in pattern.finditer(opened):
            told = [word.strip(".,") for word in match[1].split() if word.lower().strip(".,") not in STOP]
            words = [word.lower() for word in told]
            if words:
                found.add(" ".join(words))
                if _IS_NAME.search(told[0]) or (words[0],) in values():
                    found.add(words[0])
    return frozenset(found)


def _values(written: Sequence[str], words: Sequence[str]) -> list[Value]:
    found: list[Value] = []
    in_port = any(word in ("port", "ports", "exposed") for word in words)
    at = 0
    while at < len(words):
        value = _lexical(written, words, at) or _quantity(words, at, in_port)
        if value is None:
            at += 1
            continue
        before = found[-1] if found else None
        if (
            before
            and value.relation in ("version", "number")
            and before.at + len(before.text.split(" ")) in (at, at - 1)
        ):
            value = replace(value, relation="version", qualifies=True)
        if value.relation in ("count:spac", "count:tab"):
            found.append(Value("indentation", "tabs" if value.relation == "count:tab" else "spaces", value.text, at))
            value = replace(value, qualifies=True)
        found.append(value)
        at += len(value.text.split(" "))
    return found


def _lexical(written: Sequence[str], words: Sequence[str], at: int) -> Value | None:
    """Return the longest known value that begins at a word."""
    table = values()
    for length in range(min(_LONGEST_FORM, len(words) - at), 0, -1):
        as_written, low = tuple(written[at : at + length]), tuple(words[at : at + length])
        known = table.get(as_written) if length == 1 and as_written[0] in CASED else table.get(low)
        if known is None or (length == 1 and low == as_written and _is_cased_only(low[0])):
            continue
        if known[0] in _STATES and not _is_predicate(words, at, length):
            continue
        return Value(known[0], known[1], " ".join(low), at)
    if words[at] in ("on", "off") and _is_switch(words, at):
        return Value("switch", words[at], words[at], at)
    return None


_STATES = frozenset({
    "switch", "visibility", "consent", "obligation", "permission", "synchrony", "statefulness", "mutability",
    "automation", "availability", "result", "progress", "degree", "speed", "order",
})  # fmt: skip
"""Relations whose words are adjectives and verbs too: they count where something is stated, not in front of a noun."""
_CASED_LOW = frozenset(word.lower() for word in CASED)


def _is_cased_only(word: str) -> bool:
    known = values().get((word,))
    return word in _CASED_LOW and known is None


def _is_predicate(words: Sequence[str], at: int, length: int) -> bool:
    """Tell whether a word states something: behind a form of be, at the end, or as the verb; not in front of a noun."""
    before = words[at - 1] if at else ""
    following = words[at + length] if at + length < len(words) else ""
    if words[at] in _VERBS and (following == "" or following in _PREPOSITIONS):
        return True
    return (
        before in _BEFORE_SWITCH | {"not", "still", "run", "runs", "now", "again", "be", "no"}
        or following == ""
        or at == 0
    )


def _is_switch(words: Sequence[str], at: int) -> bool:
    before = words[at - 1] if at else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    if words[at] in _VERBS and (following == "" or following in _PREPOSITIONS):
        return True
    return before in _BEFORE_SWITCH | {"not", "flag"} and following in (
        "",
        "for",
        "in",
        "by",
        "again",
        "now",
        "since",
        "everywhere",
    )


def _quantity(words: Sequence[str], at: int, in_port: bool) -> Value | None:
    quantity = quantity_at(words, at, in_port=in_port)
    if quantity is None:
        return None
    return Value(quantity.relation, quantity.value, " ".join(words[at : at + quantity.words]), at)


def _halves(
    written: Sequence[str], words: Sequence[str], stems: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split at the verb that states something: behind "is", "is called", "is written in"."""
    for index, word in enumerate(words):
        if not index or (word not in _PIVOT and word not in _MADE):
            continue
        end = index + 1
        if word in _PIVOT and words[end : end + 1] and words[end] in _MADE:
            end += 1
        if words[end - 1] in _MADE and words[end - 1] not in ("called", "named"):
            if words[end : end + 1] and words[end] in _BY:
                end += 1
            elif word in _MADE:
                continue
        pairs = zip(stems[:end], words[:end], strict=True)
        return tuple(one for one, low in pairs if low not in STOP or low == "of"), tuple(written[end:])
    return (), ()
