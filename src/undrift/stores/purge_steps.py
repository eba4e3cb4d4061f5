"""A large purge in short transactions: all but a rest, which the last one deletes with the operation that says so.

Law: other processes write between the steps, and each leaves a whole store. A purge that ends in the middle is continued by
the same purge again.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

import apsw

from undrift.errors import StoreError
from undrift.stores import search
from undrift.stores.cleaning import PAUSE_S, securely
from undrift.stores.indexing import Use
from undrift.stores.memory_values import Heir
from undrift.stores.mentions import thin_log
from undrift.stores.migrations import transaction
from undrift.stores.purge import Doomed, delete_records, destroy_memories, destroy_originals, in_order, numbers_of
from undrift.stores.segments import texts
from undrift.values.window import Decision

__all__ = ["in_steps", "originals_in_steps"]

T = TypeVar("T")

_ROWS = 200
_TEXTS = 20
"""Rows that a transaction deletes at most; the last one may have as many of each kind left."""
_PART_BYTES = 8_000
"""Bytes of text whose words leave the index in one transaction, at first: some hundredths of a second."""
_LEAST_BYTES, _MOST_BYTES = 1_000, 64_000
_SOON_S, _LATE_S = 0.02, 0.05
"""Seconds of a step; a quicker one lets the next one take twice as much, a slower one half."""


def in_steps(use: Use, found: Doomed, blank: Callable[[Decision], Decision], heir: Heir | None = None) -> Counter[str]:
    """Delete all but a rest; return the numbers of deleted records, by table. Small data stays whole."""
    steps, removed = _Steps(use), Counter[str]()
    for table in reversed(list(found.records)):  # tags before their tasks
        for _ in range(found.records[table] // _ROWS):
            removed[table] += steps.run(partial(delete_records, aim=found.aim, table=table, most=_ROWS))
    for refs in _without_words(use, steps, found.refs)[:-1]:
        steps.run(partial(destroy_originals, refs=refs, blank=blank))
    for ids in _batches(sorted(found.memories), _ROWS)[:-1]:
        steps.run(partial(destroy_memories, ids=ids, whose=found.whole_session, heir=heir))
    names = found.refs | found.memories
    for seqs in _batches(sorted(found.mentions.operations), _ROWS)[:-1]:
        known = found.mentions._replace(operations=frozenset(seqs))
        steps.run(partial(thin_log, names=names, known=known, whose=found.whole_session, is_part=True))
    return removed


def originals_in_steps(use: Use, refs: Collection[str], blank: Callable[[Decision], Decision]) -> None:
    """Delete all of these originals, with their words and those of decisions about them."""
    steps = _Steps(use)
    for some in _without_words(use, steps, refs):
        steps.run(partial(destroy_originals, refs=some, blank=blank))


def _without_words(use: Use, steps: "_Steps", refs: Collection[str]) -> list[Sequence[str]]:
    """Remove words of originals from the index; return their references, in parts for one transaction each."""
    with use() as connection:
        numbers, ordered = numbers_of(connection, refs), in_order(connection, refs)
    steps.take_out_words(numbers)
    return _batches(ordered, _ROWS)


class _Steps:
    """Transactions with time for other processes between them."""

    def __init__(self, use: Use) -> None:
        self._use = use
        self._part_bytes = _PART_BYTES
        self._waiting: list[tuple[int, bytes, bool]] = []
        self._is_begun = False

    def run(self, act: Callable[[apsw.Connection], T]) -> T:
        """Act in one transaction, and let the next one take more or less with regard to the time."""
        with self._use() as connection, securely(connection), transaction(connection):
            began = time.monotonic()
            done = act(connection)
            seconds = time.monotonic() - began
        if seconds > _LATE_S:
            self._part_bytes = max(self._part_bytes // 2, _LEAST_BYTES)
        elif seconds < _SOON_S:
            self._part_bytes = min(self._part_bytes * 2, _MOST_BYTES)
        time.sleep(PAUSE_S)
        return done

    def take_out_words(self, numbers: Sequence[int]) -> None:
        """Remove the words of originals from the index, but for a rest that one transaction takes."""
        try:
            for some in _batches(numbers, _TEXTS):
                with self._use() as connection:
                    held = list(texts(connection, some))
                for number, text in held:
                    self._take_out(number, text)
            if self._waiting and self._is_begun:
                self.run(partial(_remove, parts=self._waiting))
        except StoreError as error:  # a damaged index is made new with the rest
            if not (isinstance(error.__cause__, apsw.Error) and search.damaged(error.__cause__)):
                raise

    def _take_out(self, number: int, text: bytes) -> None:
        start = 0
        while start < len(text):
            room_bytes = max(self._part_bytes - sum(len(part) for _, part, _ in self._waiting), 1)
            end = _between_words(text, start + room_bytes)
            if end == len(text) and end - start < room_bytes:
                self._waiting.append((number, text[start:], True))
                return
            self._waiting.append((number, text[start:end], end == len(text)))
            waiting, self._waiting, self._is_begun = self._waiting, [], True
            self.run(partial(_remove, parts=waiting))
            start = end


def _remove(connection: apsw.Connection, parts: Sequence[tuple[int, bytes, bool]]) -> None:
    for number, part, is_last in parts:
        search.remove_part(connection, number, part, is_last=is_last)


def _batches(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    return [items[start : start + most] for start in range(0, len(items), most)]


def _between_words(text: bytes, at: int) -> int:
    """Return the next place at which no word is cut."""
    if at >= len(text):
        return len(text)
    places = [found + 1 for mark in (b" ", b"\n") if (found := text.find(mark, at)) >= 0]
    return min(places, default=len(text))
