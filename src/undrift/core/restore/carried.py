"""Reads what a session was itself handed over with: the rules, requests and plan of the sessions before it. Pure.

Law: only the first text of the user can be a handoff. Its words were a person's in an earlier session, and stay what they were.
"""

import re
from collections.abc import Mapping, Sequence

from undrift.core.restore.stated import Excerpt
from undrift.values.rule import Rule, rule_id
from undrift.values.window import ContextEntry

__all__ = ["TITLE", "carried", "carried_rules"]

TITLE = "# Continue the open work of an earlier session (undrift)"
"""The first line of a handoff. A text that begins with it is nothing that the user typed (`core/text/typed.py`)."""

_SECTIONS = {
    "rules": "## Rules that hold",
    "requests": "## What the user said",
    "steps": "## The plan and its states",
}
_MOST_CHARACTERS = 200_000
_FIRST_TEXTS = 8
"""So many texts in the user's name are looked at: clients put their own before the first prompt."""

_HEADING = re.compile(r"^#{2,3} ", re.MULTILINE)


def carried(entries: Sequence[ContextEntry]) -> Mapping[str, list[Excerpt]]:
    """Return the excerpts by section (``rules``, ``requests``, ``steps``); empty lists for a session that was not handed over."""
    found: dict[str, list[Excerpt]] = {name: [] for name in _SECTIONS}
    texts = (one for one in entries if (one.metadata or {}).get("kind") == "text" and _is_users(one))
    first = next(
        (one for _, one in zip(range(_FIRST_TEXTS), texts, strict=False) if one.content.startswith(TITLE)), None
    )
    if first is None:
        return found
    section = ""
    for part in _parts(first.content[:_MOST_CHARACTERS]):
        heading, _, body = part.partition("\n")
        if heading.startswith("## "):
            section = next((name for name, words in _SECTIONS.items() if heading.startswith(words)), "")
        lines = [line for line in body.split("\n") if line.strip()]
        if section and lines:
            title = (
                ""
                if section == "steps"
                else f"### {heading.lstrip('# ')}"
                if heading.startswith("### ")
                else "### earlier"
            )
            found[section].append(Excerpt(first.id, None, lines, "An earlier session handed it over.", title=title))
    return found


def carried_rules(entries: Sequence[ContextEntry]) -> tuple[Rule, ...]:
    """Return the rules that a session was handed over with, in their order."""
    lines = (line for excerpt in carried(entries)["rules"] for line in excerpt.lines)
    return tuple(Rule(rule_id(line), line, "typed", "an earlier session", "session") for line in lines)


def _is_users(entry: ContextEntry) -> bool:
    return (entry.metadata or {}).get("role") == "user"


def _parts(text: str) -> list[str]:
    """Cut a text at its headings; each part begins with one."""
    starts = [found.start() for found in _HEADING.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
