"""The rules that hold in a session: a small file in the session's folder, for the hooks that need them at once.

Law: the file is written in one step, bounded and masked, and every value is checked when it is read. It can be made again
from the recording, the project's files and the store, so that losing it loses no rule that they still hold.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from undrift.hooks.home import read_small, write_small
from undrift.values.rule import Rule, RuleOrigin, RuleScope

__all__ = ["load_rules", "save_rules"]

_NAME = "rules.json"
_VERSION = 1
_MOST_RULES = 400
_MOST_CHARACTERS = 1_000
"""The longest text in the file; a rule is a sentence, seldom over 400."""

_MOST_LATER = 8
_LONGEST_WHERE = 300
_ORIGINS, _SCOPES = frozenset(get_args(RuleOrigin)), frozenset(get_args(RuleScope))


def save_rules(folder: Path, rules: Iterable[Rule]) -> None:
    """Write the rules that hold, in their order, secrets masked; the newest 400. Raises OSError: it cannot be written."""
    rows = [_row(rule) for rule in list(rules)[-_MOST_RULES:]]
    value = {"version": _VERSION, "rules": rows}
    write_small(folder / _NAME, json.dumps(value).encode("ascii"))


def load_rules(folder: Path) -> tuple[Rule, ...]:
    """Return the rules that `save_rules` wrote; none if there is no such file, and none of a damaged one."""
    return tuple(rule for row in _rows(folder) if (rule := _rule(row)) is not None)


def _rows(folder: Path) -> list[Any]:
    try:
        value: Any = json.loads(read_small(folder / _NAME) or b"{}")
    except (ValueError, RecursionError):
        return []
    rows = value.get("rules") if isinstance(value, dict) and value.get("version") == _VERSION else None
    return rows[:_MOST_RULES] if isinstance(rows, list) else []


def _row(rule: Rule) -> dict[str, object]:
    from undrift.core.text.secrets import mask  # only who writes needs it

    return {
        "id": rule.id,
        "text": mask(rule.text).text[:_MOST_CHARACTERS],
        "origin": rule.origin,
        "where": mask(rule.where).text[:_LONGEST_WHERE],
        "scope": rule.scope,
        "later": [mask(text).text[:_MOST_CHARACTERS] for text in rule.later[-_MOST_LATER:]],
        "lifts": rule.lifts,
    }


def _rule(row: Any) -> Rule | None:
    """Read one rule; None if it is none of ours."""
    if not isinstance(row, Mapping):
        return None
    texts = [row.get(name) for name in ("id", "text", "where")]
    later = row.get("later", [])
    if row.get("origin") not in _ORIGINS or row.get("scope") not in _SCOPES or not isinstance(later, list):
        return None
    if not all(isinstance(text, str) and text and len(text) <= _MOST_CHARACTERS for text in [*texts, *later]):
        return None
    id_, text, where = map(str, texts)
    return Rule(id_, text, row["origin"], where, row["scope"], tuple(later[-_MOST_LATER:]), row.get("lifts") is True)
