"""Finds the texts that the model reads in a request body, with their tokens; each block is read one time.

A session of a thousand turns sends its first block a thousand times. Untouched blocks are the very objects
of the history, so they are known by identity.
"""

from collections.abc import Callable, Mapping
from typing import Any

from undrift.recordings.replay.history import ReplayedHistory
from undrift.wire import anthropic

__all__ = ["ReplayTexts", "Text"]

Text = tuple[str, int]
"""A text as the model reads it, and its tokens."""


class ReplayTexts:
    """The texts of a history and of its windows, with their tokens.

    `history`: kept, and its blocks with it; hence identities stay true.
    """

    def __init__(self, history: ReplayedHistory, count: Callable[[str], int]) -> None:
        self._history = history
        self._count = count
        self._edited: dict[str, int] = {}
        self._blocks: dict[int, Text] = {}
        self._messages: dict[int, list[Text]] = {}
        self.system: tuple[Text, ...] = tuple((entry.content, count(entry.content)) for entry in history.system)
        for message, entries in zip(history.messages, history.entries, strict=True):
            tokens = [
                count(b.text if b.counted is None else b.counted) for b in anthropic.read(message, "messages").blocks
            ]
            texts = [(entry.content, number) for entry, number in zip(entries, tokens, strict=True)]
            self._messages[id(message)] = texts
            self._blocks.update(zip(map(id, message["content"]), texts, strict=True))

    def of_message(self, message: Mapping[str, Any]) -> list[Text]:
        """Return the texts of a message, original or edited."""
        known = self._messages.get(id(message))
        return known if known is not None else [self.of_block(block) for block in message["content"]]

    def of_body(self, body: Mapping[str, Any]) -> list[Text]:
        """Return every text that is sent, in order."""
        texts = list(self.system)
        for message in body["messages"]:
            texts += self.of_message(message)
        return texts

    def of_block(self, block: Any) -> Text:
        """Return the text of a block, original or edited."""
        known = self._blocks.get(id(block))
        if known is not None:
            return known
        (read,) = anthropic.read({"role": "user", "content": [block]}, "messages").blocks
        text = read.text if read.counted is None else read.counted
        if text not in self._edited:
            self._edited[text] = self._count(text)
        return text, self._edited[text]
