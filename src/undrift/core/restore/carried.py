"""Reads what a session was itself handed over with: the rules, requests and plan of the sessions before it. Pure.

Law: only the first text of the user can be a handoff, before any answer; no text that a client adds is one. Its words were a
person's in an earlier session, and stay what they were.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from undrift.core.restore.stated import Excerpt
from undrift.core.text.safe_lines import label
from undrift.core.text.typed import GAP, user_texts
from undrift.values.rule import LONGEST_RULE, Rule, rule_id
from undrift.values.window import ContextEntry

__all__ = ["TITLE", "carried", "carried_rules", "handed_rules", "heading_of_rule", "rules_of_handoff"]

TITLE = "# Continue the open work of an earlier session (undrift)"
"""The first line of a handoff. A text that begins with it is nothing that the user typed (`core/text/typed.py`)."""

_SECTIONS = {
    "rules": "## Rules that hold",
    "requests": "## What the user said",
    "said": "## What else the user said",
    "steps": "## The plan and its states",
}
_MOST_CHARACTERS = 200_000
_WHERE = "an earlier session"
_GIVEN_AGAIN = ("### file ", "### added, scope project", "### added, scope user")
"""The headings of rules that hold beyond a session: a new one gets them from where they are kept, as long as they are kept."""

_HEADING = re.compile(r"^#{2,3} ", re.MULTILINE)


def carried(entries: Sequence[ContextEntry]) -> Mapping[str, list[Excerpt]]:
    """Return the excerpts by section (``rules``, ``requests``, ``said``, ``steps``); empty lists for a session that was not handed over."""
    found: dict[str, list[Excerpt]] = {name: [] for name in _SECTIONS}
    first = _handed_over(entries)
    if first is None:
        return found
    for section, heading, lines in _sections(first.content):
        title = f"### {heading.lstrip('# ')}" if heading.startswith("### ") else "### earlier"
        shown = "" if section == "steps" else title
        found[section].append(Excerpt(first.id, None, lines, "An earlier session handed it over.", title=shown))
    return found


def carried_rules(entries: Sequence[ContextEntry]) -> tuple[Rule, ...]:
    """Return the rules that a session was handed over with, in their order."""
    first = _handed_over(entries)
    return () if first is None else rules_of_handoff(first.content)


def rules_of_handoff(text: str) -> tuple[Rule, ...]:
    """Return the rules in the text of a handoff that hold for its session alone, in their order; none of another text.

    A cut sentence is no rule.
    """
    if not text.startswith(TITLE):
        return ()
    own = (lines for section, heading, lines in _sections(text) if section == "rules" and not _is_given_again(heading))
    lines = (line.strip() for some in own for line in some)
    whole = (line for line in lines if len(line) <= LONGEST_RULE and not (line.startswith(GAP) or line.endswith(GAP)))
    return handed_rules(whole)


def handed_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Return the words of rules as rules of an earlier session, each once."""
    return tuple(Rule(rule_id(text), text, "typed", _WHERE, "session") for text in dict.fromkeys(texts))


def heading_of_rule(rule: Rule) -> str:
    """Return the heading under which a handoff shows a rule: its source, without the line."""
    if rule.origin == "file":
        return f"### file {label(rule.where.rpartition(':')[0] or rule.where)}"
    if rule.origin == "added":
        return f"### added, scope {rule.scope}"
    return f"### {rule.origin}, {label(rule.where.partition(',')[0])}"


def _is_given_again(heading: str) -> bool:
    return heading.startswith(_GIVEN_AGAIN)


def _handed_over(entries: Sequence[ContextEntry]) -> ContextEntry | None:
    """Return the handoff: what stands in the place of the first text that the user typed, before any answer."""
    typed = next(reversed([*user_texts(entries)]), None)
    for entry in entries:
        about = entry.metadata or {}
        if entry is typed or about.get("role") == "assistant":
            return None
        if about.get("role") != "user" or about.get("kind") != "text" or about.get("meta"):
            continue
        if entry.content.startswith(TITLE):
            return entry
    return None


def _sections(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each part of a section that is carried: the section's name, the part's heading, the lines with words."""
    section = ""
    for part in _parts(text[:_MOST_CHARACTERS]):
        heading, _, body = part.partition("\n")
        if heading.startswith("## "):
            section = next((name for name, words in _SECTIONS.items() if heading.startswith(words)), "")
        lines = [line for line in body.split("\n") if line.strip()]
        if section and lines:
            yield section, heading, lines


def _parts(text: str) -> list[str]:
    """Cut a text at its headings; each part begins with one."""
    starts = [found.start() for found in _HEADING.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
