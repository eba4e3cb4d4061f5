"""Find hits of which a later one may change an earlier one, by the passages that fit the question best. Pure.

Law: linear in the hits but for a small number of them; a pair is named, never closed. Both passages are of one speaker, who speaks
of themselves. The later one reports a change with another value of the kind that is asked for, or one denies what the other says.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from undrift.core.contradict.changes import is_alike
from undrift.core.contradict.topics import KindValue, TopicalClause, read_segment, topic_of
from undrift.core.memory.passages import passage_in
from undrift.core.memory.retrieve import parse
from undrift.core.text.words import speaker_key, words_of
from undrift.values.memory import TRUST_TIERS, MemoryEntry, ScoredMemoryEntry
from undrift.values.passages import LONGEST_PASSAGE

__all__ = ["Opposed", "later_of", "opposed"]

_FIRST = 10
_LOOKED_AT = 50
_MOST_PAIRS = 4
_MOST_AGAINST_ONE = 4
_LEAST_COVERAGE = 0.4
"""A share of the best hit's coverage: a passage that holds less of the question is about something else."""

_SEGMENT = re.compile(r"[,;:]\s|\s-\s|\s(?=(?:but|so|because|which|whereas|while)\s)|[.!?]\s")
_CHANGES = re.compile(
    r"\b(?:a(?:djusted|dded|lready)|changed|d(?:ecreased|ropped)|extended|grow?n?|grew|i(?:ncreased?|mproved)|lowered|mov(?:ed|ing)"
    r"|n(?:ew|ow)|postponed|r(?:aised|eached|ecently|educed|enamed|eplaced|escheduled)|s(?:lipped|witched)|total of"
    r"|up(?:dated|graded))\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:did not|didn['\u2019]t|ha(?:s|ve)(?: not|n['\u2019]t)|never|not (?:ever|yet))\b", re.IGNORECASE
)
_DONE = frozenset(
    {"been", "done", "got", "had", "made", "met", "spent", "taken", "took", "used", "using", "went", "written"}
)
_DONE_WITHIN = 4
"""Words behind "I": "I just downloaded"."""
_AROUND = 150
"""Characters before and after a passage: chosen on five conversations among 0, 100, 150 and 300."""
_CODE = re.compile(r"```[^`]{0,900}(?>(?:```)?)")
_OWN = frozenset({"i", "my", "we", "our"})
_YES_OR_NO = frozenset({"have", "has", "had", "did", "do", "does", "am", "is", "are", "was", "were"})
_KINDS = {
    "when": ("date", "weekday", "ordinal", "clock"), "date": ("date", "weekday", "ordinal"),
    "deadline": ("date", "weekday", "ordinal"), "time": ("clock", "duration", "date"), "day": ("date", "weekday", "ordinal"),
    "percentage": ("share",), "percent": ("share",), "rate": ("share",), "coverage": ("share",), "accuracy": ("share",),
    "much": ("money",), "cost": ("money",), "price": ("money",), "budget": ("money",), "salary": ("money",),
    "long": ("duration",), "version": ("version",), "port": ("port", "number"),
}  # fmt: skip
"""The kinds of value that a word of a question asks for."""
_UNASKED = frozenset({"name", "maybe", "entity", "path", "identifier", "host"})


@dataclass(frozen=True, slots=True)
class _Question:
    topics: frozenset[str]
    kinds: frozenset[str]
    counts: bool

    def wants(self, value: KindValue) -> bool:
        """Tell whether the question asks for a value like this one."""
        if value.kind in _UNASKED:
            return False
        units = {topic_of(word) for word in value.text.split()} | {value.noun}
        return value.kind in self.kinds or bool(units & self.topics) or (self.counts and value.kind == "number")


@dataclass(frozen=True, slots=True)
class _Amount:
    """A value that the question asks for. `near`: the question's topics in its segment; `around`: and in the one before."""

    value: KindValue
    segment: TopicalClause
    near: frozenset[str]
    around: frozenset[str]
    changes: bool


@dataclass(frozen=True, slots=True)
class _FittingPart:
    """A hit with its passage."""

    place: int
    hit: ScoredMemoryEntry
    text: str
    coverage: float


@dataclass(frozen=True, slots=True)
class Opposed:
    """Pairs of ids, the earlier first, that may exclude each other: at most four, the surest first.

    Args:
        changed: The later one reports a change of what the earlier one says.
        denied: One denies what the other says: which of them holds is open.
    """

    changed: tuple[tuple[str, str], ...] = ()
    denied: tuple[tuple[str, str], ...] = ()


def opposed(query: str, hits: Sequence[ScoredMemoryEntry]) -> Opposed:
    """Find the hits that may exclude each other in what the question asks for.

    `hits`: best first; those of `Memories.ranked`, whose ``why`` names the passage.
    """
    words = words_of(query[:1_000])
    topics = frozenset(topic for word in parse(query).words if (topic := topic_of(word)))
    kinds = frozenset(kind for word in words for kind in _KINDS.get(word, ()))
    asked = _Question(topics, kinds, "many" in words or "number" in words)
    is_yes_or_no = words[:1] and words[0] in _YES_OR_NO
    if not topics or "between" in words or not (is_yes_or_no or kinds or asked.counts):
        return Opposed()  # a question about the time between two things asks for both
    parts = list(_parts(hits))
    if is_yes_or_no:
        return Opposed(denied=tuple(_denials(parts, asked)[:_MOST_PAIRS]))
    return Opposed(changed=tuple(_changes(parts, asked)[:_MOST_PAIRS]))


def later_of(one: MemoryEntry, other: MemoryEntry) -> MemoryEntry:
    """Return the one of two memories that holds later in time."""
    return max(one, other, key=lambda entry: (entry.valid_from_ms, entry.task_position, entry.seq))


def _parts(hits: Sequence[ScoredMemoryEntry]) -> Iterator[_FittingPart]:
    """Yield the hits that hold enough of the question, and whose speaker speaks of themselves."""
    best = max((hit.why.get("coverage", 0.0) for hit in hits[:_LOOKED_AT]), default=0.0)
    for place, hit in enumerate(hits[:_LOOKED_AT]):
        text, coverage = passage_in(hit.entry.content, hit.why), hit.why.get("coverage", 0.0)
        is_fit = 0.0 < coverage >= _LEAST_COVERAGE * best and len(text) <= LONGEST_PASSAGE
        is_sound = TRUST_TIERS[hit.entry.trust] > 0 and not hit.entry.is_contradicted
        if is_fit and is_sound and not _OWN.isdisjoint(words_of(text)):
            yield _FittingPart(place, hit, _around(hit, text), coverage)


def _around(hit: ScoredMemoryEntry, passage: str) -> str:
    """Return a passage and its surroundings, without code: the amount is often in the next sentence."""
    content = hit.entry.content
    start = (hit.why.get("passage") or (0, 0))[0]
    text = content[max(0, start - _AROUND) : start + len(passage) + _AROUND]
    return _CODE.sub("\n", text)


def _changes(parts: Sequence[_FittingPart], asked: _Question) -> list[tuple[str, str]]:
    """Return the pairs of which the later reports a change, with another value of the kind that is asked for."""
    amounts = [(part, _amounts(part.text, asked)) for part in parts]
    found = []
    for part, old in amounts:
        for other, new in amounts:
            if old and new and _is_later(part, other) and (score := _exchange(old, new)):
                found.append((-score - min(part.coverage, other.coverage), part.hit.entry.id, other.hit.entry.id))
    return [(earlier, later) for _, earlier, later in sorted(found)]


def _exchange(old: Sequence[_Amount], new: Sequence[_Amount]) -> int:
    """Return how many topics of the question the two best values share with each other; 0: none takes another's place."""
    known, again = {one.value.value for one in old}, {one.value.value for one in new}
    best = 0
    for one in old:
        for other in new:
            if not other.changes or other.value.value in known or one.value.value in again:
                continue
            shared = one.around & other.around
            is_counted = bool(one.value.noun) and one.value.noun == other.value.noun
            if (shared or is_counted) and is_alike(one.value, other.value, one.segment, other.segment):
                best = max(best, 1 + len(shared) + len(one.near & other.near))
    return best


def _amounts(text: str, asked: _Question) -> list[_Amount]:
    found: list[_Amount] = []
    before, changed = frozenset[str](), False
    for segment in _SEGMENT.split(text):
        read = _read(segment)
        near = asked.topics.intersection(read.topics)
        changes = _CHANGES.search(segment) is not None
        found += [
            _Amount(value, read, near, near | before, changes or changed) for value in read.values if asked.wants(value)
        ]
        before, changed = near, changes
    return found


def _denials(parts: Sequence[_FittingPart], asked: _Question) -> list[tuple[str, str]]:
    """Return the pairs of which one denies what the other says: the surest denial with the surest statements."""
    denied: list[tuple[int, float, int, _FittingPart]] = []
    affirmed: list[tuple[int, float, int, _FittingPart]] = []
    least = min(2, len(asked.topics))
    for part in parts:
        most = {True: 0, False: 0}
        for segment in _SEGMENT.split(part.text):
            denies = _DENIES.search(segment) is not None
            if denies or _affirms(segment):
                most[denies] = max(most[denies], len(asked.topics.intersection(_read(segment).topics)))
        if most[True] >= least:
            denied.append((-most[True], -part.coverage, part.place, part))
        elif most[False] >= least:
            affirmed.append((-most[False], -part.coverage, part.place, part))
    if not denied:
        return []
    denial = min(denied, key=lambda one: one[:3])[3]
    ranked = [part for *_, part in sorted(affirmed, key=lambda one: one[:3])]
    against = [part for part in ranked if _is_later(part, denial) or _is_later(denial, part)][:_MOST_AGAINST_ONE]
    return [
        (part.hit.entry.id, denial.hit.entry.id)
        if _is_later(part, denial)
        else (denial.hit.entry.id, part.hit.entry.id)
        for part in against
    ]


def _affirms(segment: str) -> bool:
    """Tell whether a segment says what its speaker has or did."""
    words = words_of(segment)
    return "my" in words or any(
        word in _DONE or word.endswith("ed")
        for at, own in enumerate(words)
        if own == "i"
        for word in words[at + 1 : at + 1 + _DONE_WITHIN]
    )


def _is_later(part: _FittingPart, other: _FittingPart) -> bool:
    """Tell whether the other is the later one of a pair that may be named: of one speaker, one of them among the first."""
    one, two = part.hit.entry, other.hit.entry
    if (
        one.id == two.id
        or min(part.place, other.place) >= _FIRST
        or speaker_key(one.speaker) != speaker_key(two.speaker)
    ):
        return False
    return later_of(one, two) is two


@lru_cache(maxsize=2_048)
def _read(segment: str) -> TopicalClause:
    return read_segment(segment)
