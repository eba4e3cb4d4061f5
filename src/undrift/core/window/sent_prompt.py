"""The marks of a sent prompt: a short hash of each block, by which it is put together again and checked. Pure.

Law: a mark says nothing of the text but its kind, its hash and its size. White space does not count, because a client's recording
and its requests break the same text at different places. A record names only what changed since the record before it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["SentRecord", "block_mark", "edits_at", "prompt_at", "size_of"]

_SPACE = b" \t\r\n\x0b\x0c"
_DIGEST_BYTES = 8
_SUM_BYTES = 16
_HEX = 2 * _DIGEST_BYTES
_KINDS = {"text": "t", "call": "c", "result": "r", "thinking": "k", "image": "i"}


def block_mark(kind: str, text: str) -> str:
    """Return the mark of a block: a letter for its kind, 16 hexadecimal digits, and its characters.

    >>> block_mark("text", "hello")
    'ta7b6eda801e5347d5'
    """
    bare = text.encode("utf-8", "surrogatepass").translate(None, _SPACE)
    digest = hashlib.blake2b(bare, digest_size=_DIGEST_BYTES).hexdigest()
    return f"{_KINDS.get(kind, 'o')}{digest}{len(text)}"


def size_of(mark: str) -> int:
    """Return the characters of the block that a mark names; 0 if it is damaged."""
    size = mark[1 + _HEX :]
    return int(size) if size.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class SentRecord:
    """One request as it was sent: what changed since an earlier one of its history.

    Args:
        at_ms: When it was sent, in Unix milliseconds.
        tokens: All tokens of the request, by our count.
        fixed_tokens: Those of them that stand beside the history: the system prompt and the tools.
        before: The sum of the record that it follows; empty if it follows none.
        kept: How many items of that record's history it begins with.
        new: The marks of each further item, as the client gave it.
        edits: Number of an item to the marks that were sent in its place; None: it is sent as it was given again.
        last: The chain id of its newest item.
        unknown: How many items at the beginning have no marks, because an earlier process read them.
        sum: The hash of this record and of all before it.
    """

    at_ms: int
    tokens: int
    fixed_tokens: int
    before: str
    kept: int
    new: tuple[tuple[str, ...], ...]
    edits: Mapping[int, tuple[str, ...] | None]
    last: str
    unknown: int = 0
    sum: str = field(default="")

    def summed(self) -> "SentRecord":
        """Return the record with its sum."""
        edits = sorted((number, marks) for number, marks in self.edits.items())
        named = (self.at_ms, self.before, self.kept, self.new, edits, self.last, self.unknown)
        return replace(self, sum=hashlib.blake2b(repr(named).encode(), digest_size=_SUM_BYTES).hexdigest())

    @classmethod
    def of(cls, value: Any) -> "SentRecord":
        """Read a record from JSON values. Raises ValueError: it is damaged, or none of ours."""
        try:
            edits = {int(number): None if marks is None else tuple(marks) for number, marks in value["edits"].items()}
            new = tuple(tuple(marks) for marks in value["new"])
            found = cls(**{**value, "new": new, "edits": edits})
            numbers = (found.at_ms, found.tokens, found.fixed_tokens, found.kept, found.unknown)
            if not all(type(one) is int and one >= 0 for one in numbers) or found.summed().sum != found.sum:
                raise ValueError("the record does not match its sum")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("it is no record of what was sent") from error
        return found


def prompt_at(records: Sequence[SentRecord], sum_: str) -> tuple[tuple[str, ...] | None, ...] | None:
    """Return the marks of each item that a request sent, in order; None for an item without marks.

    `records`: those of a session, in any order. None means: a record that it follows is missing.
    """
    chain, edits = _chain(records, sum_), edits_at(records, sum_)
    if chain is None or edits is None:
        return None
    items: list[tuple[str, ...] | None] = []
    for one in chain:
        items = [*(items[: one.kept] if one.before else [None] * one.unknown), *one.new]
    return tuple(edits.get(number, marks) for number, marks in enumerate(items))


def edits_at(records: Sequence[SentRecord], sum_: str) -> dict[int, tuple[str, ...]] | None:
    """Return the marks that were sent in place of some items, by number. None means: a record is missing."""
    chain = _chain(records, sum_)
    if chain is None:
        return None
    edits: dict[int, tuple[str, ...]] = {}
    for one in chain:
        edits = {number: marks for number, marks in edits.items() if number < one.kept}
        for number, marks in one.edits.items():
            if marks is None:
                edits.pop(number, None)
            else:
                edits[number] = marks
    return edits


def _chain(records: Sequence[SentRecord], sum_: str) -> list[SentRecord] | None:
    """Return the records from the first one of a history to one of them. None means: one is missing."""
    by_sum = {one.sum: one for one in records}
    found: list[SentRecord] = []
    while sum_:
        one = by_sum.pop(sum_, None)
        if one is None:
            return None
        found.append(one)
        sum_ = one.before
    return found[::-1]
