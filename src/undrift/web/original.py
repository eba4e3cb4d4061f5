"""The view of one original: a text that left a window, by pages, and its lines with the words of a search.

Law: secrets are masked before a text is cut, and what is not printable is shown as its escape. A name of a project is only
compared with those of the home: it never becomes a path.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from undrift.core.text.passages import passages
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import GoneError, InputError, RecallError
from undrift.stores.opening import engine_of
from undrift.stores.projects import place_at, user_records
from undrift.values.project import Place
from undrift.values.window import Decision, Original
from undrift.web.left import why_of
from undrift.web.source import PageSource

__all__ = ["REFERENCE", "named_places", "original", "session_keys"]

REFERENCE = re.compile(r"[0-9a-f]{16}", re.ASCII)
_PAGE_CHARACTERS = 20_000
_LINES_CHARACTERS = 2_500
_MOST_QUERY_CHARACTERS = 1_000
_NO_PROJECT = "this home has no such project; search for the text again"


def original(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of an original. `query`: ``project``, ``ref``, ``page`` from 1, ``q``: words to look for in it."""
    key, ref = query.get("project", ""), query.get("ref", "")
    place = named_places(source).get(key)
    if place is None:
        raise InputError(_NO_PROJECT)
    if not REFERENCE.fullmatch(ref):
        raise InputError("a reference has 16 characters from 0 to 9 and a to f; search for the text again")
    found, decision = _stored(source, place, ref)
    text = _printable(mask(found.entry.content).text)
    starts = list(_page_starts(text))
    page = min(len(starts), max(1, int(query["page"]))) if _is_number(query.get("page", "")) else 1
    start = starts[page - 1]
    end = starts[page] if page < len(starts) else len(text)
    lines = passages(text, query.get("q", "")[:_MOST_QUERY_CHARACTERS], most_characters=_LINES_CHARACTERS)
    line_starts = [text.count("\n", 0, one) + 1 for one in starts]
    return {
        "ref": found.ref,
        "project_key": key,
        "project": "" if place.project is None else label(place.project.name),
        "what": label(found.entry.what),
        "session_key": session_keys(source).get(found.session_id.partition(":")[2], ""),
        "at_ms": found.entry.timestamp,
        "tokens": found.entry.token_count,
        "masked": len(found.masked),
        "kind": "" if decision is None else decision.kind,
        "reason": "" if decision is None else label(decision.reason),
        "why": "" if decision is None else why_of(decision),
        "tokens_saved": 0 if decision is None else decision.tokens_saved,
        "characters": len(text),
        "page": page,
        "pages": len(starts),
        "first_line": line_starts[page - 1],
        "text": text[start:end],
        "lines": [{"number": one, "text": line, "page": _page_of(one, line_starts)} for one, line in lines],
    }


def named_places(source: PageSource) -> dict[str, Place]:
    """Return the places of all records by a key for addresses: those of projects, then those for every project."""
    found = {one.records.name: one for one in source.places()}
    here = place_at(source.home)
    if engine_of(here).is_there(here):  # a home that keeps the records of one project
        found["home"] = here
    users = place_at(user_records(next(iter(found.values()), here)))
    if users.records != here.records and engine_of(users).is_there(users):
        found["user"] = users
    return found


def session_keys(source: PageSource) -> dict[str, str]:
    """Return the keys of the recorded sessions by the clients' own ids of them."""
    return {name: one.key for one in source.sessions() for name in (one.key, one.session_id) if name}


def _stored(source: PageSource, place: Place, ref: str) -> tuple[Original, Decision | None]:
    with source.store(place) as store:
        if store is None:
            raise InputError(_NO_PROJECT)
        try:
            found = store.original(ref)
        except GoneError:
            raise
        except RecallError as error:
            raise InputError("this project has no text with this reference; search for the text again") from error
        decision = None
        with suppress(RecallError):
            decision = store.decision(ref)
        return found, decision


def _page_starts(text: str) -> Iterator[int]:
    """Yield where each page begins: behind a line end, unless a line is longer than half a page."""
    start = 0
    yield 0
    while len(text) - start > _PAGE_CHARACTERS:
        end = start + _PAGE_CHARACTERS
        line_end = text.rfind("\n", start + _PAGE_CHARACTERS // 2, end)
        start = end if line_end < 0 else line_end + 1
        yield start


def _page_of(line: int, line_starts: list[int]) -> int:
    return sum(one <= line for one in line_starts) or 1


def _printable(text: str) -> str:
    """Return a text whose characters are all seen, and none of which turns or hides others."""
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else _escape(one) for one in text)


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9
