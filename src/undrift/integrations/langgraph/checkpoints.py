"""LangGraph's checkpoints over undrift's store.

Law: a checkpoint and the channel values that came with it are written in one transaction. A deleted or pruned
checkpoint is no longer active; its versions stay on disk, as all that undrift keeps, until a purge.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from undrift.integrations.documents import DocumentChange, DocumentReading, Documents
from undrift.settings import Settings
from undrift.stores.base import Document
from undrift.values.closing import AsyncClosing

__all__ = ["UndriftSaver"]

_CHECKPOINT = "langgraph-checkpoint"  # path: namespace, id; record: serializer's type, parent, metadata
_VALUE = "langgraph-value"  # path: namespace, channel, version
_WRITE = "langgraph-write"  # path: namespace, checkpoint, task, index
_KINDS = (_CHECKPOINT, _VALUE, _WRITE)
_OWNER = "langgraph:"
_DELTA = "counters_since_delta_snapshot"
_EMPTY = "empty"


class UndriftSaver(AsyncClosing, BaseCheckpointSaver[str]):
    """A checkpoint saver, synchronous and asynchronous; a context manager.

    Only values of types that LangGraph counts as safe are rebuilt from the disk; for others hand in a `serde`
    that allows them. Secrets in checkpoints are not masked, as a graph needs its state as it was: for that, hand in
    LangGraph's ``EncryptedSerializer``.

    `home`: folder of the store; default is the setting `home`. `settings`: default: from the environment. `serde`:
    turns values into bytes and back. Raises StoreError: the store cannot be opened.
    """

    def __init__(
        self, home: str | os.PathLike[str] | None = None, *, settings: Settings | None = None, serde: Any = None
    ) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._documents = Documents.open(home, settings=settings)

    def close(self) -> None:
        """Close the store."""
        self._documents.close()

    def get_next_version(self, current: Any, channel: None) -> str:  # noqa: ARG002 - the base class's parameter
        """Return a version above `current` that no fork of the thread has."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{uuid4().hex[:16]}"

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest of its thread and namespace."""
        thread_id, namespace = _place(config)
        wanted = get_checkpoint_id(config)
        with self._reading(thread_id) as kept:
            if wanted is None:
                heads = kept.under(_CHECKPOINT, (namespace,), with_content=False)
                wanted = max((head.path[1] for head in heads), default=None)
            found = None if wanted is None else kept.find(_CHECKPOINT, (namespace, wanted))
            return None if found is None else self._tuple(kept, thread_id, found)

    def list(
        self,
        config: Any,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: Any = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, those of one namespace newest first; see the base class."""
        settled = (config or {}).get("configurable", {})
        threads = [str(settled["thread_id"])] if config else self._threads()
        namespace, wanted = settled.get("checkpoint_ns"), settled.get("checkpoint_id")
        end = get_checkpoint_id(before) if before else None

        def fits(head: Document) -> bool:
            metadata = head.record["metadata"]
            return (
                wanted in (None, head.path[1])
                and (end is None or head.path[1] < end)
                and all(metadata.get(name) == value for name, value in (filter or {}).items())
            )

        for thread_id in threads:
            prefix = () if namespace is None else (namespace,)
            with self._reading(thread_id) as kept:
                heads = [head for head in kept.under(_CHECKPOINT, prefix, with_content=False) if fits(head)]
            heads.sort(key=lambda head: head.path[1], reverse=True)
            for head in sorted(heads, key=lambda head: head.path[0]):
                if limit is not None and limit <= 0:
                    return
                with self._reading(thread_id) as kept:
                    found = kept.find(_CHECKPOINT, head.path)
                    if found is None:
                        continue
                    one = self._tuple(kept, thread_id, found)
                limit = None if limit is None else limit - 1
                yield one

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Mapping[str, Any]) -> dict[str, Any]:
        """Write a checkpoint and the values of the channels that changed; return the config that names it."""
        thread_id, namespace = _place(config)
        values = checkpoint["channel_values"]
        type_, content = self.serde.dumps_typed({k: v for k, v in checkpoint.items() if k != "channel_values"})
        record = {
            "type": type_,
            "parent": get_checkpoint_id(config),
            "metadata": json.loads(json.dumps(get_checkpoint_metadata(config, metadata))),
        }
        documents = [(_CHECKPOINT, Document((namespace, checkpoint["id"]), record, content))]
        for channel, version in new_versions.items():
            type_, content = self.serde.dumps_typed(values[channel]) if channel in values else (_EMPTY, b"")
            documents.append((_VALUE, Document((namespace, channel, _text(version)), {"type": type_}, content)))

        def act(kept: DocumentChange) -> None:
            for kind, document in documents:
                kept.put(kind, document)

        self._change(thread_id, act, "put")
        return _config(thread_id, namespace, checkpoint["id"])

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store a task's writes after a checkpoint; stored errors and other special writes are replaced, others stay."""
        thread_id, namespace = _place(config)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        documents = []
        for place, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, place)
            type_, content = self.serde.dumps_typed(value)
            record = {"type": type_, "channel": channel, "index": index, "task_path": task_path}
            documents.append(Document((namespace, checkpoint_id, task_id, str(index)), record, content))

        def act(kept: DocumentChange) -> None:
            for document in documents:
                if document.record["index"] < 0 or kept.find(_WRITE, document.path) is None:
                    kept.put(_WRITE, document)

        self._change(thread_id, act, "put_writes")

    def delete_thread(self, thread_id: str) -> None:
        """Take a thread away, all of its namespaces."""
        self._change(
            str(thread_id), lambda kept: kept.close(one for kind in _KINDS for one in kept.under(kind)), "delete"
        )

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs, with the writes that belong to them."""
        wanted = set(run_ids)
        for thread_id in self._threads() if wanted else ():
            with self._reading(thread_id) as kept:
                heads = kept.under(_CHECKPOINT, with_content=False)
            gone = {head.path for head in heads if head.record["metadata"].get("run_id") in wanted}
            if gone:
                self._keep(thread_id, {head.path for head in heads} - gone, "delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread: all checkpoints, their values and what was written after them."""
        with self._reading(str(source_thread_id)) as kept:
            documents = [(kind, one) for kind in _KINDS for one in kept.under(kind)]

        def act(target: DocumentChange) -> None:
            for kind, document in documents:
                target.put(kind, document)

        if documents:
            self._change(str(target_thread_id), act, "copy")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Take all but the newest checkpoint of each namespace away, or all of them (``delete``).

        If the newest one holds a channel only as changes since an earlier one, those in between are kept too.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"the strategy must be keep_latest or delete, not {strategy!r}")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            with self._reading(thread_id) as kept:
                heads = {head.path: head for head in kept.under(_CHECKPOINT, with_content=False)}
                newest = {namespace: max(id_ for ns, id_ in heads if ns == namespace) for namespace, _ in heads}
                stay = {path for item in newest.items() for path in self._needed(kept, heads, item)}
            self._keep(thread_id, stay, "prune")

    # ------------------------------------------------------------------------------------------------ the same, awaited

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        """See `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: Any,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: Any = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: Mapping[str, Any]
    ) -> dict[str, Any]:
        """See `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `prune`."""
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    # -------------------------------------------------------------------------------------------------------- the parts

    def _reading(self, thread_id: str) -> Any:
        return self._documents.reading(_OWNER + thread_id)

    def _change(self, thread_id: str, act: Callable[[DocumentChange], None], about: str) -> None:
        self._documents.change(_OWNER + thread_id, act, about=f"checkpoints: {about}")

    def _threads(self) -> Sequence[str]:
        return [one.removeprefix(_OWNER) for one in self._documents.owners(_CHECKPOINT)]

    def _tuple(self, kept: DocumentReading, thread_id: str, found: Document) -> CheckpointTuple:
        (namespace, id_), record = found.path, found.record
        checkpoint = self._loaded(found)
        values = {}
        for channel, version in checkpoint["channel_versions"].items():
            value = kept.find(_VALUE, (namespace, channel, _text(version)))
            if value is not None and value.record["type"] != _EMPTY:
                values[channel] = self._loaded(value)
        writes = kept.under(_WRITE, found.path)
        writes.sort(key=lambda one: writes_sort_key(one.record["task_path"], one.path[2], one.record["index"]))
        parent = record["parent"]
        return CheckpointTuple(
            config=_config(thread_id, namespace, id_),
            checkpoint={**checkpoint, "channel_values": values},
            metadata=record["metadata"],
            parent_config=_config(thread_id, namespace, parent) if parent else None,
            pending_writes=[(one.path[2], one.record["channel"], self._loaded(one)) for one in writes],
        )

    def _loaded(self, document: Document) -> Any:
        return self.serde.loads_typed((document.record["type"], document.content))

    def _needed(
        self, kept: DocumentReading, heads: Mapping[tuple[str, ...], Document], newest: tuple[str, ...]
    ) -> Iterator[tuple[str, ...]]:
        """Yield the newest checkpoint, and earlier ones back to where each of its delta channels stands whole."""
        at: tuple[str, ...] | None = newest
        open_ = set(heads[newest].record["metadata"].get(_DELTA) or ())
        while at is not None and at in heads:
            yield at
            found = kept.find(_CHECKPOINT, at) if open_ else None
            if found is None:
                return
            versions = self._loaded(found)["channel_versions"]
            for channel in open_ & set(versions):
                value = kept.find(_VALUE, (at[0], channel, _text(versions[channel])))
                if value is not None and value.record["type"] != _EMPTY:
                    open_.discard(channel)
            parent = found.record["parent"]
            if not open_ or parent is None:
                return
            at = (at[0], parent)

    def _keep(self, thread_id: str, stay: set[tuple[str, ...]], about: str) -> None:
        """Take away every checkpoint but these, what was written after it, and values that no other one refers to."""

        def act(kept: DocumentChange) -> None:
            checkpoints = kept.under(_CHECKPOINT)
            versions = {
                (one.path[0], channel, _text(version))
                for one in checkpoints
                if one.path in stay
                for channel, version in self._loaded(one)["channel_versions"].items()
            }
            kept.close(one for one in checkpoints if one.path not in stay)
            kept.close(one for one in kept.under(_WRITE) if one.path[:2] not in stay)
            kept.close(one for one in kept.under(_VALUE) if one.path not in versions)

        self._change(thread_id, act, about)


def _place(config: Any) -> tuple[str, str]:
    settled = config["configurable"]
    return str(settled["thread_id"]), settled.get("checkpoint_ns", "")


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def _text(version: Any) -> str:
    """A version as a name; 1 and "1" are two of them."""
    return json.dumps(version)
