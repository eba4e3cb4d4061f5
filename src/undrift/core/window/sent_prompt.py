"""The marks of a sent prompt: a short hash of each block, by which it is put together again and checked. Pure.

Law: a mark says nothing of the text but its kind, its hash and its size. White space does not count, because a client's recording
and its requests break the same text at different places. A record names only what changed since the record before it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "ID_CHARACTERS",
    "PURGED_MARK",
    "SentItem",
    "SentRecord",
    "block_mark",
    "edits_at",
    "hash_of",
    "own_hash",
    "parts_of",
    "prompt_at",
    "size_of",
]

PURGED_MARK = f"p{'0' * 16}0"
"""The mark of a block whose text was purged."""

ID_CHARACTERS = 12
"""So much of a chain id tells the items of one session apart."""

_SPACE = b" \t\r\n\x0b\x0c"
_DIGEST_BYTES = 8
_SUM_BYTES = 16
_HEX = 2 * _DIGEST_BYTES
_KINDS = {"text": "t", "call": "c", "result": "r", "thinking": "k", "image": "i", "reminder": "s"}
_OPENS, _CLOSES = "<system-reminder>", "</system-reminder>"
_BESIDE = "~"


def block_mark(kind: str, text: str) -> str:
    """Return the mark of a block: a letter for its kind, 16 hexadecimal digits, and its characters.

    A client's reminders in it have marks of their own, behind it: no recording holds them in their place.

    >>> block_mark("text", "hello")
    'ta7b6eda801e5347d5'
    """
    bare, reminders = _apart(text)
    own = [_mark(kind, bare)] if bare.strip() or not reminders else []
    return _BESIDE.join([*own, *(_mark("reminder", one) for one in reminders)])


def parts_of(mark: str) -> tuple[str, tuple[str, ...]]:
    """Return a block's own mark, and those of the reminders in it; the first is empty if it is nothing but reminders."""
    own, *reminders = mark.split(_BESIDE)
    return ("", (own, *reminders)) if own.startswith(_KINDS["reminder"]) else (own, tuple(reminders))


def hash_of(mark: str) -> str:
    """Return the hash in a mark, without kind and size."""
    return mark[1 : 1 + _HEX]


def own_hash(text: str) -> str:
    """Return the hash of a block with this text, without the reminders in it; empty if it is nothing but reminders."""
    return hash_of(parts_of(block_mark("text", text))[0])


def _apart(text: str) -> tuple[str, list[str]]:
    """Return a text without the reminders of a client, and the reminders."""
    if _OPENS not in text:
        return text, []
    bare, reminders, at = [], [], 0
    while (start := text.find(_OPENS, at)) >= 0 and (end := text.find(_CLOSES, start)) >= 0:
        bare.append(text[at:start])
        at = end + len(_CLOSES)
        reminders.append(text[start:at])
    return "".join([*bare, text[at:]]), reminders


def _mark(kind: str, text: str) -> str:
    bare = text.encode("utf-8", "surrogatepass").translate(None, _SPACE)
    digest = hashlib.blake2b(bare, digest_size=_DIGEST_BYTES).hexdigest()
    return f"{_KINDS.get(kind, 'o')}{digest}{len(text)}"


def size_of(mark: str) -> int:
    """Return the characters of the block that a mark names, reminders included; 0 if it is damaged."""
    sizes = (one[1 + _HEX :] for one in mark.split(_BESIDE))
    return sum(int(size) for size in sizes if size.isdecimal())


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
        ids: The beginning of the chain id of each of these items.
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
    ids: tuple[str, ...]
    edits: Mapping[int, tuple[str, ...] | None]
    last: str
    unknown: int = 0
    sum: str = field(default="")

    def summed(self) -> "SentRecord":
        """Return the record with its sum."""
        edits = sorted((number, marks) for number, marks in self.edits.items())
        named = (self.at_ms, self.before, self.kept, self.new, self.ids, edits, self.last, self.unknown)
        return replace(self, sum=hashlib.blake2b(repr(named).encode(), digest_size=_SUM_BYTES).hexdigest())

    @classmethod
    def of(cls, value: Any) -> "SentRecord":
        """Read a record from JSON values. Raises ValueError: it is damaged, or none of ours."""
        try:
            edits = {int(number): None if marks is None else tuple(marks) for number, marks in value["edits"].items()}
            new = tuple(tuple(marks) for marks in value["new"])
            found = cls(**{**value, "new": new, "ids": tuple(value["ids"]), "edits": edits})
            numbers = (found.at_ms, found.tokens, found.fixed_tokens, found.kept, found.unknown)
            is_whole = len(new) == len(found.ids) and all(isinstance(one, str) for one in found.ids)
            if (
                not (is_whole and all(type(one) is int and one >= 0 for one in numbers))
                or found.summed().sum != found.sum
            ):
                raise ValueError("the record does not match its sum")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("it is no record of what was sent") from error
        return found


@dataclass(frozen=True, slots=True)
class SentItem:
    """One item of a prompt that was sent.

    Args:
        id: The beginning of its chain id; empty if an earlier process read it.
        given: The marks of its blocks, as the client gave them; None: they are unknown.
        sent: The marks of what was sent in its place; None: it was sent as it was given.
    """

    id: str
    given: tuple[str, ...] | None
    sent: tuple[str, ...] | None = None

    @property
    def marks(self) -> tuple[str, ...] | None:
        """The marks of what was sent; None: they are unknown."""
        return self.given if self.sent is None else self.sent


def prompt_at(records: Sequence[SentRecord], sum_: str) -> tuple[SentItem, ...] | None:
    """Return the items of a request, in order. None means: a record that it follows is missing.

    `records`: those of a session, in any order.
    """
    chain = _chain(records, sum_)
    if chain is None:
        return None
    edits = _edits(chain)
    items: list[SentItem] = []
    for one in chain:
        kept = items[: one.kept] if one.before else [SentItem("", None)] * one.unknown
        items = [*kept, *(SentItem(id_, marks) for id_, marks in zip(one.ids, one.new, strict=True))]
    return tuple(replace(item, sent=edits.get(number)) for number, item in enumerate(items))


def edits_at(records: Sequence[SentRecord], sum_: str) -> dict[int, tuple[str, ...]] | None:
    """Return the marks that were sent in place of some items, by number. None means: a record is missing."""
    chain = _chain(records, sum_)
    return None if chain is None else _edits(chain)


def _edits(chain: Sequence[SentRecord]) -> dict[int, tuple[str, ...]]:
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
