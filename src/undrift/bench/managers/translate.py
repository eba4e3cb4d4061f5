"""A history in another library's messages, and back.

Law: each message is translated once. A block that the manager left alone comes back as the very object that went in;
another is read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from undrift.bench.managers import Message

__all__ = ["Block", "Piece", "Translated", "given", "joined", "result", "results_first", "spoken", "text"]

Block = dict[str, Any]
Piece = tuple[str, Sequence[Block]]
"""A role, `user` or `assistant`, and blocks of it."""

Write = Callable[[Message], Iterable[tuple[Any, Sequence[Block]]]]
Read = Callable[[Any], Piece]


class Translated:
    """The history as the other library sees it.

    Args:
        write: Gives the library's objects for a message, each with its blocks.
        read: Gives the role and blocks of an object that is not known.
        part: Gives the part of an object that is replaced when the object is changed.
    """

    def __init__(self, write: Write, read: Read, *, part: Callable[[Any], object] = lambda own: own) -> None:
        self.all: list[Any] = []
        self._write = write
        self._read = read
        self._part = part
        self._seen = 0
        self._known: dict[int, tuple[object, Piece]] = {}  # holds the object: so that its identity stays its own
        self._blocks: dict[int, tuple[object, Block]] = {}

    def take(self, messages: Sequence[Message]) -> list[Any]:
        """Translate the messages that are new; give only those."""
        new = []
        for message in messages[self._seen :]:
            for own, blocks in self._write(message):
                part = self._part(own)
                self._known[id(part)] = (part, (message["role"], blocks))
                new.append(own)
        self._seen = len(messages)
        self.all += new
        return new

    def note(self, own: Any, block: Block) -> Any:
        """Remember the block behind a part of an object; give the part."""
        self._blocks[id(own)] = (own, block)
        return own

    def block_of(self, own: Any) -> Block | None:
        """Return the block behind a part. None means: the manager wrote it."""
        known = self._blocks.get(id(own))
        return known[1] if known else None

    def piece_of(self, own: Any) -> Piece:
        """Return the role and blocks of one object."""
        known = self._known.get(id(self._part(own)))
        return known[1] if known else self._read(own)

    def back(self, objects: Iterable[Any]) -> list[Message]:
        """Return the messages that are sent."""
        return joined(map(self.piece_of, objects))


def joined(pieces: Iterable[Piece]) -> list[Message]:
    """Put neighbours of one role into one message, as every client does before it sends them."""
    messages: list[Message] = []
    for role, blocks in pieces:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": list(blocks)})
    return messages


def spoken(blocks: Iterable[Block]) -> str:
    """Return the text of blocks, a line each."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def results_first(message: Message) -> Iterator[tuple[Block, ...]]:
    """Yield each result of a user's message, then what the user says: the order that libraries ask for."""
    for block in message["content"]:
        if block["type"] == "tool_result":
            yield (block,)
    if said := tuple(block for block in message["content"] if block["type"] == "text"):
        yield said


def given(block: Block) -> dict[str, Any]:
    """Return the input of a call as an object."""
    value = block["input"]
    return value if isinstance(value, dict) else {"input": value}


def result(call_id: str, content: str) -> Block:
    """Return the block of a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def text(content: str) -> Block:
    """Return the block of a text."""
    return {"type": "text", "text": content}
