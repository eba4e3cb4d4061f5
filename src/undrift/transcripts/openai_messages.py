"""Message lists of chat completions: a JSON array, a request body, or a message or conversation a line. Pure.

`undrift.transcripts.chat` says what messages become. If a file has many conversations (training data, results of a
benchmark), the first is read, and the messages of the others are counted "message of another conversation". The list
stands bare, or under one of `_ARRAYS`; of what stands beside it only the names of the model, the session and the folder
are read, and a ``system`` text, which other providers keep apart from the messages. A tool that is asked for inside a
text stays text here: nothing in the format says that it was one.

Records that are neither message nor conversation are counted "record without messages".
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from undrift.transcripts import chat, conversations
from undrift.transcripts.base import Recording
from undrift.transcripts.collect import Collector
from undrift.transcripts.document import outline

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "openai-messages"

_ARRAYS = ("messages", "traj")
_BEGUN = ({"[].messages"}, {"[].traj"}, {"[].info", "[].reward", "[].task_id"})
"""Keys of an array of conversations; the last are those that tau-bench writes before its messages."""
_SESSIONS = ("session_id", "conversation_id", "instance_id")


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines contain a message or a list of messages."""
    text = "\n".join(lines)
    if '"role"' in text and conversations.begins_with(lines, _ARRAYS, chat.is_message):
        return True
    # of many conversations in one array the first may be longer than what is shown here
    return text.lstrip("\ufeff \t\r\n").startswith("[") and any(keys <= outline(lines) for keys in _BEGUN)


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a list of messages; see `Reader.read`."""
    collector = Collector(FORMAT)
    for key, place, value in conversations.first(collector, lines, _ARRAYS, chat.is_message):
        if key in _ARRAYS or chat.is_message(value):
            stamp = value.get("timestamp") if isinstance(value, dict) else None
            collector.add(chat.parts(value), place, None, at_ms=chat.moment(stamp))
        elif key == "":
            collector.skip("record without messages")
        elif key == "system" and isinstance(value, str | list):
            collector.add(chat.parts({"role": "system", "content": value}), place, None, name="system")
        else:
            _note(collector, key, value)
    return collector.recording(count=count)


def _note(collector: Collector, key: str, value: Any) -> None:
    if key == "model":
        collector.name_model(value)
    elif key in _SESSIONS:
        collector.identify(value, None)
    elif key == "cwd":
        collector.identify(None, value)
