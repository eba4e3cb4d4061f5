"""Read a clause for changes: its topics, its values with their kinds, its cues, what it denies. Pure, linear in the text.

Law: the kind of a value follows from its form: an amount with its unit, a date, a path, a host, an identifier, a name. No list
of products is needed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from undrift.core.contradict.lexicon import CLASSES
from undrift.core.contradict.quantities import MONTHS, quantity_at
from undrift.core.contradict.reading import read_statement
from undrift.core.contradict.words import STOP, stated, without_refusals
from undrift.core.text.words import stem, stems_of, terms_of

__all__ = ["KindValue", "TopicalClause", "names_in", "read_clauses", "read_segment", "topic_of"]

_TOPIC_LETTERS = 6
_MOST_TERMS = 60
_LEAST_OF_A_YEAR, _MOST_OF_A_YEAR = 1900, 2100
_MOST_WORDS_OF_A_NAME = 4

_MOVED = re.compile(
    r"\b(?:b(?:ecame|umped)|c(?:hanged|onverted)|d(?:own to|owngraded|ecreased|ropped to)|e(?:scalated|xtend(?:ed|ing))"
    r"|g(?:rew|rown|iven up|ave up|one back)|handed over|in(?:stead(?! of)|creased|herited)|lowered|m(?:oved|igrated)"
    r"|no longer|any ?more|p(?:ort(?:ed|ing)|ostponed|ulled|ushed)"
    r"|r(?:eplaced|enamed|enewed|escheduled|educed|ewritten|ewrote|edid|aised|etired)"
    r"|s(?:witched|hortened|lipped|wapped|hifted|plit)|t(?:ook over|aken over|raded)|up(?:graded|dated)|went (?:down|up|back)|wiped"
    r"|the old ones?|these days|called off|deleted|dropped|ended|gone|handed back|left"
    r"|merged|no longer|any ?(?:longer|more)|removed|s(?:crapped|ettled|hut down|o far|topped|witched off)|thr(?:ew|own) away"
    r"|by now|from (?:now|here|today) on|as of|turns out|changed my mind)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:finished|from (?:this|next|\w{1,20}(?: \d{1,4})?) (?:\w{1,20} )?on|from this"
    r"|last (?:week|month|year|night|spring|summer)|now|since"
    r"|this (?:morning|week|month)|today(?:'s)?|up to|yesterday|over the weekend)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"\b(?:additionally|alongside|also|another|as well|besides|both|except(?:ion)?|excluded|in addition|plus|too|unless)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    # By first letters: at the start of each word, all beginnings are tried.
    r"\?|\b(?:at first|back then|co(?:uld|nsider(?:ed|ing|s)?)|formerly|historically|i(?:f|magine|n (?:case|the past)|nitially)"
    r"|ma(?:y ?be)|might|originally|p(?:erhaps|reviously|ropos(?:al|ed|es))|s(?:hould (?:i|we)|ome ?day|uggest(?:ed|s|ing)?|uppose)"
    r"|un(?:less|til last)|used to|would|years? ago)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:ask(?:s|ed)|brother|c(?:lient|olleague|ompetitors?)|daughter|f(?:ather|orum|riend)|h(?:eard|er|is|usband)|mother"
    r"|neighbou?rs?|planned|read about|s(?:a(?:id|ys)|ister|ome(?:one|body)|on)|w(?:ife|rites|rote))\b"
    r"|\"[^\"\s]{1,40}\s[^\"\s]{1,40}\s[^\"]{0,200}\"",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:bought|came|did|got|had|spent|t(?:ested|ook)|w(?:as|ent|ere|rote)|when (?:i|the|we))\b", re.IGNORECASE
)
_NEGATORS = frozenset({
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "skip", "avoid", "stop",
})  # fmt: skip
_LIGHT = frozenset({
    "use", "using", "go", "get", "make", "set", "move", "be", "have", "keep", "put", "take", "live", "come", "do", "want",
    "need", "like", "prefer", "work", "run", "change", "switch", "migrate", "replace", "rename", "bump", "upgrade", "downgrade",
    "raise", "lower", "increase", "decrease", "reduce", "extend", "shorten", "postpone", "convert", "new", "old", "current",
    "latest", "same", "think", "know", "call", "name", "say", "end", "start", "begin", "stand", "sit", "turn", "become", "good",
    "back", "thing", "way", "lot", "time", "day", "week", "month", "year", "morning", "yesterday", "weekend", "since", "last",
    "next", "recently", "finish", "reach", "adjust", "improve", "try", "help", "really", "own", "give", "write", "wrote",
    "written", "api", "given", "gave", "took", "per", "roughly", "around", "quite", "ever", "anymore", "everything", "anything",
    "anyone", "people", "user", "because", "while", "after", "before", "until", "through", "across", "during", "two", "three",
})  # fmt: skip
"""Words that relate a topic to its value, or say when."""
_NO_NAMES = frozenset({
    "api", "utc", "url", "ui", "ci", "pr", "db", "cpu", "gpu", "ok", "until", "since", "yes", "thanks", "hey", "hi", "last",
    "user", "assistant",
})  # fmt: skip
_OWN = frozenset({"i", "we", "my", "our", "i'm", "i've", "we're", "we've", "me", "us", "you", "your"})
_MEASURES = frozenset({
    "version", "port", "duration", "size", "share", "money", "number", "date", "weekday", "clock", "name", "length", "speed",
    "order", "degree", "region",
})  # fmt: skip
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SEGMENT = re.compile(r",\s|\s\(|\)")
_PIECE = re.compile(r"[-/_.]")
_PATH = re.compile(r"(?:[A-Za-z]:|~)?/?(?:[\w.@-]++/)+[\w.@-]*|/[\w.@-]+")
_LETTER = re.compile(r"[a-z]")
_HOST = re.compile(r"(?:https?://)?[a-z0-9-]++(?:\.[a-z0-9-]++)*\.[a-z]{2,10}(?::\d+)?(?:/\S*)?")
_FILE = re.compile(r"[\w-]+\.(?:py|js|ts|md|toml|ya?ml|json|cfg|ini|txt|sh|rs|go|c|h|css|html|sql|csv|log)")
_IDENTIFIER = re.compile(r"(?=\w{0,60}_)\w+|[a-z]++[A-Z]\w*+|\w++\(\)|[a-z]++(?>(?:-[a-z]++)*)-\d+")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_LOCALHOST = re.compile(r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3})?:(\d{2,5})")


@dataclass(frozen=True, slots=True)
class KindValue:
    """A value with its kind.

    `kind`: of the values that it can be exchanged for; ``maybe`` is a first word with a capital letter. `noun`: the topic that
    an amount counts; may be empty.
    """

    kind: str
    value: str
    text: str
    noun: str = ""


@dataclass(frozen=True, slots=True)
class TopicalClause:
    """A clause, or several that are read as one.

    Args:
        topics: What it is about: shortened stems, in their order.
        before: Pairs of a topic and the word directly before it.
        denied: The topics in clauses that deny.
        cue: ``moved``: it says that something changed. ``later``: it says when. Else empty.
        is_added: It adds to what was said, or excepts something of it.
        is_supposed: It asks, supposes, or has a word for the past.
        is_reported: It is about what others do or say.
        is_past: Its verb is in the past.
        is_own: Its speaker is in it.
    """

    text: str
    topics: tuple[str, ...]
    values: tuple[KindValue, ...]
    before: frozenset[tuple[str, str]]
    words: frozenset[str]
    denied: frozenset[str]
    cue: str
    is_added: bool
    is_supposed: bool
    is_reported: bool
    is_past: bool
    is_own: bool


def read_clauses(clauses: Sequence[str]) -> TopicalClause:
    """Read clauses as one."""
    topics: dict[str, None] = {}
    values: list[KindValue] = []
    before: set[tuple[str, str]] = set()
    denied: set[str] = set()
    words: set[str] = set()
    for clause in clauses:
        whole = stated(clause)
        own: dict[str, None] = {}
        for number, segment in enumerate(_SEGMENT.split(whole)):
            written = terms_of(segment)[:_MOST_TERMS]
            low = [word.lower() for word in written]
            found = list(_values(written, low, is_first=number == 0))
            if len(found) == 1 and found[0][1] == len(low) and found[0][2].kind in ("name", "maybe"):
                continue  # a name alone addresses a person
            words.update(low)
            values += [one for _, _, one in found]
            own |= dict.fromkeys(_topics(low, found, before))
        topics |= own
        if _denies(whole):
            denied |= own.keys()
    text = " ".join(clauses)
    values += [
        KindValue(f"class:{one.relation}", one.value, one.text)
        for clause in read_statement(text)
        for one in clause.values
        if one.relation in CLASSES and one.relation not in _MEASURES
    ]
    return TopicalClause(
        text=text,
        topics=tuple(topics),
        values=tuple(values),
        before=frozenset(before),
        words=frozenset(words),
        denied=frozenset(denied),
        cue="moved" if _MOVED.search(text) else "later" if _LATER.search(text) else "",
        is_added=_ADDS.search(text) is not None,
        is_supposed=_SUPPOSES.search(text) is not None,
        is_reported=_REPORTED.search(text) is not None,
        is_past=_PAST.search(text) is not None,
        is_own=not _OWN.isdisjoint(words),
    )


def read_segment(text: str) -> TopicalClause:
    """Read a part of a sentence for its topics and the values whose form says their kind; cues and denials are left out."""
    written = terms_of(_GROUPED.sub("", text))[:_MOST_TERMS]
    low = [word.lower() for word in written]
    found = list(_values(written, low, is_first=False))
    topics = tuple(dict.fromkeys(_topics(low, found, set())))
    values = tuple(one for _, _, one in found)
    nothing: frozenset[str] = frozenset()
    return TopicalClause(
        text, topics, values, frozenset(), frozenset(low), nothing, "", False, False, False, False, False
    )


def topic_of(word: str) -> str:
    """Return a word as a topic; empty if it says too little."""
    low = word.lower().replace("\u2019", "'").removesuffix("'s")
    if "'" in low or low in STOP or low in _LIGHT or len(low) < 2 or low.isdecimal():
        return ""
    one = stem(low)
    return "" if one in STOP or one in stems_of(_LIGHT) else one[:_TOPIC_LETTERS]


def names_in(clause: TopicalClause, *, with_classes: bool = False) -> frozenset[str]:
    """Return the topics that are parts of names. `with_classes`: also those that are values of a known class."""
    return frozenset(
        topic_of(word)
        for one in clause.values
        if one.kind == "name" or (with_classes and one.kind.startswith("class:"))
        for word in one.value.split()
    )


def _topics(
    low: Sequence[str], found: Sequence[tuple[int, int, KindValue]], before: set[tuple[str, str]]
) -> Iterator[str]:
    """Yield the topics of a segment; add each pair of a topic and the word directly before it."""
    spans = [(at, at + length, one.kind) for at, length, one in found]
    names = {at for start, end, kind in spans if kind == "name" for at in range(start, end)}
    taken = {at for start, end, kind in spans if kind not in ("name", "maybe") for at in range(start, end)}
    last = ""
    for at, word in enumerate(low):
        if at in taken:
            last = ""
            continue
        for piece in _PIECE.split(word):
            topic = topic_of(piece)
            if topic:
                yield topic
                if last and at not in names:
                    before.add((topic, last))
            last = "" if piece in STOP else topic or piece


def _denies(opened: str) -> bool:
    """Tell whether a clause denies, or asks not to do something."""
    words = without_refusals(opened).lower().replace(",", " ").split()
    return sum(word in _NEGATORS for word in words) % 2 == 1


def _values(written: Sequence[str], low: Sequence[str], *, is_first: bool) -> Iterator[tuple[int, int, KindValue]]:
    """Yield each value with its place and its number of words. `is_first`: the segment begins a clause."""
    at = 0
    while at < len(low):
        length, value = _amount_at(written, low, at) or _written_at(written, low, at, is_first=is_first) or (1, None)
        if value is not None:
            yield at, length, value
        at += length


def _amount_at(written: Sequence[str], low: Sequence[str], at: int) -> tuple[int, KindValue] | None:
    """Return the amount, date or port that begins at a word."""
    word = low[at]
    if match := _LOCALHOST.fullmatch(word):
        return 1, KindValue("port", match[1], written[at])
    if match := _ORDINAL.fullmatch(word):
        return 1, KindValue("ordinal", match[1], written[at])
    if len(word) == 4 and word.isdecimal() and _LEAST_OF_A_YEAR < int(word) < _MOST_OF_A_YEAR:
        return 1, KindValue("entity", word, written[at])
    quantity = quantity_at(low, at, in_port=False)
    if quantity is None:
        return None
    kind, _, noun = quantity.relation.partition(":")
    if kind != "count":
        return quantity.words, KindValue(kind, quantity.value, " ".join(written[at : at + quantity.words]))
    counted = topic_of(noun)
    shown = " ".join(written[at : at + 2]) if counted else written[at]
    return 1, KindValue("count" if counted else "number", quantity.value, shown, counted)


def _written_at(written: Sequence[str], low: Sequence[str], at: int, *, is_first: bool) -> tuple[int, KindValue] | None:
    """Return the path, host, identifier or name that begins at a word."""
    word, text = low[at], written[at]
    if _FILE.fullmatch(word) or ("/" in word and "://" not in word and _LETTER.search(word) and _PATH.fullmatch(word)):
        return 1, KindValue("path", word.rstrip("/"), text)
    if _HOST.fullmatch(word):
        return 1, KindValue("host", word.partition("://")[2].rstrip("/") or word.rstrip("/"), text)
    if _IDENTIFIER.fullmatch(text):
        return 1, KindValue("identifier", word.removesuffix("()"), text)
    bare = word.partition("'")[0].partition("\u2019")[0]
    if not text[0].isupper() or bare in STOP or bare in _NO_NAMES or bare in MONTHS or bare in ("i", "let"):
        return None
    end = at + 1
    while end < len(written) and written[end][0].isupper() and end - at < _MOST_WORDS_OF_A_NAME:
        end += 1
    kind = "maybe" if is_first and at == 0 and end == 1 else "name"
    return end - at, KindValue(kind, " ".join(low[at:end]).removesuffix("'s"), " ".join(written[at:end]))
