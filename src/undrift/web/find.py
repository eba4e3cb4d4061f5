"""The view of a search: sessions, memories and originals that have the words, each with what its permalink needs.

Law: any text is a legal query. A store that cannot be read is named, and hides nothing that another one holds. Texts are
masked before they are cut.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import RecallError, StoreError, UndriftError
from undrift.stores.base import Found
from undrift.stores.contract import Store
from undrift.values.memory import MemoryEntry
from undrift.values.project import Place
from undrift.values.window import Original
from undrift.web.original import REFERENCE, named_places, session_keys
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["find"]

_MOST_ROWS = 60
"""The most rows of a group; the page shows 20 at a time."""

_MOST_NEAR = 5
"""Memories that have none of the words, but a similar meaning."""

_MOST_QUERY_CHARACTERS = 1_000
_MOST_WORDS = 32
_SNIPPET_CHARACTERS = 240
_BEFORE_CHARACTERS = 60
_NAME_CHARACTERS = 200
_MEMORY_ID = re.compile(r"m[0-9a-f]{7,16}", re.ASCII)


class _Hit(NamedTuple):
    """A memory that was found. `fit` compares hits of several stores, which their scores do not."""

    entry: MemoryEntry
    fit: float
    has_words: bool


def find(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what has the words of a query, by groups. `query`: ``q``; an empty one finds nothing."""
    asked = _cleaned(query.get("q", ""))
    words = list(dict.fromkeys(asked.casefold().split()))[:_MOST_WORDS]
    unread: dict[str, None] = {}
    places = named_places(source) if words else {}
    return {
        "query": asked,
        "words": words,
        "sessions": _sessions(source, words) if words else [],
        "memories": _memories(source, places, asked, words, unread),
        "originals": _originals(source, places, asked, unread),
        "unread": list(unread),
    }


def _cleaned(text: str) -> str:
    """Return a query in one line, without what cannot be searched."""
    plain = text[:_MOST_QUERY_CHARACTERS].encode("utf-8", "replace").decode()
    return " ".join("".join(one if one.isprintable() else " " for one in plain).split())


def _sessions(source: PageSource, words: list[str]) -> list[dict[str, Any]]:
    """Return the sessions whose title, project, folder, client, model and key together have all words, newest first."""
    rows = []
    for one in source.sessions():
        row = _session_row(source, one)
        text = " ".join((*map(str, row.values()), one.format, one.session_id)).casefold()
        if all(word in text for word in words):
            rows.append(row)
    return rows[:_MOST_ROWS]


def _session_row(source: PageSource, one: WatchedSession) -> dict[str, Any]:
    return {
        "key": one.key,
        "name": source.named(one.title),
        "client": one.client,
        "project": label(one.project, _NAME_CHARACTERS),
        "folder": label(one.folder, _NAME_CHARACTERS),
        "model": label(one.model, _NAME_CHARACTERS),
        "last_ms": one.last_ms,
    }


def _memories(
    source: PageSource, places: Mapping[str, Place], asked: str, words: list[str], unread: dict[str, None]
) -> list[dict[str, Any]]:
    """Return the memories that fit a query, as each project's newest session finds them; those with its words first."""
    hits: dict[str, tuple[Place, _Hit]] = {}
    for place in places.values():
        try:
            for hit in _remembered(source, place, asked):
                hits.setdefault(hit.entry.id, (place, hit))
        except UndriftError:
            unread[_name(place)] = None
    best = sorted(hits.values(), key=lambda one: -one[1].fit)
    worded = [one for one in best if one[1].has_words][:_MOST_ROWS]
    near = [one for one in best if not one[1].has_words][:_MOST_NEAR]
    return [_memory_row(place, hit, words) for place, hit in (*worded, *near)]


def _remembered(source: PageSource, place: Place, asked: str) -> Iterator[_Hit]:
    """Yield the memories of a project that fit a query; one whose id begins with the query fits best."""
    with source.store(place) as store:
        newest = None if store is None else store.newest_session()
    if newest is None:
        return
    with source.opened(newest, place) as opened:
        if _MEMORY_ID.fullmatch(asked):
            yield from (
                _Hit(entry, math.inf, has_words=True) for entry in opened.memories() if entry.id.startswith(asked)
            )
        for one in opened.search(asked, k=_MOST_ROWS):
            coverage = one.why.get("coverage", 0.0)
            yield _Hit(one.entry, coverage + one.why.get("similarity", 0.0), has_words=coverage > 0)


def _memory_row(place: Place, hit: _Hit, words: list[str]) -> dict[str, Any]:
    entry = hit.entry
    return {
        "id": entry.id,
        "text": _snippet(entry.content, words),
        "type": entry.type,
        "trust": entry.trust,
        "scope": entry.scope,
        "project": "" if entry.scope == "user" else _name(place),
        "at_ms": entry.valid_from_ms,
        "is_superseded": entry.is_contradicted,
        "is_near": not hit.has_words,
    }


def _originals(
    source: PageSource, places: Mapping[str, Place], asked: str, unread: dict[str, None]
) -> list[dict[str, Any]]:
    """Return the removed texts of all projects that have some of the words, best first."""
    hits: list[tuple[str, Found]] = []
    for key, place in places.items():
        try:
            with source.store(place) as store:
                if store is not None:
                    hits += ((key, one) for one in _removed(store, asked))
        except StoreError:
            unread[_name(place)] = None
    alike: dict[str, list[tuple[str, Found]]] = {}
    for hit in sorted(hits, key=lambda one: -one[1].score):
        alike.setdefault(hit[1].snippet, []).append(hit)
    groups = list(alike.values())[:_MOST_ROWS]
    texts = _texts(source, places, [group[0] for group in groups])
    sessions = session_keys(source)
    return [_original_row(places, group, texts, sessions) for group in groups]


def _removed(store: Store, asked: str) -> Iterator[Found]:
    """Yield what a search of a store found; a query that is a reference finds its text first."""
    if REFERENCE.fullmatch(asked) and (text := _text(store, asked)) is not None:
        shown = mask(text.entry.content).text
        yield Found(text.ref, text.session_id, text.entry.id, text.entry.type, shown[:_SNIPPET_CHARACTERS], math.inf)
    yield from store.find(asked, limit=_MOST_ROWS)


def _texts(source: PageSource, places: Mapping[str, Place], hits: list[tuple[str, Found]]) -> dict[str, Original]:
    """Return the originals of hits by reference; one that cannot be read is left out. Each store is opened once."""
    found: dict[str, Original] = {}
    for key in dict.fromkeys(key for key, _ in hits):
        with source.store(places[key]) as store:
            refs = [one.ref for other, one in hits if other == key]
            texts = [] if store is None else [_text(store, ref) for ref in refs]
            found |= {text.ref: text for text in texts if text is not None}
    return found


def _text(store: Store, ref: str) -> Original | None:
    try:
        return store.original(ref)
    except (RecallError, StoreError):
        return None


def _original_row(
    places: Mapping[str, Place],
    group: list[tuple[str, Found]],
    texts: Mapping[str, Original],
    sessions: Mapping[str, str],
) -> dict[str, Any]:
    (key, one), text = group[0], texts.get(group[0][1].ref)
    return {
        "ref": one.ref,
        "project_key": key,
        "project": _name(places[key]),
        "session_key": sessions.get(one.session_id.partition(":")[2], ""),
        "what": label(one.type if text is None else text.entry.what, _NAME_CHARACTERS),
        "snippet": label(mask(one.snippet).text, _SNIPPET_CHARACTERS),
        "at_ms": 0 if text is None else text.entry.timestamp,
        "tokens": None if text is None else text.entry.token_count,
        "alike": len(group) - 1,
    }


def _name(place: Place) -> str:
    return "" if place.project is None else label(place.project.name, _NAME_CHARACTERS)


def _snippet(text: str, words: list[str]) -> str:
    """Return the part of a text around the first of the words, in one line and without secrets."""
    line = " ".join(mask(text).text.split())
    folded = line.casefold()
    at = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = at - _BEFORE_CHARACTERS if at > _SNIPPET_CHARACTERS // 2 else 0
    return ("…" if start else "") + label(line[start:], _SNIPPET_CHARACTERS)
