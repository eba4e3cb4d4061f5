"""The texts that replace a finished task's raw logs. Pure; the same values give the same bytes.

Law: everything in a tombstone but its own words is hostile: a task's id, its title, its summary. A text that could be
read as a mark, as another tombstone or as the end of this one is made unreadable before it goes in. A summary comes annotated
and stored, and is otherwise given as it is.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.text.marker import neutralise, safe_id
from undrift.errors import InputError

__all__ = [
    "MOST_SUMMARY_CHARACTERS",
    "RolledTask",
    "assistant_tombstone",
    "clean_summary",
    "is_tombstone",
    "purged_tombstone",
    "roll_up",
    "rolling_tombstone",
    "tool_tombstone",
]

MOST_SUMMARY_CHARACTERS = 16_000
"""A longer summary loses its middle: it would free nothing, and the verdict on it stands at its end."""

_TOOL = "Task {} completed. Raw logs evicted to archive."
_ASSISTANT = "Assistant thinking/text for task {} evicted to save tokens."
_ROLLING = "Task {} in progress. Tool output evicted (Rolling Prune)."
_PURGED = "Task {} completed. Raw logs purged."
_ROLLED = "Finished tasks, rolled up. Raw logs evicted to archive."
_GREP = "Use 'grep' on {} if previous logs are needed."
_RECALL = "Original: undrift recall {}"

_REF = re.compile(r"[0-9a-f]{16}", re.ASCII)
_PLAIN_PATH = re.compile(r"[\w./\\:~@+=, -]{1,4096}")
_CUT = "\n... {:,} characters of this summary left out ...\n"
_ID_PATTERN = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_])?"
_GREP_PATTERN = r"Use 'grep' on [^\n\[\]]+ if previous logs are needed\."
_LINE_PATTERN = rf"\n(?:(?:{_GREP_PATTERN} )?Original: undrift recall [0-9a-f]{{16}}|{_GREP_PATTERN})"

_OPENINGS = (
    "task", "assistantthinking", "finishedtasks", "remembered", "pinned", "activecontext", "sessioncontext"
)  # fmt: skip
_BRACKETS = "[\u2045\u27e6\u2772\u2997\u3010\u3014\u3016\u301a\ufe5d\ufe47\uff3b"
_CLOSING = "\\]\u2046\u27e7\u2773\u2998\u3011\u3015\u3017\u301b\ufe5e\ufe48\uff3d"
_CLOSING_LINE = re.compile(rf"([{_CLOSING}][^\S\n]*+)(?=\n)")
_BRACKET = re.compile(f"[{re.escape(_BRACKETS)}]")
_OPENED = re.compile(rf"(?<!\\)[{re.escape(_BRACKETS)}]")
_CLOSED = re.compile(f"[{_CLOSING}]")
_LINE = re.compile(r"^.{0,120}", re.MULTILINE)
_LOOKED_AT_CHARACTERS = 120
_LIKE = {
    "a": "\u0430\u03b1\u0251", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u03b5", "f": "\u03dd", "g": "\u0261",
    "h": "\u04bb", "i": "\u0456\u0131\u03b9", "k": "\u043a\u03ba", "m": "\u043c\u03bc", "n": "\u0578\u03b7\u043f", "o": "\u043e\u03bf",
    "r": "\u0433\u0280", "s": "\u0455\ua731\u057d", "t": "\u0442\u03c4", "u": "\u03c5\u057d\u1d1c", "y": "\u0443\u03b3\u028f",
    ":": "\u02d0\u0589\u05c3\u2236\ua789\u205a",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RolledTask:
    """One finished task, for one line of `roll_up`.

    `summary`: stored and annotated; its beginning is shown, on one line.
    """

    task_id: str
    title: str
    summary: str
    ref: str = ""


def tool_tombstone(task_id: str, summary: str | None = None, *, ref: str = "", log_path: str = "") -> str:
    """Return the text that replaces a tool result of a finished task. Raises InputError: `ref` is no reference.

    `summary`: only in the last tombstone of its kind; None gives the short form. `ref`: what `recall` takes: 16
    characters of ``[0-9a-f]``; empty if there is none. `log_path`: of the exported log, made of safe or hashed names;
    one that a command line would have to quote is left out. Empty where the log is not exported.
    """
    return _tombstone(_TOOL, task_id, summary, ref, log_path)


def assistant_tombstone(task_id: str, summary: str | None = None, *, ref: str = "", log_path: str = "") -> str:
    """Return the text that replaces an assistant's thinking and texts in a finished task.

    Arguments and errors are those of `tool_tombstone`.
    """
    return _tombstone(_ASSISTANT, task_id, summary, ref, log_path)


def rolling_tombstone(task_id: str, *, ref: str = "", log_path: str = "") -> str:
    """Return the text that replaces an old tool result of an open task."""
    return _tombstone(_ROLLING, task_id, None, ref, log_path)


def purged_tombstone(task_id: str) -> str:
    """Return the text that replaces a task's block whose original was purged."""
    return _tombstone(_PURGED, task_id, None, "", "")


def roll_up(tasks: Sequence[RolledTask], *, summary_characters: int = 160) -> str:
    """Return one list that replaces several old tombstones: a line for each task, oldest first.

    `tasks`: at least one. `summary_characters`: how much of title and of summary a line shows, at least 1. Raises
    InputError: no task, a bad length, or a reference that is none.
    """
    if not tasks or summary_characters < 1:
        raise InputError(f"a roll-up takes at least one task and one character, not {len(tasks)}, {summary_characters}")
    lines = [f"[{_ROLLED}"]
    for task in tasks:
        title, summary = (_one_line(text, summary_characters) for text in (task.title, task.summary))
        parts = [f"- {safe_id(task.task_id)}", f" ({title})" if title else "", f": {summary}" if summary else ""]
        parts.append(f" | undrift recall {_checked(task.ref)}" if task.ref else "")
        lines.append("".join(parts))
    return "\n".join(lines) + "\n]"


def clean_summary(summary: str) -> str:
    """Return a summary that cannot end, open or imitate a tombstone or a marker."""
    if len(summary) > MOST_SUMMARY_CHARACTERS:
        half = MOST_SUMMARY_CHARACTERS // 2
        left = len(summary) - 2 * half
        summary = summary[:half] + _CUT.format(left) + summary[-half:]
    text = neutralise(_visible(summary))
    text = _LINE.sub(_shut_label, _BRACKET.sub(_shut_bracket, text))
    text = _CLOSING_LINE.sub(_shut_end, text)
    return summary if text == summary else text


def is_tombstone(text: str) -> bool:
    """Tell whether a text has the form of a tombstone of ours.

    The form proves nothing: a tool can print it. Ask only about a block of which the store already says that it was
    evicted, to see that it was not changed.
    """
    return _form().fullmatch(text) is not None


def _tombstone(words: str, task_id: str, summary: str | None, ref: str, log_path: str) -> str:
    text = words.format(safe_id(task_id))
    if summary is not None:
        text += f" \nSUMMARY: {clean_summary(summary)}"
    return f"[{text}]{_last_line(ref, log_path)}"


def _last_line(ref: str, log_path: str) -> str:
    hints = []
    if log_path and _PLAIN_PATH.fullmatch(log_path):
        hints.append(_GREP.format(log_path))
    if ref:
        hints.append(_RECALL.format(_checked(ref)))
    return "\n" + " ".join(hints) if hints else ""


def _checked(ref: str) -> str:
    if not _REF.fullmatch(ref):
        raise InputError(f"a reference has 16 characters of 0-9 and a-f, not {ref!r}")
    return ref


def _one_line(text: str, most_characters: int) -> str:
    """Return the beginning of a text on one line, in words that are neutral in a list within brackets."""
    line = " ".join(text[: 4 * most_characters + 400].split())
    line = clean_summary(line).replace("[", "(").replace("]", ")").replace("|", "/")
    return line if len(line) <= most_characters else line[: most_characters - 1].rstrip() + "\u2026"


def _visible(text: str) -> str:
    r"""Return the text with controls, lone surrogates and turned writing as escapes; ``\r\n`` is a line end."""
    text = text.replace("\r\n", "\n") if "\r" in text else text
    return _hidden().sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


@functools.cache
def _hidden() -> re.Pattern[str]:
    return re.compile(
        "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
    )


def _shut_end(found: re.Match[str]) -> str:
    """Put a backslash before a bracket that ends a line and was not opened in it: the tombstone would seem to end."""
    line = found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.end()]
    opened = len(_OPENED.findall(line))
    return found.group() if len(_CLOSED.findall(line)) <= opened else f"\\{found.group()}"


def _shut_bracket(found: re.Match[str]) -> str:
    behind = found.string[found.end() : found.end() + _LOOKED_AT_CHARACTERS]
    return f"\\{found.group()}" if _skeleton(behind).startswith(_OPENINGS) else found.group()


def _shut_label(found: re.Match[str]) -> str:
    """Put a backslash before what a line opens with where that is a label or a hint of ours."""
    line = found.group()
    skeleton = _skeleton(line)
    if skeleton.startswith(("summary:", "original:undriftrecall", "use'grep'on")):
        return f"\\{line}"
    return line


def _skeleton(text: str) -> str:
    """Return what a text looks like: compatible letters in lower case, nothing unseen, no escapes."""
    letters = unicodedata.normalize("NFKD", text).casefold().translate(_like())
    return "".join(c for c in letters if c in ":'" or c.isalpha())


@functools.cache
def _like() -> dict[int, str]:
    return {ord(c): letter for letter, others in _LIKE.items() for c in others}


@functools.cache
def _form() -> re.Pattern[str]:
    said = "|".join(re.escape(words).replace(r"\{\}", _ID_PATTERN) for words in (_TOOL, _ASSISTANT))
    open_task = re.escape(_ROLLING).replace(r"\{\}", _ID_PATTERN)
    one = rf"\[(?:(?:{said})(?: \nSUMMARY: [\s\S]*)?|{open_task})\](?:{_LINE_PATTERN})?"
    purged = re.escape(_PURGED).replace(r"\{\}", _ID_PATTERN)
    return re.compile(rf"{one}|\[{purged}\]|\[{re.escape(_ROLLED)}(?:\n- [^\n]+)+\n\]")
