"""LangGraph's long-term store over undrift's: items under namespaces, found by key, by filter and by what they say.

Law: an item is written before `put` returns, in every version. A query searches an index
that is made from the items when it runs, by the same words and vectors as `Session.search`, and kept in memory only.
"""

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from undrift.core.text.masking import masked_value
from undrift.errors import PartError
from undrift.integrations.documents import DocumentChange, DocumentReading, Documents
from undrift.memory.parts import embedder_of
from undrift.memory.search import OwnSearch, Remembered
from undrift.settings import Settings
from undrift.stores.base import Document
from undrift.stores.base import DocumentPath as Path
from undrift.stores.memory_index import MemoryIndex
from undrift.values.closing import AsyncClosing

__all__ = ["UndriftStore"]

_log = logging.getLogger("undrift.integrations")

_KIND = "langgraph-item"  # path: namespace and key; record: times, what is indexed; content: the value as JSON
_MS_PER_MINUTE = 60_000
_REFRESH_SHARE = 100
"""A life is prolonged by a reading once a hundredth of it has passed: not every reading is a writing."""


class UndriftStore(AsyncClosing, BaseStore):
    """A store of items, synchronous and asynchronous; a context manager. Threads and processes may share its home.

    Secrets in values are masked on the way to the disk (setting `mask_secrets`).

    Args:
        home: Folder of the store; default is the setting `home`.
        name: Of this store among those of the home.
        settings: Default: from the environment.
        ttl: How long items live; see LangGraph's ``TTLConfig``. They are out of sight when their time is over, and out
            of force from the next `sweep_ttl` on.
        clock: Unix milliseconds; default is the system's.

    Raises:
        StoreError: The store cannot be opened.
    """

    supports_ttl = True

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        name: str = "langgraph-store",
        settings: Settings | None = None,
        ttl: TTLConfig | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._documents = Documents.open(home, settings=settings, clock=clock)
        self._name = name
        self._search = _Search(self._documents.settings.embedder)

    def close(self) -> None:
        """Close the store."""
        self._documents.close()

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Carry out operations: what reads sees the items as they were before, what writes is one transaction."""
        given = list(ops)
        for op in given:
            validate_op_namespace(op)
        results: list[Any] = [None] * len(given)
        changes: dict[Path, PutOp] = {}
        used: list[Document] = []
        with self._documents.reading(self._name) as kept:
            for number, op in enumerate(given):
                match op:
                    case GetOp():
                        results[number] = self._get(kept, op, used)
                    case SearchOp():
                        results[number] = self._found(kept, op, used)
                    case ListNamespacesOp():
                        results[number] = self._namespaces(kept, op)
                    case PutOp():
                        changes[*op.namespace, op.key] = op
                    case _:
                        raise ValueError(f"Unknown operation type: {type(op)}")
        if changes or used:
            self._write(changes, used)
        return results

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """See `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Take items out of force whose time is over; return how many."""
        now_ms = self._documents.now_ms()

        def act(kept: DocumentChange) -> int:
            over = [one for one in kept.under(_KIND, with_content=False) if not _lives(one, now_ms)]
            kept.close(over)
            return len(over)

        return self._documents.change(self._name, act, about="items: sweep")

    # ---------------------------------------------------------------------------------------------------------- reading

    def _get(self, kept: DocumentReading, op: Any, used: list[Document]) -> Item | None:
        found = kept.find(_KIND, (*op.namespace, op.key))
        if found is None or not _lives(found, self._documents.now_ms()):
            return None
        if op.refresh_ttl:
            used.append(found)
        return Item(**_fields(found))

    def _found(self, kept: DocumentReading, op: Any, used: list[Document]) -> list[SearchItem]:
        now_ms = self._documents.now_ms()
        documents = {
            one.path: one
            for one in kept.under(_KIND, op.namespace_prefix)
            if len(one.path) > len(op.namespace_prefix) and _lives(one, now_ms)
        }
        fitting = {path: one for path, one in documents.items() if _fits(json.loads(one.content), op.filter)}
        scores: Mapping[Path, float] = {}
        if op.query:
            scores = self._search.scores(kept, op.query, fitting, k=op.offset + op.limit)
            ordered = [fitting[path] for path in scores]
        else:
            ordered = sorted(fitting.values(), key=lambda one: (-one.record["updated_ms"], one.number))
        chosen = ordered[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            used += chosen
        return [SearchItem(**_fields(one), score=scores.get(one.path)) for one in chosen]

    def _namespaces(self, kept: DocumentReading, op: Any) -> list[Path]:
        now_ms = self._documents.now_ms()
        heads = kept.under(_KIND, with_content=False)
        found = {one.path[:-1] for one in heads if _lives(one, now_ms)}
        fitting = {one for one in found if all(_matches(one, condition) for condition in op.match_conditions or ())}
        return sorted({one[: op.max_depth] for one in fitting})[op.offset : op.offset + op.limit]

    # ---------------------------------------------------------------------------------------------------------- writing

    def _write(self, changes: Mapping[Path, Any], used: Sequence[Document]) -> None:
        now_ms = self._documents.now_ms()
        used = [one for one in used if one.path not in changes and _is_to_prolong(one, now_ms)]
        if not changes and not used:
            return
        new = {path: self._value(path, op) for path, op in changes.items()}

        def act(kept: DocumentChange) -> None:
            for path, op in changes.items():
                found = kept.find(_KIND, path)
                content = new[path]
                if content is None:
                    kept.close([found] if found is not None else [])
                    continue
                lived = found is not None and _lives(found, now_ms)
                created_ms = found.record["created_ms"] if found is not None and lived else now_ms
                record = {"created_ms": created_ms, "updated_ms": now_ms, "index": op.index, **_life(op.ttl, now_ms)}
                kept.put(_KIND, Document(path, record, content))
            for one in used:
                found = kept.find(_KIND, one.path)
                if found is not None and found.number == one.number:
                    record = {**found.record, **_life(found.record["ttl"], now_ms)}
                    kept.put(_KIND, Document(one.path, record, found.content))

        self._documents.change(self._name, act, about="items")

    def _value(self, path: Path, op: Any) -> bytes | None:
        if op.value is None:
            return None
        value = masked_value(op.value) if self._documents.settings.mask_secrets else op.value
        try:
            return json.dumps(value, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"the value of {'/'.join(path)} must consist of JSON values: {error}") from error


class _Search:
    """The texts of the items, searched as memories are, in memory; follows the items at each query."""

    def __init__(self, embedder: str) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._search: OwnSearch | None = None
        self._indexed: dict[int, int] = {}  # number of a document to how many texts it has

    def scores(self, kept: DocumentReading, query: str, among: Mapping[Path, Document], *, k: int) -> dict[Path, float]:
        """Return the k paths that fit a query best, best first, with their scores."""
        with self._lock:
            try:
                return self._scored(kept, query, among, k)
            except PartError as error:
                _log.warning("items are searched by words until the program starts again: %s", error)
                self._embedder, self._search, self._indexed = "none", None, {}
                return self._scored(kept, query, among, k)

    def _scored(self, kept: DocumentReading, query: str, among: Mapping[Path, Document], k: int) -> dict[Path, float]:
        search = self._followed(kept)
        numbers = {str(one.number): path for path, one in among.items()}

        def seen(ids: Sequence[str]) -> Collection[str]:
            return [one for one in ids if one.partition(":")[0] in numbers]

        best: dict[Path, float] = {}
        wanted = k
        while True:
            hits = search.search(query, k=wanted, accept=seen)
            for hit in hits:
                best.setdefault(numbers[hit.id.partition(":")[0]], hit.score)
            if len(best) >= k or len(hits) < wanted:
                return dict(list(best.items())[:k])
            best, wanted = {}, wanted * 4  # several texts of one item were found

    def _followed(self, kept: DocumentReading) -> OwnSearch:
        if self._search is None:
            self._search = OwnSearch(MemoryIndex.in_memory(embedder_of(self._embedder)))
        now = kept.numbers(_KIND)
        if gone := self._indexed.keys() - now:
            self._search.remove(f"{number}:{place}" for number in gone for place in range(self._indexed[number]))
            for number in gone:
                del self._indexed[number]
        if now - self._indexed.keys():
            new = [one for one in kept.under(_KIND) if one.number not in self._indexed]
            self._search.add(line for one in new for line in self._lines(one))
        return self._search

    def _lines(self, document: Document) -> Iterator[Remembered]:
        texts = _texts(json.loads(document.content), document.record["index"])
        self._indexed[document.number] = len(texts)
        for place, text in enumerate(texts):
            yield Remembered(f"{document.number}:{place}", text, seq=document.number)


def _texts(value: Mapping[str, Any], index: Any) -> list[str]:
    """Return the searched texts of a value: all of them, none, or those at certain paths."""
    if index is False:
        return []
    if index is None:
        return ["\n".join(_leaves(value))]
    return [text for path in index for text in get_text_at_path(value, tokenize_path(path))]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


# ------------------------------------------------------------------------------------------------------------- the items


def _fields(document: Document) -> dict[str, Any]:
    return {
        "namespace": document.path[:-1],
        "key": document.path[-1],
        "value": json.loads(document.content),
        "created_at": _moment(document.record["created_ms"]),
        "updated_at": _moment(document.record["updated_ms"]),
    }


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _life(ttl_minutes: float | None, now_ms: int) -> dict[str, Any]:
    until = None if ttl_minutes is None else now_ms + int(ttl_minutes * _MS_PER_MINUTE)
    return {"ttl": ttl_minutes, "until_ms": until}


def _lives(document: Document, now_ms: int) -> bool:
    until = document.record["until_ms"]
    return until is None or now_ms < until


def _is_to_prolong(document: Document, now_ms: int) -> bool:
    ttl, until = document.record["ttl"], document.record["until_ms"]
    if ttl is None:
        return False
    whole = ttl * _MS_PER_MINUTE
    return bool(now_ms + whole - until > whole / _REFRESH_SHARE)


def _matches(namespace: Path, condition: Any) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    """Tell whether a value fits a filter: fields by their values, or by operators."""
    return all(_is(value.get(name), condition) for name, condition in (wanted or {}).items())


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
        return all(_holds(value, operator, operand) for operator, operand in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_is(value.get(name), inner) for name, inner in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_is, value, wanted))
    return bool(value == wanted)


def _holds(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _is(value, operand) == (operator == "$eq")
    compare = _ORDER.get(operator)
    if compare is None:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return compare(float(value), float(operand))
    except (TypeError, ValueError):
        return False  # what is no number is neither more nor less


_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
