"""What is remembered of one client conversation between two turns, so that a turn costs what is new in it.

Law: the state is a function of the history that came in and the decisions on disk, so that a restart, a retry and a
fork see the same window. Nothing here is written anywhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.core.paste import cut_text
from undrift.core.refs import message_id, ref_of
from undrift.types import Action, ContextEntry, Decision, Original
from undrift.wire import anthropic
from undrift.wire.anthropic import Block, Edit

__all__ = ["Conversation", "Decisions", "pin_text"]


class Decisions:
    """Every decision of a session: what left, what was cut, and where its pins stand."""

    def __init__(self, session_id: str, decisions: Iterable[Decision], pins: Iterable[Original]) -> None:
        self._session_id = session_id
        self.by_entry: dict[str, Decision] = {}
        self.pins = {pin.ref: pin.entry for pin in pins}
        self.placed: dict[str, list[Decision]] = {}
        self.version = 0
        self.add(decisions)

    def ref_of(self, entry_id: str) -> str:
        """Return the reference under which `recall` finds an entry."""
        return ref_of(self._session_id, entry_id)

    def add(self, decisions: Iterable[Decision]) -> None:
        """Take in decisions; every conversation applies them at its next turn."""
        for decision in decisions:
            self.by_entry[decision.entry_id] = decision
            if decision.kind == "pinned":
                self.placed.setdefault(decision.detail["anchor"], []).append(decision)
        self.version += 1

    def remove(self, decisions: Iterable[Decision]) -> None:
        """Take back decisions that could not be written, or that the provider would refuse."""
        for decision in decisions:
            del self.by_entry[decision.entry_id]
            if decision.kind == "pinned":
                self.placed[decision.detail["anchor"]].remove(decision)
        self.version += 1


@dataclass(slots=True)
class _Message:
    raw: bytes
    digest: bytes
    id: str
    role: str
    entries: tuple[ContextEntry, ...]
    tokens: int
    calls: Mapping[str, str]  # call id -> pair id, of the calls that what follows may answer
    live: tuple[ContextEntry, ...] = ()
    live_tokens: int = 0
    edits: dict[int, Edit] = field(default_factory=dict)
    appended: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()

    @property
    def untouched(self) -> bool:
        return not self.edits and not self.appended


class Conversation:
    """One history as the client sends it, and the window that is made of it.

    Args:
        decisions: The session's; shared by all its conversations.
        count: The token counter in force; called once in the life of an entry.
        keep_tool_results: How many of the newest results stay raw, whatever was decided about them: in a fork, or when
            the client goes back, they can be ones that had left.
    """

    def __init__(self, decisions: Decisions, count: Callable[[str], int], keep_tool_results: int) -> None:
        self._decisions = decisions
        self._count = count
        self._keep = keep_tool_results
        self._messages: list[_Message] = []
        self._server_calls: dict[str, str] = {}
        self._call_entries: dict[str, str] = {}  # pair id -> entry id of the call
        self._back: frozenset[str] = frozenset()  # pairs that had left and are among the newest again
        self._version = decisions.version
        self._seq = 0
        self._totals: tuple[int, int, tuple[Action, ...]] = (0, 0, ())
        self.checked = False  # whether the window as decided was found legal

    def starts_with(self, raw: bytes, digest: bytes, count: Callable[[str], int]) -> bool:
        """Tell whether the first message is this one, and tokens are counted like this."""
        if self._count is not count:
            return False
        return bool(self._messages) and (self._messages[0].raw == raw or self._messages[0].digest == digest)

    @property
    def tokens_before(self) -> int:
        """Tokens of the messages that came in."""
        return self._totals[0]

    @property
    def tokens_after(self) -> int:
        """Tokens of the messages that are sent."""
        return self._totals[1]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done to the blocks of this history, in their order."""
        return self._totals[2]

    @property
    def untouched(self) -> bool:
        """Whether the window is the history."""
        return all(m.untouched for m in self._messages)

    def follow(self, raws: Sequence[bytes], load: Callable[[int], Any], now_ms: int) -> None:
        """Take in the history of this turn; what is known already costs a comparison of bytes.

        Args:
            raws: Each message as bytes.
            load: Number of a message to the message; called only for those that are new or were written anew.
            now_ms: The session's clock.

        Raises:
            WireError: A new message has the wrong shape.
        """
        known = self._known(raws, load)
        fresh: list[_Message] = []
        for number in range(known, len(raws)):
            before = fresh[-1] if fresh else self._messages[known - 1] if known else None
            fresh.append(self._read(raws[number], load(number), number, before, now_ms))
        shorter = known < len(self._messages)
        if shorter:  # a fork, or an earlier message was edited
            del self._messages[known:]
            self.checked = False
        self._messages.extend(fresh)
        back = self._had_left()
        if back != self._back:
            self._back, self._version = back, -1
        if not self.sync() and (fresh or shorter):
            for message in fresh:
                self._apply(message)
            self._sum()

    def sync(self) -> bool:
        """Apply the session's decisions where they have changed; return whether they had."""
        if self._version == self._decisions.version:
            return False
        for message in self._messages:
            self._apply(message)
        self._version, self.checked = self._decisions.version, False
        self._sum()
        return True

    def live(self) -> tuple[list[ContextEntry], int]:
        """Return the window's entries in order, and the index of the first that the model has not seen."""
        unseen = self._first_unseen()
        entries = [e for m in self._messages for e in m.live]
        return entries, sum(len(m.live) for m in self._messages[:unseen])

    def loose(self) -> list[Decision]:
        """Return a decision for each block that has lost its call or result: the client wrote the other half anew."""
        if self.checked:
            return []
        gone = {e.pair_id for m in self._messages for e in m.entries if self._is_gone(e)}
        reason = "the call that it belongs to has left"
        return [
            Decision(e.id, "pruned", reason, e.token_count, self._decisions.ref_of(e.id))
            for m in self._messages
            for e in m.live
            if e.pair_id is not None and e.pair_id in gone and not self._is_gone(e)
        ]

    def originals(self, entry_ids: Iterable[str]) -> list[ContextEntry]:
        """Return entries of this history as they came in."""
        wanted = set(entry_ids)
        return [e for m in self._messages for e in m.entries if e.id in wanted]

    def render(self, given: Sequence[Any], load: Callable[[int], Any], dump: Callable[[Any], Any]) -> list[Any]:
        """Return the messages to send: of those given, the untouched are the same objects."""
        out: list[Any] = []
        for number, (message, known) in enumerate(zip(given, self._messages, strict=True)):
            if known.untouched:
                out.append(message)
            elif (edited := anthropic.render(load(number), known.edits, known.appended)) is not None:
                out.append(dump(edited))
        return out

    def pins_to_place(self) -> list[Decision]:
        """Return a decision for each pin that stands nowhere in this history yet: where it goes.

        While nothing was answered it goes into the user's first message, later into the user's last one, unless that
        was answered. Nothing that was sent changes, so that neither the provider's cache nor a signature is touched.
        """
        if not self._decisions.pins:
            return []
        placed = {d.detail["pin"] for m in self._messages for d in self._decisions.placed.get(m.id, ())}
        missing = [ref for ref in self._decisions.pins if ref not in placed]
        anchor = self._anchor() if missing else None
        if anchor is None:
            return []
        decisions = []
        for ref in missing:
            pin = self._decisions.pins[ref]
            detail = {"anchor": anchor, "pin": ref}
            cost = self._count(pin_text(pin))
            decisions.append(Decision(f"{anchor}:{ref}", "pinned", f"pinned as {pin.type}", -cost, ref, detail))
        return decisions

    def _anchor(self) -> str | None:
        unseen = self._first_unseen()
        spoken = [m.id for m in self._messages[unseen:] if m.role == "user"]
        if not spoken:
            return None
        return spoken[-1] if unseen else spoken[0]

    def _first_unseen(self) -> int:
        """Number of the first message that no answer follows. The last message has none, whoever wrote it."""
        for number in range(len(self._messages) - 2, -1, -1):
            if self._messages[number].role == "assistant":
                return number + 1
        return 0

    def _had_left(self) -> frozenset[str]:
        """Pairs that were decided to leave and stay all the same: the last N results, and those not seen yet."""
        decided, unseen, newest = self._decisions.by_entry, self._first_unseen(), 0
        back: set[str] = set()
        for number in range(len(self._messages) - 1, -1, -1):
            for entry in reversed(self._messages[number].entries):
                if entry.type != "tool_result":
                    continue
                if newest >= self._keep and number < unseen:
                    return frozenset(back)
                newest += 1
                pair = entry.pair_id
                if pair is not None and (entry.id in decided or self._call_entries.get(pair) in decided):
                    back.add(pair)
        return frozenset(back)

    def _is_gone(self, entry: ContextEntry) -> bool:
        decision = self._decisions.by_entry.get(entry.id)
        return decision is not None and decision.kind == "pruned" and entry.pair_id not in self._back

    def has_signed_thinking(self) -> bool:
        """Tell whether any message carries thinking that the provider may have bound to what stands before it."""
        return any(e.metadata and e.metadata["kind"] == "thinking" for m in self._messages for e in m.entries)

    def _known(self, raws: Sequence[bytes], load: Callable[[int], Any]) -> int:
        for number, (raw, message) in enumerate(zip(raws, self._messages, strict=False)):
            if raw != message.raw:
                given = load(number)
                if not isinstance(given, dict) or anthropic.digest(given) != message.digest:
                    return number
                message.raw = raw
        return min(len(raws), len(self._messages))

    def _read(self, raw: bytes, message: Any, number: int, before: _Message | None, now_ms: int) -> _Message:
        role, read = anthropic.blocks(message, f"messages[{number}]")
        digest = anthropic.digest(message)
        id_ = message_id(before.id if before else "", digest)
        calls: Mapping[str, str] = before.calls if before else {}
        if role == "assistant":  # the provider merges neighbours of one role, so their calls add up
            former = calls if before and before.role == "assistant" else {}
            calls = {**former, **{b.call_id: f"{id_}:{b.call_id}" for b in read if b.kind == "call" and b.call_id}}
        entries = []
        for place, block in enumerate(read):
            self._seq += 1
            pair_id = self._pair_of(block, id_, calls)
            entry = anthropic.entry_of(
                block, role, message_id=id_, place=place, pair_id=pair_id, count=self._count, at=(now_ms, self._seq)
            )
            if block.kind == "call" and pair_id is not None:
                self._call_entries[pair_id] = entry.id
            entries.append(entry)
        return _Message(raw, digest, id_, role, tuple(entries), sum(e.token_count for e in entries), calls)

    def _pair_of(self, block: Block, message_id: str, calls: Mapping[str, str]) -> str | None:
        if block.call_id is None:
            return None
        if block.kind != "other":
            return calls.get(block.call_id)
        if not block.answers:  # a call that the provider runs itself; its answer may stand in a later message
            self._server_calls[block.call_id] = f"{message_id}:{block.call_id}"
        return self._server_calls.get(block.call_id)

    def _apply(self, message: _Message) -> None:
        message.edits, live, actions = {}, [], []
        for place, entry in enumerate(message.entries):
            decision = self._decisions.by_entry.get(entry.id)
            if decision is None or entry.pair_id in self._back:
                live.append(entry)
                continue
            actions.append(_action(decision))
            if decision.kind == "pruned":
                message.edits[place] = Edit()
                continue
            text = cut_text(entry.content, decision.detail["keep_head"], decision.detail["keep_tail"], decision.ref)
            message.edits[place] = Edit(text)
            live.append(replace(entry, token_count=self._count(text), metadata={**(entry.metadata or {}), "cut": True}))
        appended = []
        for decision in self._decisions.placed.get(message.id, ()):
            pin = self._decisions.pins[decision.detail["pin"]]
            text = pin_text(pin)
            appended.append(text)
            live.append(replace(pin, id=decision.entry_id, token_count=self._count(text)))
            actions.append(_action(decision))
        message.live, message.appended, message.actions = tuple(live), tuple(appended), tuple(actions)
        message.live_tokens = sum(e.token_count for e in live)

    def _sum(self) -> None:
        self._totals = (
            sum(m.tokens for m in self._messages),
            sum(m.live_tokens for m in self._messages),
            tuple(a for m in self._messages for a in m.actions),
        )


def pin_text(pin: ContextEntry) -> str:
    """Return a pin as it stands in the window: a line that says what it is, then its text."""
    return f"[Pinned {pin.type}: it holds for the whole session]\n{pin.content}"


def _action(decision: Decision) -> Action:
    return Action(decision.kind, decision.entry_id, decision.reason, decision.tokens_saved, decision.ref)
