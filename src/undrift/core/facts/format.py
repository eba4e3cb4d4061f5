"""Facts as lines of a prompt. Pure.

Law: a fact is text that an agent wrote, on its way into the prompt of the next one. One fact is one line, of at most 120
characters, and says what it says in the place of data: no line end, no header, no marker and no end of a line of ours can
come out of it. The suffix, which names the task that said it, is always whole.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable

from undrift.core.facts.check import clip_text
from undrift.core.text.marker import neutralise
from undrift.values.facts import SessionFact

__all__ = ["HEADER", "MOST_CHARACTERS", "format_session_facts"]

HEADER = "[Session Context]"
MOST_CHARACTERS = 120
"""The most code points of a line."""

_MOST_ID = 80
_LEAST_SUBJECT = 16
_LEAST_RELATION = 8
_LOOKED_AT = 4 * MOST_CHARACTERS
_LABELS = ("sessioncontext", "begindispatchresult", "enddispatchresult", "taskprompt:", "[task:")
"""Letters that are written as they are in a prompt or a result; between them stands nothing."""
_ALIKE = {
    "a": "\u0430\u03b1\u0251", "b": "\u0432\u03b2\u044c", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u03b5", "g": "\u0261",
    "h": "\u04bb\u043d", "i": "\u0456\u0131\u03b9", "k": "\u043a\u03ba", "l": "\u04cf\u01c0", "m": "\u043c\u03bc", "n": "\u0578\u03b7\u043f\u03bd",
    "o": "\u043e\u03bf\u0585", "p": "\u0440\u03c1", "r": "\u0433\u0280", "s": "\u0455\ua731", "t": "\u0442\u03c4", "u": "\u03c5\u057d\u1d1c",
    "x": "\u0445\u03c7", ":": "\u02d0\u0589\u05c3\u2236\ua789\u205a",
}  # fmt: skip
"""Letters of other alphabets that read as these, in lower case; compatible forms are unfolded before."""
_OPENERS = "[\u27e6\u3010\u3014\u3016\u301a\uff3b\u2045\u2772\u2997\ufe47"


def format_session_facts(
    facts: Iterable[SessionFact], *, max_tokens: int | None = None, chars_per_token: int = 4
) -> str:
    """Return facts as a block of a prompt: the header, then a line for each.

    A line is ``- {subject} {relation} {object} [task:{source_task_id}]``. A longer line loses the end of its object,
    then the middle of its subject, then the end of its relation; never the suffix.

    Args:
        facts: In the order in which they are to stand.
        max_tokens: Of the whole block, as characters over `chars_per_token`, rounded up; the first line that does not
            fit ends it. None: all of them.
        chars_per_token: Above 0.

    Returns:
        Empty if there is no fact, or none that fits.
    """
    lines = [HEADER]
    characters = len(HEADER)
    for fact in facts:
        line = _line(fact)
        characters += 1 + len(line)
        if max_tokens is not None and -(-characters // chars_per_token) > max_tokens:
            break
        lines.append(line)
    return "\n".join(lines) if len(lines) > 1 else ""


def _line(fact: SessionFact) -> str:
    task_id = _middle(_plain(fact.source_task_id).replace("]", ")"), _MOST_ID)
    suffix = f" [task:{task_id}]"
    subject, relation, about = map(_plain, fact.triple)
    room = MOST_CHARACTERS - len("- ") - len(suffix) - len("  ")  # two spaces stand between the three
    about = clip_text(about, max(len("..."), room - len(subject) - len(relation)))
    subject = _middle(subject, max(_LEAST_SUBJECT, room - len(about) - len(relation)))
    relation = clip_text(relation, max(_LEAST_RELATION, room - len(about) - len(subject)))
    return f"- {subject} {relation} {about}{suffix}"


def _middle(text: str, most: int) -> str:
    """Return a text of at most so many characters; of a longer one its middle is left out."""
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"


def _plain(text: str) -> str:
    """Return a text on one line, without what is not seen, and with what looks like a line of ours made plain."""
    seen = "".join(c if c.isprintable() or c.isspace() else _escaped(c) for c in text[:_LOOKED_AT])
    line = neutralise(" ".join(seen.split()))
    return _shut(line)


def _escaped(character: str) -> str:
    """Drop characters that are invisible or turn the writing; keep a lone surrogate and the like as its escape."""
    if unicodedata.category(character) in ("Cc", "Cf"):
        return ""
    return character.encode("unicode_escape").decode("ascii")


def _shut(line: str) -> str:
    """Make plain what reads as a header, a marker, a label or a suffix of ours."""
    skeleton = _skeleton(line)
    if not any(label in skeleton for label in _LABELS):
        return line
    shut = line.translate(_brackets())
    shut = re.sub(r"[_\u203f\uff3f]", "-", shut) if "dispatchresult" in skeleton else shut
    return shut.replace(":", ";") if "taskprompt:" in skeleton else shut


def _skeleton(line: str) -> str:
    letters = unicodedata.normalize("NFKD", line).casefold().translate(_alike())
    return "".join("[" if c in _OPENERS else c for c in letters if c.isalpha() or c in ":[" or c in _OPENERS)


@functools.cache
def _alike() -> dict[int, str]:
    return {ord(c): letter for letter, others in _ALIKE.items() for c in others}


@functools.cache
def _brackets() -> dict[int, str]:
    closers = "]\u27e7\u3011\u3015\u3017\u301b\uff3d\u2046\u2773\u2998\ufe48"
    return {**{ord(c): "(" for c in _OPENERS}, **{ord(c): ")" for c in closers}}
