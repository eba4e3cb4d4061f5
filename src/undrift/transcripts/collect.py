"""Converts blocks to entries with ids, times, message numbers and pairs. Pure; one `Collector` for each file."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from undrift.transcripts.base import Part, RecordedBlock, Recording, Role
from undrift.transcripts.lines import MALFORMED, decode, milliseconds
from undrift.values.window import ContextEntry

__all__ = ["Collector", "RecordPlace"]


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a record: its line, from 1, and its number on that line, from 0."""

    line: int
    part: int

    @property
    def name(self) -> str:
        """The name of this place, ``line-N`` or ``line-N.M``; later lines of the file never change it."""
        return f"line-{self.line}" + (f".{self.part}" if self.part else "")


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    block: RecordedBlock
    line: int
    message: int
    timestamp_ms: int | None


class Collector:
    """Collects the blocks that a reader finds; `recording` makes the entries.

    A client that runs tools while the model still speaks writes an assistant message in parts between the results; the
    parts are brought together again by the provider's message id, so that the entries stand as the provider saw them.
    """

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self._rows: list[_Row] = []
        self._ids: dict[str, int] = {}
        self._skipped: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._compactions: list[int] = []
        self._message = -1
        self._role: Role | None = None
        self._message_ids: dict[str, int] = {}
        self._unfinished = False
        self.session_id: str | None = None
        self.cwd: str | None = None

    def records(self, lines: Iterable[str]) -> Iterator[tuple[RecordPlace, dict[str, Any]]]:
        """Yield every JSON object with its place; count lines without any."""
        failed: str | None = None
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if failed is not None:
                self.skip(failed)
            found, failed = decode(line)
            for part, record in enumerate(found):
                yield RecordPlace(number, part), record
        if failed == MALFORMED:
            self.cut("cut last line")
        elif failed is not None:
            self.skip(failed)

    def cut(self, reason: str | None) -> None:
        """Count an incomplete end of the file: the session is still being written, or the client was killed."""
        self._unfinished = True
        if reason is not None:
            self.skip(reason)

    def skip(self, reason: str) -> None:
        """Count a part of the recording that becomes no entry, under the reason."""
        self._skipped[reason] += 1

    def identify(self, session_id: Any, cwd: Any) -> None:
        """Store the first session id and working directory."""
        if self.session_id is None and isinstance(session_id, str) and session_id:
            self.session_id = session_id
        if self.cwd is None and isinstance(cwd, str) and cwd:
            self.cwd = cwd

    def name_model(self, model: Any) -> None:
        """Count one use of a model's name; a client's placeholder such as ``<synthetic>`` does not count."""
        if isinstance(model, str) and model and not model.startswith("<"):
            # moved to the end: of equally frequent models the later named wins
            self._models[model] = self._models.pop(model, 0) + 1

    def compaction(self) -> None:
        """Note that the client compacts here; later blocks do not belong to earlier messages."""
        self._role = None
        self._message_ids.clear()
        if self._compactions[-1:] != [len(self._rows)]:
            self._compactions.append(len(self._rows))

    def add(
        self,
        parts: Iterable[Part],
        place: RecordPlace,
        stamp: Any,
        *,
        name: str = "",
        message_id: str | None = None,
        at_ms: int | None = None,
    ) -> None:
        """Add the blocks of one record.

        `stamp`: its ISO 8601 time, or anything else for none. `name`: its own unique id; empty for none. `at_ms`: its
        time in Unix milliseconds, where the client writes no ISO 8601.
        """
        timestamp_ms = milliseconds(stamp) if at_ms is None else at_ms
        index = 0
        for part in parts:
            if isinstance(part, RecordedBlock):
                message = self._number(part.role, message_id)
                unique = self._unique(f"{name or place.name}:{index}")
                self._rows.append(_Row(unique, part, place.line, message, timestamp_ms))
                index += 1
            else:
                self.skip(part.reason)

    def _unique(self, wanted: str) -> str:
        """Give an id that no row has: the one wanted, or numbered; the number is kept, as a file may repeat one for ever."""
        name = wanted
        while name in self._ids:
            again = self._ids[wanted] = self._ids[wanted] + 1
            name = f"{wanted}+{again}" if again > 1 else f"{wanted}+"
        self._ids[name] = 0
        return name

    def _number(self, role: Role, message_id: str | None) -> int:
        """Give the running number of the message that a block belongs to."""
        known = self._message_ids.get(message_id) if message_id and role == "assistant" else None
        # further back it cannot be the same message: an answer to it has been given in between
        if known is not None and known >= self._message - 1:
            return known
        if role != self._role:
            self._message += 1
            self._role = role
        if message_id and role == "assistant":
            self._message_ids[message_id] = self._message
        return self._message

    def recording(self, *, count: Callable[[str], int]) -> Recording:
        """Make the recording; `count` returns the tokens of a text."""
        # stable, and every row after a compaction has a higher number than any before it: indices stay true
        rows = sorted(self._rows, key=lambda row: row.message)
        now_ms = next((row.timestamp_ms for row in rows if row.timestamp_ms is not None), 0)
        entries: list[ContextEntry] = []
        for seq, (row, pairing) in enumerate(zip(rows, _pairings(rows), strict=True)):
            now_ms = max(now_ms, row.timestamp_ms or 0)
            block = row.block
            if "unpaired" in pairing:
                self.skip("call without result" if block.kind == "call" else "result without call")
            metadata = {"role": block.role, "kind": block.kind, "message": row.message, "line": row.line}
            metadata |= {**block.extra, **pairing}
            tokens = count(block.content)
            entries.append(ContextEntry(row.id, block.type, block.content, tokens, now_ms, metadata, seq=seq))
        return Recording(
            format=self._format,
            entries=tuple(entries),
            skipped=dict(sorted(self._skipped.items())),
            model=max(reversed(self._models), key=self._models.__getitem__, default=None),
            session_id=self.session_id,
            cwd=self.cwd,
            compactions=tuple(self._compactions),
            unfinished=self._unfinished,
        )


def _pairings(rows: list[_Row]) -> list[dict[str, Any]]:
    """Give each row the metadata of its pair: a result answers the oldest open call of its id; ids used again are numbered."""
    pairings: list[dict[str, Any]] = [{} for _ in rows]
    waiting: dict[str, deque[int]] = {}
    used_ids: dict[str, int] = {}
    for index, row in enumerate(rows):
        kind, call_id = row.block.kind, row.block.extra.get("call_id")
        if kind not in ("call", "result"):
            continue
        pairings[index] = {"unpaired": True}
        if kind == "call" and call_id:
            waiting.setdefault(call_id, deque()).append(index)
        elif call_id and waiting.get(call_id):
            called = waiting[call_id].popleft()
            pair = _free(call_id, used_ids)
            pairings[called] = {"pair_id": pair}
            pairings[index] = {"pair_id": pair, "tool_name": rows[called].block.extra["tool_name"]}
    return pairings


def _free(call_id: str, used_ids: dict[str, int]) -> str:
    """Give a pair id that no pair has: the call id, or numbered; `used_ids` keeps how often each was asked for."""
    pair = call_id
    while pair in used_ids:
        used_ids[call_id] += 1
        pair = f"{call_id}#{used_ids[call_id]}"
    used_ids[pair] = 1
    return pair
