"""Parses a query, and merges the hits by words and by vectors into one ranking. Pure.

Law: a score is explained in full by its parts; the same hits give the same order, of equals the newest first. Both kinds of
hits are divided by their best and added up: adding up ranks instead was measured to hurt (PEERS part 2, headline 3).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Protocol

from undrift.core.text.words import words_written

__all__ = [
    "NeighbouredLine",
    "Query",
    "Ranked",
    "STOP_WORDS",
    "WEIGHTS",
    "Weights",
    "damping",
    "factors",
    "is_question",
    "parse",
    "rank",
    "speaker_keys",
    "worded",
]

_STOP_WORDS = """
    a an the this that these those it its am is are was were be been being do does did doing done have has had
    having can could may might must shall should will would i me my mine you your yours he him his she her hers we
    us our ours they them their theirs about after also and any as at because before between but by during each
    either else even ever every few for from get gets getting go goes going got here if in into just many more most
    much neither no nor not now of off on onto only or other out over own same so some such than then there through
    to too under until up very via while with without how what whatever when where whether which whichever who
    whoever whom whose why d ll m re s t ve aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren won
    wouldn
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that only form a question or hold a sentence together; the rest after an apostrophe is among them."""

_MOST_CHARACTERS = 10_000
_MOST_WORDS = 32
_MOST_WORDS_OF_A_NAME = 3
_SHORT = 200
"""Characters up to which a text counts as a turn of a conversation. A longer one says more than one thing: what stands beside
it or at its end tells less about the whole. Without this, plain FTS5 was better on long messages (docs/memory-retrieval.md)."""
_OWN_WORDS = frozenset({"i", "me", "mine", "my", "myself"})
_USERS = ("user", "human")
"""Speakers who ask in the first person: in a conversation with an agent, its user."""
_LAST_OF_A_QUESTION = ("?", "\uff1f", "\u061f")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    Args:
        words: Those that carry the meaning, lower case, each once; all words if none does.
        text: The same words in the order and case of the query, repetitions included: for an embedder that adds words up.
        is_own: True if it is in the first person: then a user asks for what they said.
    """

    words: tuple[str, ...]
    speakers: frozenset[str]
    text: str
    is_own: bool = False


class NeighbouredLine(Protocol):
    """A memory and its neighbours from the same source."""

    @property
    def speaker(self) -> str:
        """Key of the speaker; empty if there is none."""
        ...

    @property
    def asks(self) -> bool:
        """True if it ends as a question."""
        ...

    @property
    def length(self) -> int:
        """Characters of its text."""
        ...

    @property
    def before(self) -> tuple[int | None, int | None]:
        """Numbers of the two memories before it, nearest first; None if there is none."""
        ...

    @property
    def after(self) -> tuple[int | None, int | None]:
        """The same of the two after it."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each part of the score; chosen on half of two corpora, tested on the rest (docs/memory-retrieval.md).

    The effect of neighbours and questions is damped by the length of the text that it changes, or that it comes from: by
    min(1, 200 / length).

    Args:
        dense: Share of the vectors in a memory's own score, 0 to 1; the words have the rest.
        together: Share of the score by words that depends on how much of the question stands together, 0 to 1.
        after: Share of a memory's own score that the next one of its source gets as well.
        after_question: The same when the memory is a question: what comes next answers it.
        speaker: Factor for texts of a speaker whom the query names, at least 1.
        user: Factor for a user's texts when the query is in the first person, 1 to `speaker`.
        question: Factor for a question, 0 to 1: it seldom holds an answer.
    """

    dense: float = 0.4
    together: float = 0.8
    after: float = 0.35
    after_question: float = 0.85
    before: float = 0.35
    second_after: float = 0.2
    second_before: float = 0.12
    speaker: float = 1.5
    user: float = 1.4
    question: float = 0.8

    @property
    def most(self) -> float:
        """The highest score that there can be, before it is divided by this."""
        after = max(self.after, self.after_question)
        return (1.0 + after + self.before + self.second_after + self.second_before) * self.speaker


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Ranked:
    """One memory in the ranking.

    `why`: what it is made of: (`lexical` x (1 - share) + `dense` x share + `neighbours`) x `speaker` x `statement`,
    over the highest sum that there can be. A part that does nothing is left out.
    """

    number: int
    score: float
    why: Mapping[str, float]


def speaker_keys(text: str) -> list[str]:
    """Return the words of a query that could name a speaker: runs of up to three words, not only stop words."""
    words = [word.casefold() for word in _written(text)][: 2 * _MOST_WORDS]
    runs = (
        words[start : start + length]
        for length in range(1, _MOST_WORDS_OF_A_NAME + 1)
        for start in range(len(words) - length + 1)
    )
    return list(dict.fromkeys(" ".join(run) for run in runs if not STOP_WORDS.issuperset(run)))


def parse(text: str, speakers: Collection[str] = ()) -> Query:
    """Parse a query into the speakers that it may name and its meaningful words.

    A speaker's name is no word to look for: other people say the name, the speaker seldom does.

    Args:
        text: Anything; its first 10,000 characters and 32 different words count.
        speakers: Those of `speaker_keys(text)` that name a speaker: the whole name, or its first word.
    """
    written = _written(text)
    named = {word for key in speakers for word in key.split(" ")}
    kept = [word for word in written if word.casefold() not in STOP_WORDS and word.casefold() not in named]
    kept = kept or [word for word in written if word.casefold() not in STOP_WORDS] or written
    words = tuple(dict.fromkeys(word.casefold() for word in kept))[:_MOST_WORDS]
    is_own = not _OWN_WORDS.isdisjoint(word.casefold() for word in written)
    return Query(words, frozenset(speakers), " ".join(word for word in kept if word.casefold() in words), is_own)


def factors(query: Query, weights: Weights = WEIGHTS) -> dict[str, float]:
    """Return by what the texts of each speaker whom a query means are multiplied."""
    own = dict.fromkeys(_USERS, weights.user) if query.is_own else {}
    return {**own, **dict.fromkeys(query.speakers, weights.speaker)}


def worded(score: float, together: float, weights: Weights = WEIGHTS) -> float:
    """Return the score by words of a text: less where the words of the question stand far apart, or most are missing.

    `together`: the share of the question that stands together, 0 to 1.
    """
    return score * (1.0 - weights.together * (1.0 - together))


def is_question(text: str) -> bool:
    """Tell whether a statement ends like a question."""
    return text[-100:].rstrip().rstrip("\"')]}*_ ").endswith(_LAST_OF_A_QUESTION)


def rank(
    lexical: Mapping[int, float],
    dense: Mapping[int, float] | None,
    lines: Mapping[int, NeighbouredLine],
    speakers: Mapping[str, float] | None = None,
    *,
    k: int,
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """Rank the hits and their neighbours, and return the k best, best first.

    own = (1 - dense share) x lexical / best lexical + dense share x similarity / best similarity, of which neighbours get
    shares; score = (own + what neighbours gave, damped) x factors of speaker and statement / `Weights.most`.

    Args:
        lexical: Score by words for each number, above 0; a later memory has a greater number.
        dense: Cosine for each number, those up to 0 not counted; None when there are no vectors: then words have it all.
        lines: Of all these numbers and of their neighbours; a number that is missing is passed over.
        speakers: Factors for the texts of speakers; see `factors`.
    """
    by_words, by_vectors = _over_best(lexical, lines), _over_best(dense or {}, lines)
    meant = speakers or {}
    share = weights.dense if dense is not None else 0.0
    own = {
        number: (1.0 - share) * by_words.get(number, 0.0) + share * by_vectors.get(number, 0.0)
        for number in sorted(by_words.keys() | by_vectors.keys())
    }
    given = _given(own, lines, weights)
    scored, most = [], weights.most
    for number in own.keys() | given.keys():
        line, score = lines[number], own.get(number, 0.0) + given.get(number, 0.0)
        score *= meant.get(line.speaker, 1.0) * _statement(line, weights)
        if score / most > 0.0:  # the lowest possible score is above 0; a returned score may not be
            scored.append((-score, -number))
    ranked = []
    for score, number in nsmallest(k, scored):
        parts = {
            "lexical": by_words.get(-number),
            "dense": by_vectors.get(-number),
            "similarity": (dense or {}).get(-number),
            "neighbours": given.get(-number),
            "speaker": meant.get(lines[-number].speaker),
            "statement": _statement(lines[-number], weights) if lines[-number].asks else None,
        }
        why = {name: part for name, part in parts.items() if part is not None}
        ranked.append(Ranked(-number, -score / most, why))
    return ranked


def _written(text: str) -> list[str]:
    """Return the words as written, in the part of a text that counts."""
    return words_written(text[:_MOST_CHARACTERS])


def _over_best(scores: Mapping[int, float], lines: Mapping[int, NeighbouredLine]) -> dict[int, float]:
    found = {number: score for number, score in scores.items() if score > 0.0 and number in lines}
    best = max(found.values(), default=1.0)
    return {number: score / best for number, score in found.items()}


def damping(line: NeighbouredLine) -> float:
    """Return how far a part of a text tells about the whole: 1 for a short one."""
    return _SHORT / max(line.length, _SHORT)


def _statement(line: NeighbouredLine, weights: Weights) -> float:
    """Return the factor of a question: a long text that ends as one says something before it asks."""
    return 1.0 - (1.0 - weights.question) * damping(line) if line.asks else 1.0


def _given(own: Mapping[int, float], lines: Mapping[int, NeighbouredLine], weights: Weights) -> dict[int, float]:
    """Add up what each line is given by the hits around it, hits in the order of their numbers: sums come out the same."""
    given: dict[int, float] = {}
    for number, score in own.items():
        line = lines[number]
        answers = (weights.after_question - weights.after) * damping(line)
        shares = (
            (line.after[0], weights.after + answers if line.asks else weights.after),
            (line.before[0], weights.before),
            (line.after[1], weights.second_after),
            (line.before[1], weights.second_before),
        )
        for neighbour, share in shares:
            if neighbour is not None and share and neighbour in lines:
                given[neighbour] = given.get(neighbour, 0.0) + share * score * damping(lines[neighbour])
    return given
