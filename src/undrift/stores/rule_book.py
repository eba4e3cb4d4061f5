"""The rules that a person added by a command, and those that a person removed: a small file beside the store.

Law: replaced in one step, readable by its owner alone, bounded; the caller masks. A removed rule is kept as its id, not as its words.
A damaged file holds nothing. Every value is checked when it is read.
"""

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undrift.stores.faults import from_system
from undrift.stores.files import make_folder, replace_file
from undrift.stores.projects import user_records
from undrift.values.project import Place
from undrift.values.rule import LONGEST_RULE, Rule, RuleScope, rule_id

__all__ = ["BookedRule", "RuleBook", "added_rules", "book_of", "book_paths", "is_removed", "keep_book"]

_NAME = "rules.json"
_MOST = 500
_MOST_BYTES = 1 << 20
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class BookedRule:
    """One entry. `text`: of an added rule; empty for a removed one. `session`: of the scope ``session``, else empty."""

    id: str
    text: str
    scope: RuleScope
    session: str = ""


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The entries of a project, or of a person in all projects; oldest first."""

    added: tuple[BookedRule, ...] = ()
    removed: tuple[BookedRule, ...] = ()


def book_of(place: Place, scope: RuleScope) -> RuleBook:
    """Return the entries for a scope's folder: a project's, or with ``user`` those for all projects."""
    try:
        descriptor = os.open(
            _path(place, scope), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError:
        return RuleBook()
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    try:
        value: Any = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        return RuleBook()
    if not isinstance(value, dict) or value.get("version") != 1:
        return RuleBook()
    return RuleBook(_entries(value.get("added"), text=True), _entries(value.get("removed"), text=False))


def book_paths(place: Place) -> tuple[Path, Path]:
    """Return the two files: of the person, and of the project. Either may be absent."""
    return _path(place, "user"), _path(place, "project")


def keep_book(place: Place, scope: RuleScope, book: RuleBook) -> None:
    """Write the entries; the newest 500 of each kind. Raises StoreError: the system refuses."""
    path = _path(place, scope)
    value = {"version": 1, "added": _rows(book.added), "removed": _rows(book.removed)}
    try:
        make_folder(path.parent)
        replace_file(path, json.dumps(value).encode("ascii"))
    except OSError as error:
        raise from_system(error, path) from error


def added_rules(place: Place, session: str) -> tuple[Rule, ...]:
    """Return the added rules that hold in a session: of the person, of the project, of the session, in this order."""
    found = [*_in_reach(book_of(place, "user").added, session), *_in_reach(book_of(place, "project").added, session)]
    rules = {one.id: Rule(one.id, one.text, "added", "undrift rules add", one.scope) for one in found}
    return tuple(sorted(rules.values(), key=lambda rule: ("user", "project", "session").index(rule.scope)))


def is_removed(place: Place, session: str) -> frozenset[str]:
    """Return the ids of the rules that a person removed, for a session."""
    books = (book_of(place, "user"), book_of(place, "project"))
    return frozenset(one.id for book in books for one in _in_reach(book.removed, session))


def _in_reach(entries: Iterable[BookedRule], session: str) -> list[BookedRule]:
    return [one for one in entries if one.scope != "session" or one.session == session]


def _path(place: Place, scope: RuleScope) -> Path:
    return (user_records(place) if scope == "user" else place.records) / _NAME


def _rows(entries: Iterable[BookedRule]) -> list[dict[str, str]]:
    rows = [{"id": one.id, "text": one.text, "scope": one.scope, "session": one.session} for one in entries]
    return rows[-_MOST:]


def _entries(value: Any, *, text: bool) -> tuple[BookedRule, ...]:
    rows = value[-_MOST:] if isinstance(value, list) else []
    return tuple(one for row in rows if (one := _entry(row, text=text)) is not None)


def _entry(row: Any, *, text: bool) -> BookedRule | None:
    """Read an entry; None if it is none of ours."""
    if not isinstance(row, dict) or row.get("scope") not in ("session", "project", "user"):
        return None
    given = [row.get("text"), row.get("id"), row.get("session", "")]
    if not all(isinstance(one, str) for one in given):
        return None
    words, id_, session = map(str, given)
    if (
        len(words) > LONGEST_RULE
        or len(session) > _LONGEST_NAME
        or not 0 < len(id_) <= _LONGEST_NAME
        or text != bool(words)
    ):
        return None
    return BookedRule(rule_id(words) if text else id_, words if text else "", row["scope"], session)
