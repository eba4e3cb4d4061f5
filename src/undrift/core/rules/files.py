"""Finds the rules in a file that a project or a person keeps for agents: CLAUDE.md, AGENTS.md. Pure.

Law: linear in the text. A rule is a sentence of the file, word for word; code, tables and pictures of folders hold none.
"""

import re
from collections.abc import Iterator

from undrift.core.rules.judge import kind_of_sentence
from undrift.core.rules.spoken import SpokenSentence, announces_rules, is_item, sentences_of
from undrift.values.rule import Rule, RuleScope, rule_id

__all__ = ["file_rules", "imported_paths"]

_MOST_CHARACTERS = 200_000
"""The part of a file that counts."""

_MOST_IMPORTS = 20
_FENCE = re.compile(r"^\s{0,12}(?:`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_NO_SENTENCE = re.compile(r"^\s{0,12}(?:\||<|[│├└]|!?\[[^\]]{0,200}\]\(|@\S+\s*$)")
_BULLET = re.compile(r"^\s{0,24}(?:[-*+•]|\(?\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_MARKS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_IMPORT = re.compile(r"(?:^|\s)@(~?[\w./-]{1,200}\.[A-Za-z0-9]{1,8})(?=[\s,;:)]|\.?$)", re.MULTILINE)
_ORDERS = re.compile(
    r"^(?:use|run|prefer|keep|write|add|follow|ensure|make sure|check|put|place|name|start|begin|read|update|document|test|commit|import|export"
    r"|avoid|ask|return|handle|wrap|mark|include|place|create|only|always|never|no|do not|don'?t|must|all|every|each)\b",
    re.IGNORECASE,
)


def file_rules(text: str, path: str, scope: RuleScope = "project") -> tuple[Rule, ...]:
    """Return the rules of a file in its order, each once.

    Args:
        text: The file's text; its first 200,000 characters count.
        path: The name by which a person finds the file, such as ``CLAUDE.md`` or ``docs/AGENTS.md``.
        scope: ``project``, or ``user`` for the file that a person has for all projects.
    """
    found: dict[str, Rule] = {}
    announced = False
    for number, line in _lines(text[:_MOST_CHARACTERS]):
        if _HEADING.match(line):
            announced = announces_rules(line)
            continue
        listed = is_item(line)
        for sentence in sentences_of(_BULLET.sub("", line)):
            plain = _MARKS.sub("", sentence)
            under = announced and listed and _ORDERS.match(plain) is not None
            if kind_of_sentence(SpokenSentence(plain, number, under)) == "rule":
                rule = Rule(rule_id(sentence), sentence, "file", f"{path}:{number}", scope)
                found.setdefault(rule.id, rule)
    return tuple(found.values())


def imported_paths(text: str) -> tuple[str, ...]:
    """Return the paths that a file imports (``@docs/style.md``), as written, each once; at most 20."""
    lines = "\n".join(line for _, line in _lines(text[:_MOST_CHARACTERS], with_imports=True))
    return tuple(dict.fromkeys(_IMPORT.findall(lines)))[:_MOST_IMPORTS]


def _lines(text: str, *, with_imports: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines with words outside of code, with their numbers; a sentence over several lines is one."""
    fenced = False
    held: tuple[int, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        is_fence = _FENCE.match(line) is not None
        fenced = fenced != is_fence
        begins = (
            not line.strip()
            or is_fence
            or fenced
            or _HEADING.match(line)
            or _BULLET.match(line)
            or _NO_SENTENCE.match(line)
        )
        if held is not None and begins:
            yield held
            held = None
        if is_fence or fenced or not line.strip() or (_NO_SENTENCE.match(line) and not with_imports):
            continue
        if _HEADING.match(line):
            yield number, line
        elif held is None:
            held = (number, line.rstrip())
        else:
            held = (held[0], f"{held[1]} {line.strip()}")
    if held is not None:
        yield held
