"""The chat history of aider: Markdown, ``.aider.chat.history.md`` in the folder that it runs in. Pure.

Aider appends every chat in a folder to the one file, and each begins with nothing in its context; the chat with the most
answers is read (of equals the later), the lines of the others are counted "line of another chat": copy a chat out of the
file to read it. The file is not looked for: it belongs to a folder, not to the user.

======================================== ====================================================================
lines                                    become
======================================== ====================================================================
``# aider chat started at TIME``         a new chat, and the time of what follows
``#### `` up to two blanks at the end    ``text``, role user; nothing, or "<blank>": counted "empty text"
``> `` up to two blanks at the end,      counted "announcement" a line: shown to the user, never sent; the models
before anything is said in a chat        named in them are the session's
``> `` up to two blanks at the end       ``text``, role user, ``meta: True``: what aider and its commands said
lines behind ``> `` without the blanks,  the same, up to the next two blanks: output that was written in one piece
behind a command or another such line
anything else                            ``text``, role assistant
======================================== ====================================================================

There are no tool calls: aider reads its edits out of the text. Which output reached the model is not recorded (the user is
asked each time), so none of it is a result; what was sent of it for certain, aider repeats behind ``#### ``.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from undrift.transcripts import blocks
from undrift.transcripts.base import Recording
from undrift.transcripts.collect import Collector, RecordPlace

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "aider"

_START = "# aider chat started at "
_SAID = "#### "
_SHOWN = "> "
_END = "  "
_MODEL = re.compile(r"(?:Main model|Models?): (\S+)(?: with |$)")
_SURROGATE = re.compile("[\ud800-\udfff]")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether a chat of aider begins in these lines, or both the user and aider speak in them."""
    rows = [line.rstrip("\r\n") for line in lines]
    if any(row.startswith(_START) for row in rows):
        return True
    marked = [row[:2] for row in rows if row.endswith(_END)]
    said = any(row.startswith(_SAID) and row.endswith(_END) for row in rows)
    return said and _SHOWN in marked


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a chat history of aider; see `Reader.read`."""
    best = chat = _AiderChat(None)
    passed_over = 0
    for number, line in enumerate(lines, 1):
        row = line.rstrip("\r\n").removeprefix("\ufeff")
        if row.startswith(_START):
            chat.flush()
            best, passed_over = _better(best, chat, passed_over)
            chat = _AiderChat(row.removeprefix(_START).strip())
        else:
            chat.take(number, row if row.isascii() else _SURROGATE.sub("\ufffd", row))
    chat.flush()
    best, passed_over = _better(best, chat, passed_over)
    for _ in range(passed_over):
        best.collector.skip("line of another chat")
    return best.collector.recording(count=count)


class _AiderChat:
    """Gathers the lines of one speaker, and hands them over when the next one begins."""

    def __init__(self, stamp: str | None) -> None:
        self.collector = Collector(FORMAT)
        self.answers = self.lines = 0
        self._stamp = stamp
        self._announcing = stamp is not None
        self._speaker = "assistant"
        self._rows: list[str] = []
        self._first = 0
        self._open = False  # whether the last line of `> ` has not come to its two blanks yet

    def take(self, number: int, row: str) -> None:
        """Take one line."""
        self.lines += bool(row.strip())
        if row.startswith(_SAID) and row.endswith(_END):
            self._announcing = self._open = False
            self._put("user", number, row[len(_SAID) : -len(_END)])
        elif row.startswith(_SHOWN) and (row.endswith(_END) or self._shows()):
            self._open = not row.endswith(_END)
            self._shown(number, row[len(_SHOWN) :].removesuffix(_END))
        elif self._open:
            self._open = not row.endswith(_END)
            self._shown(number, row.removesuffix(_END))
        elif row.strip():
            self._announcing = False
            self._put("assistant", number, row)
        elif self._rows and self._speaker == "assistant":
            self._rows.append("")

    def _shows(self) -> bool:
        """Say whether aider is showing something, or the user has just given it a command."""
        commands = self._speaker == "user" and self._rows[0].startswith(("/", "!"))
        return commands or self._speaker == "aider"

    def _shown(self, number: int, text: str) -> None:
        if self._announcing:
            self.collector.skip("announcement")
            named = _MODEL.match(text)
            self.collector.name_model(named.group(1) if named else None)
            self.flush()
            self._speaker = "aider"
        else:
            self._put("aider", number, text)

    def _put(self, speaker: str, number: int, text: str) -> None:
        if speaker != self._speaker:
            self.flush()
            self._speaker = speaker
        if not self._rows:
            self._first = number
        self._rows.append(text)

    def flush(self) -> None:
        """Make one block of the lines of the last speaker."""
        text = "\n".join(self._rows).strip("\n")
        place = RecordPlace(self._first, 0)
        if self._speaker == "user":
            self.collector.add([blocks.text("user", "" if text == "<blank>" else text)], place, self._stamp)
        elif text.strip():
            answers = self._speaker == "assistant"
            self.answers += answers
            part = blocks.text("assistant", text) if answers else blocks.text("user", text, meta=True)
            self.collector.add([part], place, self._stamp)
        self._rows = []
        self._speaker = "assistant"


def _better(best: _AiderChat, chat: _AiderChat, passed_over: int) -> tuple[_AiderChat, int]:
    """Take the chat with more answers, and add the lines of the other to those that are passed over."""
    if chat is best:
        return best, passed_over
    kept, left = (chat, best) if (chat.answers, chat.lines > 0) >= (best.answers, best.lines > 0) else (best, chat)
    return kept, passed_over + left.lines
