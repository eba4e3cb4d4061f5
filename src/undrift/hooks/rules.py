"""The rules of a session: a small file in the session's folder, for the hooks that need them at once.

Law: the file is written in one step, bounded and masked, and every value is checked when it is read. It carries what was typed
across compactions, so that a rule stays known when its message lies outside of what is read. If there is too much, each message
and each file keeps its first rules. None of them pushes out those of another.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from undrift.hooks.home import read_small, write_small
from undrift.values.rule import LONGEST_RULE, Rule, RuleOrigin, RuleScope

if TYPE_CHECKING:
    from undrift.core.rules.typed import TypedSaying

__all__ = [
    "BookStamp",
    "KeptRules",
    "count_request",
    "has_changed",
    "load_kept",
    "load_rules",
    "load_rules_and_past",
    "save_rules",
    "stamp_of",
]

_NAME = "rules.json"
_VERSION = 1
_MOST_RULES = 1_800
_MOST_OF_A_FILE = 300
_MOST_TYPED = 1_200
_MOST_HANDED = 100
_MOST_BYTES = 1 << 20
"""A larger file is not read."""

_MOST_LATER = 8
_LONGEST_WHERE = 300
_MOST_REQUESTS = 1_000_000
_ORIGINS, _SCOPES = frozenset(get_args(RuleOrigin)), frozenset(get_args(RuleScope))
_REQUEST = re.compile(r"request (\d{1,9})\b")
_KINDS = frozenset({"rule", "perhaps", "lifts", "limits", "may lift", "said"})


BookStamp = tuple[str, int, int]
"""A file with added and removed rules: its path, the time of its last change in ns, its size in bytes; 0 and 0: it is absent."""


@dataclass(frozen=True, slots=True)
class KeptRules:
    """The content of the file.

    Args:
        rules: The rules that hold, and all else that was typed, in their order.
        typed: The sentences that were typed, in their order.
        requests: The number of messages that were typed.
        removed: The ids of rules that the person removed.
        handed: The rules that the session was handed over with, in their words.
        books: The files of added and removed rules, as they were when they were read.
        known: The ids of added rules that the agent has heard of.
    """

    rules: tuple[Rule, ...] = ()
    typed: tuple["TypedSaying", ...] = ()
    requests: int = 0
    removed: frozenset[str] = frozenset()
    handed: tuple[str, ...] = ()
    books: tuple[BookStamp, ...] = ()
    known: frozenset[str] = frozenset()


def save_rules(folder: Path, kept: KeptRules) -> None:
    """Write the rules of a session, secrets masked; of each message and file the first ones that there is room for.

    Raises OSError: it cannot be written.
    """
    from undrift.core.rules.crowded import first_of_each, first_sayings
    from undrift.core.text.secrets import mask  # only who writes needs it

    def bare(text: str) -> str:
        return mask(text).text[:LONGEST_RULE]

    rules = [_row(rule, bare) for rule in first_of_each(kept.rules, _source, _MOST_OF_A_FILE, _MOST_RULES)]
    typed = [{"text": bare(one.text), "kind": one.kind, "where": one.where} for one in first_sayings(kept.typed)]
    value: dict[str, object] = {
        "version": _VERSION,
        "requests": kept.requests,
        "removed": sorted(kept.removed)[:_MOST_RULES],
        "handed": [bare(text) for text in kept.handed[:_MOST_HANDED]],
        "books": kept.books,
        "known": sorted(kept.known)[:_MOST_RULES],
    }
    most = max(len(rules), len(typed), 1)
    while True:
        value["rules"] = first_of_each(rules, _source_of_row, _MOST_OF_A_FILE, most)
        value["typed"] = first_of_each(typed, _source_of_row, _MOST_OF_A_FILE, most)
        content = json.dumps(value).encode("ascii")
        if len(content) <= _MOST_BYTES or most == 1:
            break
        most = most * 3 // 4
    write_small(folder / _NAME, content)


def load_rules(folder: Path) -> tuple[Rule, ...]:
    """Return the rules that hold; none if there is no such file, and none of a damaged one."""
    return tuple(rule for rule in _rules(_read(folder)) if rule.sure)


def load_rules_and_past(folder: Path) -> tuple[tuple[Rule, ...], frozenset[str]]:
    """Return the rules of a session, and the ids of those typed before the newest message: what they said of one request is over."""
    value = _read(folder)
    count, rules = value.get("requests"), _rules(value)
    numbers = {rule.id: _REQUEST.match(rule.where) for rule in rules if rule.origin == "typed"}
    past = (id_ for id_, found in numbers.items() if found is None or type(count) is not int or int(found[1]) < count)
    return tuple(rule for rule in rules if rule.sure), frozenset(past)


def load_kept(folder: Path) -> KeptRules:
    """Return all that the file holds; of a damaged one what is sound."""
    from undrift.core.rules.typed import TypedSaying

    value = _read(folder)
    rows, requests = value.get("typed"), value.get("requests")
    typed = [
        TypedSaying(row["text"], row["kind"], row["where"])
        for row in (rows[:_MOST_TYPED] if isinstance(rows, list) else ())
        if isinstance(row, Mapping)
        and row.get("kind") in _KINDS
        and all(isinstance(row.get(name), str) and len(row[name]) <= LONGEST_RULE for name in ("text", "where"))
    ]
    count = requests if type(requests) is int and 0 <= requests <= _MOST_REQUESTS else 0
    ids, handed = frozenset(_texts(value, "removed")), tuple(_texts(value, "handed"))[:_MOST_HANDED]
    books, known = _books(value), frozenset(_texts(value, "known"))
    return KeptRules(tuple(_rules(value)), tuple(typed), count, ids, handed, books, known)


def has_changed(folder: Path) -> bool:
    """Tell whether rules were added or removed since the rules of a session were written."""
    return any(stamp_of(Path(book[0])) != book for book in _books(_read(folder)))


def stamp_of(path: Path) -> BookStamp:
    """Return what tells two versions of a file of rules apart."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size


def count_request(folder: Path) -> None:
    """Count one more message that was typed; what else the file holds stays. Raises OSError: it cannot be written."""
    value = {"version": _VERSION, "rules": [], **_read(folder)}
    count = value.get("requests")
    value["requests"] = count + 1 if type(count) is int and 0 <= count < _MOST_REQUESTS else 1
    write_small(folder / _NAME, json.dumps(value).encode("ascii"))


def _read(folder: Path) -> Mapping[str, Any]:
    try:
        value: Any = json.loads(read_small(folder / _NAME) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and value.get("version") == _VERSION else {}


def _books(value: Mapping[str, Any]) -> tuple[BookStamp, ...]:
    given = value.get("books")
    rows = [row for row in (given if isinstance(given, list) else ()) if isinstance(row, list)]
    return tuple((row[0], row[1], row[2]) for row in rows[:2] if list(map(type, row)) == [str, int, int])


def _texts(value: Mapping[str, Any], name: str) -> list[str]:
    given = value.get(name)
    texts = (one for one in (given if isinstance(given, list) else ()) if isinstance(one, str))
    return [one for one in texts if 0 < len(one) <= LONGEST_RULE]


def _rules(value: Mapping[str, Any]) -> list[Rule]:
    rows = value.get("rules")
    found = (_rule(row) for row in (rows[:_MOST_RULES] if isinstance(rows, list) else ()))
    return [rule for rule in found if rule is not None]


def _source(rule: Rule) -> tuple[str, str, bool]:
    """Return the message or file of a rule, and whether it surely is one."""
    return rule.origin, re.split("[,:]", rule.where)[0], rule.sure


def _source_of_row(row: Mapping[str, object]) -> tuple[str, str]:
    return str(row.get("origin")), re.split("[,:]", str(row["where"]))[0]


def _row(rule: Rule, bare: Callable[[str], str]) -> dict[str, object]:
    return {
        "id": rule.id,
        "text": bare(rule.text),
        "origin": rule.origin,
        "where": bare(rule.where)[:_LONGEST_WHERE],
        "scope": rule.scope,
        "later": [bare(text) for text in rule.later[-_MOST_LATER:]],
        "lifts": rule.lifts,
        "sure": rule.sure,
    }


def _rule(row: Any) -> Rule | None:
    """Read one rule; None if it is none of ours."""
    if not isinstance(row, Mapping):
        return None
    texts = [row.get(name) for name in ("id", "text", "where")]
    later = row.get("later", [])
    if row.get("origin") not in _ORIGINS or row.get("scope") not in _SCOPES or not isinstance(later, list):
        return None
    if not all(isinstance(text, str) and text and len(text) <= LONGEST_RULE for text in [*texts, *later]):
        return None
    id_, text, where = map(str, texts)
    lifts, sure = row.get("lifts") is True, row.get("sure") is not False
    return Rule(id_, text, row["origin"], where, row["scope"], tuple(later[-_MOST_LATER:]), lifts, sure)
