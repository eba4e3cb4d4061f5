"""The search of removed originals on a server: over keyed hashes of their words, and then in their texts.

Law: the server learns no word. The index is behind the commits: a search first indexes what the scope has not indexed yet.
The hashes only choose texts; phrases, scores and snippets come from the texts themselves (`stores.matching`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.stores import rows
from undrift.stores.base import Found
from undrift.stores.matching import LookedTexts, Sought, score_of, sought_words, tokenizer_of, weight_of
from undrift.stores.postgres.events import Kind
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.sealing import Seal
from undrift.stores.postgres.session_state import Record, SessionState
from undrift.stores.postgres.sessions import Sessions

__all__ = ["find", "forget_words", "index_some", "removal_from_buffer"]

Texts = Callable[[Home, SessionState, Sequence[Record]], Mapping[int, bytes]]

_COMMON = 5_000
"""Originals; a word that occurs in more is not ranked."""
_READ = 192
"""Texts that are read for one search: the most promising."""
_INDEXED_AT_ONCE = 256
_TO_INDEX = """SELECT s.name, o.seq, o.place FROM originals o JOIN sessions s ON s.month = o.month AND s.number = o.session
    WHERE o.person = %s AND o.words IS NULL AND s.project = %s ORDER BY s.number, o.seq, o.place LIMIT %s"""
_INDEX = """UPDATE originals o SET words = %s::int[] FROM sessions s
    WHERE s.month = o.month AND s.number = o.session AND s.project = %s AND s.person = %s AND s.name = %s
        AND o.seq = %s AND o.place = %s AND o.words IS NULL RETURNING 1"""
_WITH = """SELECT s.name, o.seq, o.place FROM originals o JOIN sessions s ON s.month = o.month AND s.number = o.session
    WHERE o.person = %s AND o.words @> %s::int[] AND s.project = %s AND (%s::bytea IS NULL OR s.name = %s)
    ORDER BY s.written DESC, o.seq DESC, o.place DESC LIMIT %s"""
_ALL = "SELECT coalesce(sum(archived + originals), 0) FROM sessions WHERE project = %s AND person = %s"
_FORGET = "UPDATE originals SET words = NULL WHERE person = %s AND session IN (SELECT number FROM sessions WHERE project = %s)"
_DAMAGED = "the original does not match its SHA-256; `undrift doctor` lists the damage"


class _Where(NamedTuple):
    """The place of an original: session, operation, and place among its events."""

    session: str
    seq: int
    place: int


def find(
    home: Home, sessions: Sessions, texts: Texts, query: str, session_id: str | None, limit: int
) -> Iterator[Found]:
    """Yield the best originals: for rare words by score, for common words alone the newest first."""
    while index_some(home, sessions, texts):
        pass
    connection = apsw.Connection(":memory:")
    words = sought_words(connection, query)
    if not words:
        return
    tokenizer = tokenizer_of(connection)
    hashed = {word: _hashes(home.seal, tokenizer, word.phrase.encode()) for word in words}
    only = None if session_id is None else rows.raw(session_id)
    who = home.caller.person
    asked = [(_WITH, (who, some, home.project, only, only, _COMMON + 1)) for some in hashed.values()]
    *found, ((of_all,),) = home.server.read(home.caller, *asked, (_ALL, (home.project, who)))
    places = {word: [_Where(rows.text_from(bytes(name)), seq, at) for name, seq, at in some]
              for word, some in zip(words, found, strict=True)}  # fmt: skip
    rare = {word: some for word, some in places.items() if 0 < len(some) <= _COMMON}
    if rare:
        yield from _ranked(home, sessions, texts, rare, int(of_all), limit)
        return
    common = [set(some) for some in places.values() if some]
    both = set.intersection(*common) if common else set()
    order = [one for some in places.values() for one in some if one in both] or [
        one for some in places.values() for one in some
    ]
    yield from _shown(home, sessions, texts, list(dict.fromkeys(order)), list(places), limit)


def index_some(home: Home, sessions: Sessions, texts: Texts) -> bool:
    """Index some originals that are not indexed yet; False: there were none."""
    who = home.caller.person
    (found,) = home.server.read(home.caller, (_TO_INDEX, (who, home.project, _INDEXED_AT_ONCE)))
    if not found:
        return False
    wanted = [_Where(rows.text_from(bytes(name)), seq, place) for name, seq, place in found]
    read = _read(home, sessions, texts, wanted, only_removed=False)
    updates, tokenizer = [], tokenizer_of(apsw.Connection(":memory:"))
    for one in wanted:
        text = read[one][1] if one in read else None
        hashes = _hashes(home.seal, tokenizer, text) if text else []
        where = (home.project, who, rows.raw(one.session), one.seq, one.place)
        updates.append((_INDEX, (hashes, *where)))
    return any(home.server.write(home.caller, *updates))  # none: another process indexed them meanwhile


def forget_words(home: Home) -> None:
    """Let the next search index all originals of the scope again."""
    home.server.write(home.caller, (_FORGET, (home.caller.person, home.project)))


def _ranked(
    home: Home, sessions: Sessions, texts: Texts, rare: Mapping[Sought, Sequence[_Where]], of_all: int, limit: int
) -> Iterator[Found]:
    promise: dict[_Where, float] = {}
    weights = [weight_of(len(some), of_all) for some in rare.values()]
    for some, weight in zip(rare.values(), weights, strict=True):
        for one in some:
            promise[one] = promise.get(one, 0.0) + weight
    numbered, look = _looked(home, sessions, texts, sorted(promise, key=lambda one: -promise[one]), list(rare), limit)
    sizes = [seen.size for seen in look.seen.values()]
    mean = max(sum(sizes) / max(len(sizes), 1), 1.0)
    scores = {number: score_of(seen, weights, mean) for number, seen in look.seen.items()}
    scores |= {number: promise[where] for number, (where, _, text) in numbered.items() if text is None}
    for number in sorted(scores, key=lambda one: (-scores[one], one))[:limit]:
        where, record, text = numbered[number]
        snippet = look.snippet(number) if text is not None and number in look.seen else _DAMAGED
        yield _found(where, record, snippet, scores[number])


def _shown(
    home: Home, sessions: Sessions, texts: Texts, order: Sequence[_Where], words: Sequence[Sought], limit: int
) -> Iterator[Found]:
    numbered, look = _looked(home, sessions, texts, order, words, limit)
    for number in [one for one in numbered if one in look.seen][:limit]:
        where, record, _ = numbered[number]
        yield _found(where, record, look.snippet(number), 0.0)


def _looked(
    home: Home, sessions: Sessions, texts: Texts, order: Sequence[_Where], words: Sequence[Sought], limit: int
) -> tuple[dict[int, tuple[_Where, Record, bytes | None]], LookedTexts]:
    """Read the first originals of an order, each numbered by its place in it, and look for the words in their texts."""
    read = _read(home, sessions, texts, order[: max(_READ, limit)])
    numbered = {number: (one, *read[one]) for number, one in enumerate(order) if one in read}
    look = LookedTexts(words)
    look.at({number: text or b"" for number, (_, _, text) in numbered.items()}, limit)
    return numbered, look


def _found(where: _Where, record: Record, snippet: str, score: float) -> Found:
    row: Any = record.event.row
    is_kept = record.event.kind == Kind.KEPT
    ref = record.event.key[-1]
    entry_id, kind = (row[3], row[4]) if is_kept else (row[0], row[4])
    return Found(rows.text_from(ref), where.session, rows.text_from(entry_id), rows.text_from(kind), snippet, score)


def _read(
    home: Home, sessions: Sessions, texts: Texts, wanted: Iterable[_Where], *, only_removed: bool = True
) -> dict[_Where, tuple[Record, bytes | None]]:
    """Return originals with their texts; None: a text is damaged. `only_removed`: those that are searched."""
    by_session: dict[str, list[_Where]] = {}
    for one in wanted:
        by_session.setdefault(one.session, []).append(one)
    found: dict[_Where, tuple[Record, bytes | None]] = {}
    for name, some in by_session.items():
        with sessions.read(name) as state:
            records = {one: record for one in some if (record := state.version(one.seq, one.place)) is not None}
            read = texts(home, state, list(records.values()))
            is_gone = removal_from_buffer(state)
            for one, record in records.items():
                if not only_removed or record.event.kind == Kind.ORIGINAL or is_gone(record):
                    found[one] = (record, read.get(record.number))
    return found


def removal_from_buffer(state: SessionState) -> Callable[[Record], bool]:
    """Return a test of an original that is kept: was it removed from the buffer by a decision."""
    removed: dict[bytes, set[bytes]] = {}  # entries, each with the references that decisions name; empty: any
    for one in state.active(Kind.DECISION):
        row = one.event.row
        if row is not None and row[2] == b"pruned":
            removed.setdefault(row[1], set()).add(row[5] or b"")

    def is_gone(record: Record) -> bool:
        row: Any = record.event.row
        is_active = state.find(Kind.KEPT, *record.event.key) is not None
        return is_active and row[2] == b"buffer" and bool(removed.get(row[3], set()) & {b"", row[0]})

    return is_gone


def _hashes(seal: Seal, tokenizer: apsw.FTS5Tokenizer, text: bytes) -> list[int]:
    """Return the keyed hashes of the words of a text, as the full-text index takes them apart."""
    found: Any = tokenizer(text.decode("utf-8", "replace").encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
    stems = {one for _, _, *some in found for one in some}
    return sorted({seal.number(b"word", one.encode()) & 0x7FFFFFFF for one in stems})
