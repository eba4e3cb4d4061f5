"""Separates the user's typing from pasted text, and from text that a client wrote in the user's name. Pure, and linear.

Law: if it is not certain that the user typed a line, the user did not: a pasted line must not come back as a rule.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import dropwhile

from undrift.core.text.pasted import pasted_lines, without_quotations
from undrift.profiles import is_set_up
from undrift.values.window import ContextEntry

__all__ = ["GAP", "calls_in_text", "typed_and_pasted", "user_texts"]

GAP = "…"
"""Stands where lines are left out."""

_BY_CLIENT = re.compile(
    r"<|# Continue the open work of an earlier session \(undrift\)|\[Request interrupted|\[hook\]|Caveat: |# AGENTS\.md|This session is being continued|Message from agent\b"
    r"|[A-Za-z:]{3,60} hook (?:feedback|error|blocking error|success|additional context|stopped)\b"
)
_LOOKED_AT = 120
_CODE_ENDS = ("```", "~~~", ">", "}", "]")
_CALL_LINE = re.compile(r"^[ ]{0,3}(?:Action(?: Input)?:|</?[a-z]{1,40}_\w{1,40}[ />])", re.IGNORECASE | re.MULTILINE)
# Letters and marks that a screen shows as nothing; the categories of control and format characters are the others.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe0e\ufe0f\uffa0")


def user_texts(entries: Sequence[ContextEntry]) -> Iterator[ContextEntry]:
    """Yield the texts that the user typed, newest first, without those that the client wrote.

    A text beside a tool's result, in one record, is taken for the client's: that is where clients put their own words.
    """
    answering = {place for entry in entries if (place := _record(entry)) and _kind(entry) == "result"}
    for entry in reversed(entries):
        about = entry.metadata or {}
        if about.get("role") != "user" or about.get("kind") != "text" or about.get("meta"):
            continue
        if not entry.content.strip() or _record(entry) in answering:
            continue
        beginning = _beginning(entry.content)
        if not (_BY_CLIENT.match(beginning) or is_set_up(beginning)):
            yield entry


def calls_in_text(text: str) -> bool:
    """Tell whether an agent's text may call a tool by its words: then the next text of the user may be the tool's output.

    Such a text ends in code, or it has a line with ``Action:`` or with the tag of a tool.
    """
    return text.rstrip().endswith(_CODE_ENDS) or _CALL_LINE.search(text) is not None


def typed_and_pasted(text: str) -> tuple[list[str], list[str]]:
    """Split the lines of a user's text into typed lines, and pasted or quoted lines.

    In both lists `GAP` replaces the lines between two of its own. A typed line with a quoted sentence stands in both: as it
    is among the pasted ones, and with `GAP` for the sentence among the typed ones.
    """
    lines = text.strip("\n").split("\n")
    others = pasted_lines(lines)
    typed: list[str] = []
    pasted: list[str] = []
    for index, line in enumerate(lines):
        own, other = (pasted, typed) if index in others else (typed, pasted)
        shown = line if own is pasted else without_quotations(line, GAP)
        own.append(shown)
        if shown != line:
            other.append(line)
        elif other and other[-1] != GAP:
            other.append(GAP)
    return typed, pasted


def _record(entry: ContextEntry) -> tuple[object, object, str] | None:
    """Name the record that an entry is a block of; None if the entry does not say which message it is of."""
    about = entry.metadata or {}
    message = about.get("message")
    return None if message is None else (message, about.get("line"), entry.id.rpartition(":")[0])


def _kind(entry: ContextEntry) -> object:
    return (entry.metadata or {}).get("kind")


def _beginning(text: str) -> str:
    """Give the first characters that can be seen: an unseen one in front hides nothing."""
    seen = "".join(dropwhile(_is_unseen, text))[:_LOOKED_AT]
    return "".join(character for character in seen if character.isspace() or not _is_unseen(character))


def _is_unseen(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] == "C" or character in _BLANK
