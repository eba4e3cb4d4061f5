"""Finds the lines of a user's text that the user did not type: fences, quotations, logs, mails, what a sentence introduces.

Law: pure, and linear in the text. A sign is enough; a line without any counts as typed.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise

__all__ = ["pasted_lines", "without_quotations"]

_SEEN_CHARACTERS = 400
"""The part of a line where signs are looked for: a line can be a whole file."""

_FENCE = re.compile(r"`{3,}|~{3,}")
_TAG = re.compile(r"\s{0,3}<[A-Za-z][\w-]{0,40}[^<>]{0,200}>")
_CLOSING_TAG = re.compile(r"</[A-Za-z][\w-]{0,40}>")
_ONE_LINE = re.compile(
    r"""\s{0,3}(?:
        [>\uff1e»│]                                                            # quotations, and boxes of terminals
      | \|.{0,300}\|                                                     # tables
      | [+]\s | [+-]{3}\s\S | @@                                           # patches
      | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d | \[?\d\d:\d\d:\d\d             # log lines: a time,
      | (?:\[(?:error|warn(?:ing)?|info|debug|trace|fatal|critical|hook)\]
          | (?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)[:|])  # or a level
    )""",
    re.VERBOSE,
)
_TO_THE_END = re.compile(
    r"""\s{0,3}(?:
        \[Pasted\ text | Contents\ of\ .{1,200}:\s*$ | (?:From|Subject|Author|Date|Assignee|Reporter|Priority|Severity|Status):\ | commit\ [0-9a-f]{6,40}\s*$
      | On\ .{1,200}\ wrote:\s*$ | diff\ --git\ | Traceback\ \(most | Message\ from\ | [$\u276f⏺⎿]\s+\S
      | (?:Human|User|Assistant|AI|System|Developer):\s | \w{1,40}@[\w.-]{1,80}[:\ ]\S{0,200}[$#]\s
      | (?i:\[[\w-]{1,60}\ for\ .{1,200}\]\ Result: | Observation: | Observed\ output\b | Execution\ results?\ of\b
          | \[Command\ finished\b | Search\ results:?\s*$ | (?:Output|Context|Document\ \d{1,3}):?\s*$
          | This\ is\ the\ context\b | Context\ information\b | exitcode:\s )
    )""",
    re.VERBOSE,
)
"""After one of these, nothing says where the user's own words begin again."""

_WORD = re.compile(r"[a-z']{2,20}+")
_SENTENCE = re.compile(r"[.!?]\s")
_OTHERS_TEXT = frozenset(
    {"answer", "article", "chat", "comment", "comments", "conversation", "diff", "documentation", "email", "error"}
    | {"errors", "excerpt", "feedback", "guide", "issue", "log", "logs", "mail", "manual", "message", "output", "page"}
    | {"paste", "patch", "post", "reply", "report", "response", "review", "reviews", "snippet", "ticket", "trace"}
    | {"traceback", "transcript", "tutorial", "website", "wiki"}
)
_BROUGHT = frozenset({"copied", "filed", "pasted", "posted", "received", "reported", "sent", "wrote"})
_COPIED = frozenset({"copied", "forwarded", "pasted", "verbatim"})
_POINTS_AT = frozenset({"following", "from", "get", "got", "here", "here's", "see", "these", "this"})
_SAYS = frozenset({"reads", "said", "says", "states", "writes", "wrote"})

_QUOTATION = re.compile(r'"[^"]{40,}"|“[^“”]{40,}”|«[^«»]{40,}»|„[^„“”]{40,}[“”]')
_SAID = re.compile(
    r"((?<!\bi )\b(?:answered|replied|said|says|sent|told|writes|wrote)\b[^:.!?,]{0,30}(?::|, quote,)\s)(.{40,})",
    re.IGNORECASE,
)
_INDENTED = re.compile(r" {4}|\t")


def pasted_lines(lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that were pasted or quoted.

    Pasted text can hold fences and tags itself. So all from the first fence to the last one counts as pasted, and all up
    to the end if one is left open; the same holds for tags.
    """
    found = _between(len(lines), [len(_FENCE.findall(line)) for line in lines])
    found |= _tagged(lines)
    was_empty, was_indented = True, False
    for number, line in enumerate(lines):
        seen = line[:_SEEN_CHARACTERS]
        is_indented = bool(_INDENTED.match(seen)) and (was_empty or was_indented)
        if is_indented or _ONE_LINE.match(seen):
            found.add(number)
        if number not in found and _TO_THE_END.match(seen):
            return found.union(range(number, len(lines)))
        if number not in found and _introduces(lines, number):
            return found.union(range(number + 1, len(lines)))
        was_empty, was_indented = not line.strip(), is_indented or (was_indented and not line.strip())
    return found


def without_quotations(line: str, gap: str) -> str:
    """Return a line with `gap` for each sentence between quotation marks, and for all that another said behind a colon."""
    return _SAID.sub(rf"\1{gap}", _QUOTATION.sub(lambda found: found[0][0] + gap + found[0][-1], line))


def _introduces(lines: Sequence[str], number: int) -> bool:
    """Tell whether a line says that another's text follows: in a paragraph of its own, or behind a colon."""
    line = lines[number][-_SEEN_CHARACTERS:].rstrip()
    if number + 1 >= len(lines) or not (line.endswith(":") or not lines[number + 1].strip()):
        return False
    words = _WORD.findall(line.lower())
    if not _COPIED.isdisjoint(words) or ("copy", "it") in pairwise(words):
        return True
    if not line.endswith(":"):
        return any(_brings(sentence, _BROUGHT) for sentence in _SENTENCE.split(line))
    if words and words[-1] in _SAYS | _OTHERS_TEXT:
        return True
    return _brings(line, _BROUGHT | _POINTS_AT)


def _brings(text: str, signs: AbstractSet[str]) -> bool:
    """Tell whether a sign stands before the name of a kind of text: ``they sent this mail``.

    Without a colon both stand in one sentence: who speaks of a log does not show one.
    """
    words = _WORD.findall(text.lower())
    named = next((place for place, word in enumerate(words) if word in _OTHERS_TEXT), None)
    return named is not None and not signs.isdisjoint(words[:named])


def _between(count: int, signs: Sequence[int]) -> set[int]:
    """Return all from the first sign to the last, or to the end if their number is odd."""
    signed = [index for index, number in enumerate(signs) if number]
    if not signed:
        return set()
    return set(range(signed[0], count if sum(signs) % 2 else signed[-1] + 1))


def _tagged(lines: Sequence[str]) -> set[int]:
    """Return all from the first line that begins with a tag to the last that closes one, or to the end."""
    first = next((number for number, line in enumerate(lines) if _TAG.match(line[:_SEEN_CHARACTERS])), None)
    if first is None:
        return set()
    closing: Iterable[int] = (n for n in range(len(lines) - 1, first - 1, -1) if _CLOSING_TAG.search(lines[n]))
    last = next(chain(closing, [len(lines) - 1]))
    return set(range(first, last + 1))
