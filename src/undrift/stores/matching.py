"""Answers questions to the full-text index: which originals hold the words, the best first, and where in the text.

Law: only reads. The index says which originals hold which words; phrases, scores and snippets come from the texts of the
most promising ones, which a small index in memory takes apart as the index on disk did.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import apsw

from undrift.stores.rows import key
from undrift.stores.segments import has_all, texts

__all__ = ["LookedTexts", "Match", "Sought", "matches", "score_of", "sought_words", "tokenizer_of", "weight_of"]

_MOST_CHARACTERS = 10_000
_MOST_WORDS = 32
_LONGEST_WORD = 256
_COMMON = 5_000
"""Originals; a word that occurs in more is not ranked. Ranking looks at every row that matches."""
_COUNTED = 10 * _COMMON
"""Originals; a word's rarity is measured in so many at most."""
_MOST_READ = 2_048
"""Texts that are read for one question: those with the rarest words, then the newest."""
_MOST_READ_BYTES = 8 << 20
_BYTES_A_WORD = 6
"""A text's bytes for each of its words, about: how long it is has to be known before it is read."""
_SCORED = 96
"""Texts that are taken apart at once, the most promising first."""

_LOOKED = "CREATE VIRTUAL TABLE looked USING fts5(text, tokenize = 'porter unicode61')"
_SNIPPET = "SELECT CAST(snippet(looked, 0, '', '', '…', 24) AS BLOB) FROM looked WHERE looked MATCH ? AND rowid = ?"
_OF_ALL = "SELECT rowid FROM search WHERE search MATCH ?"
_OF_SESSION = """SELECT s.rowid FROM search s CROSS JOIN originals o ON o.number = s.rowid
    WHERE s.search MATCH ?1 AND s.rowid BETWEEN ?3 AND ?4
    AND (o.session_id = ?2 OR o.segment IN (SELECT number FROM segments WHERE session_id = ?2))"""
_SPAN = """SELECT min(first), max(last) FROM (
    SELECT min(number) AS first, max(number) AS last FROM originals WHERE session_id = ?1
    UNION ALL SELECT min(first_number), max(last_number) FROM segments WHERE session_id = ?1)"""
_SIZES = "SELECT id, sz FROM search_docsize WHERE id IN (SELECT value FROM json_each(?))"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
_ADD = "INSERT INTO looked(rowid, text) VALUES(?, CAST(? AS TEXT))"
_SHOWN_BYTES = 8 << 10
"""The part of a longer text that a snippet is looked for in: FTS5 compares each match with all others."""
_MOST_TERMS = 16
"""Terms of one word that must follow each other: a word of a hundred signs has as many."""
_BETWEEN = b" \t\r\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_K1, _B = 1.2, 0.75
"""As FTS5 has them."""


class Match(NamedTuple):
    """One matching row: the original's `number`, the `score` (higher is better) and the text around the match."""

    number: int
    score: float
    snippet: str


class Sought(NamedTuple):
    """A word of the question: as a phrase, as the terms that the index knows, and as bytes that most texts with it have.

    The bytes of a phrase are without what stands between its words; `begin` are those of its first word.
    """

    phrase: str
    terms: str
    trace: bytes
    begin: bytes
    is_phrase: bool


class HeldText(NamedTuple):
    """A text with words of the question: how often it has each, and how many words it has in all."""

    counts: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the index that a question may find: all, or those of one session."""

    connection: apsw.Connection
    session: tuple[Any, ...] = ()

    def newest(self, expression: str, limit: int) -> list[int]:
        sql = f"{_OF_SESSION if self.session else _OF_ALL} ORDER BY {'s.' if self.session else ''}rowid DESC LIMIT {limit}"
        found: list[Any] = self.connection.execute(sql, (expression, *self.session)).fetchall()
        return [number for (number,) in found]


def matches(connection: apsw.Connection, query: str, session_id: str | None, limit: int) -> list[Match]:
    """Return the best rows: for rare words by score, for common words alone the newest first."""
    found = _rows_of(connection, session_id)
    if found is None or limit <= 0:
        return []
    rare: dict[Sought, list[int]] = {}
    common: list[Sought] = []
    for word in sought_words(connection, query):
        numbers = found.newest(word.terms, _COMMON + 1)
        if len(numbers) > _COMMON:
            common.append(word)
        elif numbers:
            rare[word] = numbers
    if rare:
        return _ranked(found, rare, limit)
    for joined in ("AND", "OR"):
        newest = common and _newest(found, common, joined, limit)
        if newest:
            return newest
    return []


def _rows_of(connection: apsw.Connection, session_id: str | None) -> _Rows | None:
    if session_id is None:
        return _Rows(connection)
    ((first, last),) = connection.execute(_SPAN, (key(session_id),)).fetchall()
    return None if first is None else _Rows(connection, (key(session_id), first, last))


def tokenizer_of(connection: apsw.Connection) -> apsw.FTS5Tokenizer:
    """Return what takes texts apart in the index. It belongs to the connection, and to one thread at a time."""
    return connection.fts5_tokenizer("porter", ["unicode61"])


def sought_words(connection: apsw.Connection, query: str) -> list[Sought]:
    """Quote each word, because FTS5 treats ``don't``, ``C++`` and ``*`` as syntax errors and NUL as the end."""
    tokenizer = tokenizer_of(connection)
    text = query[:_MOST_CHARACTERS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    found = []
    for word in list(dict.fromkeys(one[:_LONGEST_WORD] for one in text.split()))[:_MOST_WORDS]:
        raw = word.encode()
        parts: Any = tokenizer(raw, apsw.FTS5_TOKENIZE_QUERY, None)
        if len(parts) > _MOST_TERMS:
            raw = raw[: parts[_MOST_TERMS - 1][1]]
            word, parts = raw.decode("utf-8", "replace"), parts[:_MOST_TERMS]
        terms = dict.fromkeys(_quoted(raw[start:end].decode("utf-8", "replace")) for start, end, *_ in parts)
        if terms:
            stem = parts[0][2].removesuffix("i").encode()  # happy has the stem happi
            trace = stem if len(parts) == 1 else raw.lower().translate(None, _BETWEEN)
            found.append(Sought(_quoted(word), f"({' AND '.join(terms)})", trace, stem, len(parts) > 1))
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _ranked(rows: _Rows, rare: Mapping[Sought, Sequence[int]], limit: int) -> list[Match]:
    """Return the best by their scores (bm25), among those that look best by the rarity of their words."""
    connection, words = rows.connection, list(rare)
    promise: dict[int, float] = {}
    of_all, mean = _totals(connection, words[0].terms)
    held = [_count(connection, word) if rows.session else len(numbers) for word, numbers in rare.items()]
    for numbers, some in zip(rare.values(), held, strict=True):
        for number in numbers:
            promise[number] = promise.get(number, 0.0) + weight_of(some, of_all)
    read, lost = _read(connection, sorted(promise, key=lambda number: (-promise[number], -number)))
    counted = {number: HeldText(_counts(text, words), size) for number, (text, size) in read.items()}
    weights = [weight_of(some, of_all) for some in _with_phrases(held, rare, counted)]
    guessed = {number: score_of(seen, weights, mean) for number, seen in counted.items()}
    look = LookedTexts(words)
    look.at({number: read[number][0] for number in sorted(guessed, key=lambda one: (-guessed[one], -one))}, limit)
    scores = {number: score_of(seen, weights, mean) for number, seen in look.seen.items()}
    scores |= {number: promise[number] for number in lost}  # as of a text of middle length with each word once
    best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
    return [Match(number, scores[number], look.snippet(number) if number in look.seen else "") for number in best]


def _with_phrases(
    held: Sequence[int], rare: Mapping[Sought, Sequence[int]], counted: Mapping[int, HeldText]
) -> Iterator[float]:
    """Yield in how many originals each word is, where the index only knows it for the terms of a phrase."""
    for place, (word, numbers) in enumerate(rare.items()):
        looked_at = [counted[number].counts[place] > 0 for number in numbers if number in counted]
        is_known = word.is_phrase and looked_at
        yield held[place] * sum(looked_at) / len(looked_at) if is_known else held[place]


def _counts(text: bytes, words: Sequence[Sought]) -> tuple[int, ...]:
    """Count words in a text quickly, and not quite exactly: enough to choose the texts that are taken apart."""
    small = text.lower()
    dense = small.translate(None, _BETWEEN) if any(word.is_phrase for word in words) else b""
    return tuple((dense if word.is_phrase else small).count(word.trace) for word in words)


def weight_of(held: float, of_all: int) -> float:
    """Return the weight of a word that so many of all originals hold."""
    return max(log((max(of_all, held) - held + 0.5) / (held + 0.5)), 1e-6)


def _newest(rows: _Rows, words: Sequence[Sought], joined: str, limit: int) -> list[Match]:
    order = rows.newest(f" {joined} ".join(word.terms for word in words), max(limit, _MOST_READ))
    look = LookedTexts(words, joined)
    read, lost = _read(rows.connection, order)
    look.at({number: text for number, (text, _) in read.items()}, limit)
    shown = (number for number in order if number in look.seen or number in lost)
    return [Match(number, 0.0, look.snippet(number) if number in look.seen else "") for number in shown][:limit]


def _read(connection: apsw.Connection, order: Sequence[int]) -> tuple[dict[int, tuple[bytes, int]], set[int]]:
    """Return texts and their lengths in words, in this order, up to a limit; and the numbers whose texts are damaged."""
    first = order[:_MOST_READ]
    found: list[Any] = connection.execute(_SIZES, (json.dumps(first),)).fetchall()
    sizes = {number: _varint(_raw(size)) for number, size in found}
    wanted, room_bytes = list[int](), _MOST_READ_BYTES
    for number in first:
        wanted.append(number)
        room_bytes -= _BYTES_A_WORD * sizes.get(number, 0)
        if room_bytes <= 0:
            break
    read = {number: _raw(text) for number, text in texts(connection, sorted(wanted))}  # each segment is opened once
    lost = set(wanted) - read.keys()
    if lost and not has_all(connection, lost):  # the index leads to an original that is not there
        raise apsw.exception_for(apsw.SQLITE_CORRUPT_VTAB)
    return {number: (read[number], sizes.get(number, 0)) for number in wanted if number in read}, lost


class LookedTexts:
    """Takes texts apart for the words of a question, through an index in memory."""

    def __init__(self, words: Sequence[Sought], joined: str = "OR") -> None:
        self.seen: dict[int, HeldText] = {}
        """The texts that match the question, by their numbers."""
        self._question = f" {joined} ".join(word.phrase for word in words)
        self._begins = [word.begin for word in words]
        self._memory = apsw.Connection(":memory:")
        self._memory.execute(_LOOKED)
        self._memory.register_fts5_function("note", self._note)

    def at(self, read: Mapping[int, bytes], limit: int) -> None:
        """Take some of these texts apart, and then more until so many match."""
        order = list(read)
        for start in range(0, len(order), max(_SCORED, limit)):
            some = ((number, read[number]) for number in order[start : start + max(_SCORED, limit)])
            self._memory.executemany(_ADD, some)
            self._memory.execute("SELECT note(looked) FROM looked WHERE looked MATCH ?", (self._question,)).fetchall()
            if len(self.seen) >= limit:
                break

    def snippet(self, number: int) -> str:
        """Return the words around the best match; in a long text, around the first."""
        ((text,),) = self._memory.execute("SELECT CAST(text AS BLOB) FROM looked WHERE rowid = ?", (number,)).fetchall()
        if len(text) > _SHOWN_BYTES:  # type: ignore[arg-type]
            self._memory.execute("DELETE FROM looked WHERE rowid = ?", (number,))
            self._memory.execute(_ADD, (number, self._around_first(text)))  # type: ignore[arg-type]
        found: list[Any] = self._memory.execute(_SNIPPET, (self._question, number)).fetchall()
        shown = found[0][0] if found else b" ".join(bytes(text)[:_SHOWN_BYTES].split()[:24])  # type: ignore[arg-type]
        return bytes(shown).decode("utf-8", "replace")

    def _around_first(self, text: bytes) -> bytes:
        small = text.lower()
        places = (small.find(begin) for begin in self._begins)
        first = min((place for place in places if place >= 0), default=0)
        start = max(0, first - _SHOWN_BYTES // 8)
        return text[start : start + _SHOWN_BYTES].decode("utf-8", "ignore").encode()

    def _note(self, api: apsw.FTS5ExtensionApi, *_: Any) -> None:
        if api.rowid not in self.seen:
            counts = tuple(len(api.phrase_locations(phrase)[0]) for phrase in range(api.phrase_count))
            self.seen[api.rowid] = HeldText(counts, api.column_size(0))


def _count(connection: apsw.Connection, word: Sought) -> int:
    ((found,),) = connection.execute(_COUNT, (word.terms, _COUNTED)).fetchall()
    return int(found)  # type: ignore[arg-type]


def _raw(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")  # damaged: reading it says so


def _varint(blob: bytes) -> int:
    """Read a number as SQLite writes it: seven bits a byte, the highest first."""
    value = 0
    for byte in blob:
        value = value << 7 | byte & 0x7F
    return value


def score_of(seen: HeldText, weights: Sequence[float], mean: float) -> float:
    """Return the score (bm25) of a text; `mean`: the length of a text in words, on average."""
    length = _K1 * (1 - _B + _B * seen.size / mean)
    return sum(
        weight * count * (_K1 + 1) / (count + length) for weight, count in zip(weights, seen.counts, strict=True)
    )


def _totals(connection: apsw.Connection, expression: str) -> tuple[int, float]:
    """Return the number of originals in the index, and how many words they have on average."""
    found: list[tuple[int, int]] = []

    def note_totals(api: apsw.FTS5ExtensionApi, *_: Any) -> None:
        found.append((api.row_count, api.column_total_size(0)))

    connection.register_fts5_function("note_totals", note_totals)
    sql = "SELECT note_totals(search) FROM search WHERE search MATCH ? LIMIT 1"
    connection.execute(sql, (expression,), can_cache=False).fetchall()  # else it calls the function of an earlier call
    rows, words = found[0] if found else (1, 1)
    return rows, max(words / max(rows, 1), 1.0)
