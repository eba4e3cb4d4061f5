"""What is remembered of one client conversation between two turns, so that a turn costs what is new in it.

Law: the state is a function of the history that came in and the decisions on disk, so that a restart, a retry and a
fork see the same window. Nothing here is written anywhere.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.core.text.refs import message_id
from undrift.core.window.shrink import shortened
from undrift.core.window.thinking import is_thinking
from undrift.core.window.value import Known
from undrift.values.window import Action, ContextEntry, Decision
from undrift.window.decisions import Decisions, taken_at
from undrift.window.notes import note_decision, note_entry, pin_decision, pin_text, stale
from undrift.window.pairing import Pairing
from undrift.wire.form import Edit, Form, View, entry_of

__all__ = ["Conversation"]


@dataclass(slots=True)
class _Message:
    """One item of the history: as it came in, and as it is sent."""

    raw: bytes
    digest: bytes
    id: str
    view: View
    entries: tuple[ContextEntry, ...]
    tokens: int
    run: tuple[str, bool] = ("", False)  # id of the run that it belongs to, and whether that has more than reasoning
    live: tuple[ContextEntry, ...] = ()
    live_tokens: int = 0
    edits: dict[int, Edit] = field(default_factory=dict)
    appended: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    rewritten_at: int = -1  # number of the newest item when something of it was last rewritten
    shown: tuple[View, ...] | None = None  # as it is sent; None while an edit of it was not looked at
    sent: tuple[bytes, ...] | None = None  # the same in bytes, where they were made

    @property
    def role(self) -> str:
        return self.view.role

    @property
    def untouched(self) -> bool:
        return not self.edits and not self.appended

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it is sent, so that it need not even be looked into."""
        return self.shown == ()


class Conversation:
    """One history as the client sends it, and the window that is made of it.

    Args:
        form: Of the provider.
        decisions: The session's; shared by all its conversations.
        count: The token counter in force; called once in the life of an entry.
        defers_tools: Whether its requests defer tools: then what loads some stays, and comes back where it had left.
    """

    def __init__(
        self, form: Form, decisions: Decisions, count: Callable[[str], int], *, defers_tools: bool = False
    ) -> None:
        self.form = form
        self._decisions = decisions
        self._count = count
        self._defers_tools = defers_tools
        self._loading: set[str] = set()  # pair ids of the searches that have loaded tools
        self._messages: list[_Message] = []
        self._pairing = Pairing(is_adjacent=form.ADJACENT)
        self._numbers: dict[str, int] = {}  # chain id -> number of an item
        self._version = decisions.version
        self._seq = 0
        self._totals: tuple[int, int, tuple[Action, ...]] = (0, 0, ())
        self._rewritten_at = -1  # number of the newest item when something before it was last rewritten
        self.checked = False  # whether the window as decided was found legal
        self.names_recall = True  # whether what is decided now may name the command
        self._mentioned: tuple[Known, int] | None = None  # what the first so many items mention

    def starts_with(self, raw: bytes, digest: bytes) -> bool:
        """Tell whether the first item is this one."""
        return bool(self._messages) and (self._messages[0].raw == raw or self._messages[0].digest == digest)

    def suits(self, form: Form, count: Callable[[str], int], *, defers_tools: bool) -> bool:
        """Tell whether it was opened with these."""
        return self.form is form and self._count is count and self._defers_tools == defers_tools

    @property
    def tokens_before(self) -> int:
        """Tokens of the history that came in."""
        return self._totals[0]

    @property
    def tokens_after(self) -> int:
        """Tokens of the history that is sent."""
        return self._totals[1]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done to the blocks of this history, in their order."""
        return self._totals[2]

    @property
    def untouched(self) -> bool:
        """Whether the window is the history."""
        return all(m.untouched for m in self._messages)

    @property
    def newest_id(self) -> str:
        """Chain id of the newest item; it stands for the whole history."""
        return self._messages[-1].id

    def tail(self, most: int) -> list[tuple[bytes, View]]:
        """Return the digests and views of the last items of the history."""
        return [(m.digest, m.view) for m in self._messages[-most:]]

    @property
    def views(self) -> list[View]:
        """The history as it came in, read."""
        return [m.view for m in self._messages]

    @property
    def shown(self) -> list[View]:
        """The history as it is sent, read again where it was edited; after `render`."""
        return [v for m in self._messages for v in ((m.view,) if m.shown is None else m.shown)]

    def follow(self, raws: Sequence[bytes], load: Callable[[int], Any], now_ms: int) -> None:
        """Take in the history of this turn; what is known already costs a comparison of bytes.

        Args:
            raws: Each item as bytes.
            load: Number of an item to the item; called only for those that are new or were written anew.
            now_ms: The session's clock.

        Raises:
            WireError: A new item has the wrong shape.
        """
        known = self._known(raws, load)
        if known < len(self._messages):  # a fork, or an earlier item was edited
            self._forget(known)
        try:
            for number in range(known, len(raws)):
                message = self._read(raws[number], load(number), number, now_ms)
                self._messages.append(message)
                self._numbers[message.id] = number
                if message.id in self._decisions.places:  # what was decided at it, about what is before it, holds again
                    self._version = -1
        except BaseException:
            self._forget(known)
            raise
        if not self.sync() and known < len(self._messages):
            for message in self._messages[known:]:
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

    def known(self) -> Known:
        """Return what the history that came in mentions, for the plan of this turn."""
        known, learned = self._mentioned or (Known(), 0)
        for message in self._messages[learned:]:
            for entry in message.entries:
                known.learn(entry)
        known.keep({e.id for m in self._messages for e in m.live})
        self._mentioned = known, len(self._messages)
        return known

    @property
    def entries(self) -> list[ContextEntry]:
        """The entries of the history that came in, in order; without words that a tombstone beside them stands for."""
        return [e for m in self._messages for e in m.entries if not self._is_absorbed(e)]

    @property
    def all_entries(self) -> Iterator[ContextEntry]:
        """The entries of the history that came in, in order, all of them."""
        return (e for m in self._messages for e in m.entries)

    @property
    def numbers(self) -> Mapping[str, int]:
        """Chain id of each item -> its number."""
        return self._numbers

    def calls_after(self, number: int) -> list[tuple[str, str]]:
        """Return the calls that the model made behind an item, in order: pair id, which no other call has, and tool."""
        entries = (e for m in self._messages[number + 1 :] if m.role == "assistant" for e in m.entries)
        calls = (e for e in entries if e.metadata and e.metadata["kind"] == "call" and e.pair_id)
        return [(e.pair_id or "", (e.metadata or {}).get("tool_name", "")) for e in calls]

    @property
    def decided_here(self) -> frozenset[str]:
        """Ids of the entries about which something was decided at today's newest item: nothing more is, for now."""
        at = self.newest_id
        return frozenset(
            e.id
            for m in self._messages
            for e in m.entries
            if (d := self._decision(e)) is not None and taken_at(d) == at
        )

    @property
    def open_answer(self) -> frozenset[str]:
        """Ids of the items of the newest answer while its calls are being answered; else none."""
        if not self.round_is_open:
            return frozenset()
        return frozenset(m.id for m in self._messages[self.newest_answer() : self._first_unseen()])

    def loose(self) -> list[Decision]:
        """Return a decision for each block that has lost its call or result: the client wrote the other half anew."""
        if self.checked:
            return []
        gone = {e.pair_id for m in self._messages for e in m.entries if self._is_gone(e)}
        loose = [e for m in self._messages for e in m.live if e.pair_id is not None and e.pair_id in gone]
        reason = "the call that it belongs to has left"
        return self.taken_here(self._left(e, reason) for e in loose if not self._is_gone(e))

    def stale_thinking(self, *, may_wait: bool, rewrites: bool) -> list[Decision]:
        """Return a decision for all thinking that is bound to words which are sent otherwise by now.

        It leaves from the start up to the newest answer at the time of the rewriting, and never comes back (WIRE A10).

        Args:
            may_wait: Leave the newest answer alone while its calls are being answered; the provider has to be told
                that it may drop that thinking itself. It leaves at a later turn.
            rewrites: Whether something before it is about to be rewritten now.
        """
        end = len(self._messages) if rewrites else self._rewritten_at + 1
        if may_wait and self.round_is_open:
            end = min(end, self.newest_answer())
        reason = "thinking that is bound to words before it, which were rewritten"
        stale = [self._left(e, reason) for m in self._messages[:end] for e in m.live if is_thinking(e)]
        return [replace(d, detail={**d.detail, "thinking": True}) for d in self.taken_here(stale)]

    @property
    def round_is_open(self) -> bool:
        """Whether the newest answer's calls are answered by what the model has not seen yet."""
        unseen = self._messages[self._first_unseen() :]
        return any(b.kind == "result" for m in unseen for b in m.view.blocks)

    def originals(self, entry_ids: Iterable[str]) -> list[ContextEntry]:
        """Return entries of this history as they came in."""
        wanted = set(entry_ids)
        return [e for m in self._messages for e in m.entries if e.id in wanted]

    def render(self, given: Sequence[Any], load: Callable[[int], Any], dump: Callable[[Any], Any]) -> list[Any]:
        """Return the items to send: of those given, the untouched are the same objects."""
        out: list[Any] = []
        for number, (item, known) in enumerate(zip(given, self._messages, strict=True)):
            if known.untouched:
                out.append(item)
                continue
            if known.is_gone:
                continue
            sent: Sequence[Any] | None = known.sent if isinstance(item, bytes) else None
            if sent is None:
                edited, path = self._sent(known, load(number)), f"{self.form.HISTORY}[{number}]"
                known.shown = known.shown or tuple(self.form.read(one, path) for one in edited)
                sent = tuple(map(dump, edited))
                known.sent = sent if isinstance(item, bytes) else None
            out.extend(sent)
        return out

    def _sent(self, message: _Message, item: Any) -> list[Any]:
        """What is sent in place of an item: what is left of it, and behind a tool's result what is said besides."""
        beside = message.appended if message.role == "tool" else ()
        edited = self.form.edit(item, message.edits, () if beside else message.appended)
        return [*([] if edited is None else [edited]), *map(self.form.said, beside)]

    def pins_to_place(self) -> list[Decision]:
        """Return a decision for each pin that stands nowhere in this history yet: where it goes.

        While nothing was answered it goes into the user's first message, later into the user's last one, unless that
        was answered. Nothing that was sent changes, so that neither the provider's cache nor a signature is touched.
        """
        if not self._decisions.pins:
            return []
        placed = {d.detail.get("pin") for m in self._messages for d in self._decisions.placed_at(m.id, self._numbers)}
        missing = [ref for ref in self._decisions.pins if ref not in placed]
        anchor = self._anchor() if missing else None
        if anchor is None:
            return []
        pins, at, count = self._decisions.pins, self.newest_id, self._count
        return [pin_decision(ref, pins[ref], anchor=anchor, at=at, count=count) for ref in missing]

    def notes_to_place(self, notes: Mapping[str, str]) -> list[Decision]:
        """Return a decision for each note that says something else than the newest of its name in this history.

        Args:
            notes: Name to text; an empty one is not placed.
        """
        standing = {d.detail["name"]: d.detail["text"] for d in self._decisions.notes(self._numbers)}
        news = [(name, text) for name, text in notes.items() if text and standing.get(name) != text]
        anchor = self._anchor() if news else None
        if anchor is None:
            return []
        at, count, ref_of_entry = self.newest_id, self._count, self._decisions.ref_of
        return [
            note_decision(name, text, anchor=anchor, at=at, count=count, ref_of_entry=ref_of_entry)
            for name, text in news
        ]

    def stale_notes(self, notes: Mapping[str, str]) -> list[Decision]:
        """Return a decision for each note that a newer one stands in for; only for a turn that rewrites anyway."""
        return self.taken_here(stale(self._decisions.notes(self._numbers), notes))

    def has_thinking(self) -> bool:
        """Tell whether any thinking is sent that the provider may have bound to what stands before it."""
        return any(is_thinking(e) for m in self._messages for e in m.live)

    def taken_here(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Note where decisions are taken: they hold in every history that has today's newest item."""
        return [replace(d, detail={**d.detail, "at": self.newest_id}) for d in decisions]

    def _left(self, entry: ContextEntry, reason: str) -> Decision:
        return Decision(entry.id, "pruned", reason, entry.token_count, self._decisions.ref_of(entry.id))

    def _anchor(self) -> str | None:
        unseen = self._first_unseen()
        spoken = [m.id for m in self._messages[unseen:] if m.role == "user"]
        if not spoken:
            return self._messages[-1].id if self._messages[-1].role == "tool" else None
        return spoken[-1] if unseen else spoken[0]

    def _first_unseen(self) -> int:
        """Number of the first item that no answer follows. The last one has none, whoever wrote it."""
        for number in range(len(self._messages) - 2, -1, -1):
            if self._messages[number].role == "assistant":
                return number + 1
        return 0

    def newest_answer(self) -> int:
        """Number of the first item of the model's newest answer, which may stand in several."""
        number = self._first_unseen()
        while number and self._messages[number - 1].role == "assistant":
            number -= 1
        return number

    def _decision(self, entry: ContextEntry) -> Decision | None:
        if entry.pair_id in self._loading:  # decided while nothing was deferred, or before this rule was known
            return None
        return self._decisions.in_force(entry.id, self._numbers)

    def _is_gone(self, entry: ContextEntry) -> bool:
        decision = self._decision(entry)
        return decision is not None and decision.kind == "pruned"

    def _is_absorbed(self, entry: ContextEntry) -> bool:
        decision = self._decision(entry)
        return decision is not None and decision.kind == "evicted" and decision.detail["text"] is None

    def _known(self, raws: Sequence[bytes], load: Callable[[int], Any]) -> int:
        for number, (raw, message) in enumerate(zip(raws, self._messages, strict=False)):
            if raw != message.raw:
                given = load(number)
                if not isinstance(given, dict) or self.form.digest(given) != message.digest:
                    return number
                message.raw, message.shown, message.sent = raw, () if message.is_gone else None, None
                message.view = self.form.read(given, f"{self.form.HISTORY}[{number}]")  # its cache marker has moved
        return min(len(raws), len(self._messages))

    def _read(self, raw: bytes, item: Any, number: int, now_ms: int) -> _Message:
        view = self.form.read(item, f"{self.form.HISTORY}[{number}]")
        before = self._messages[-1] if self._messages else None
        digest = self.form.digest(item)
        id_ = message_id(before.id if before else "", digest)
        run = self._run_of(view, id_, before)
        self._pairing.take(view, id_, run[0], role_before=before.role if before else "")
        entries = []
        for place, block in enumerate(view.blocks):
            self._seq += 1
            pair_id = self._pairing.pair_of(block, id_) or run[0] or None
            block = self._pairing.named(block)
            if block.kind == "result" and pair_id is None:  # its call is held by the provider, so it can never leave
                block = replace(block, is_pinned=True)
            if block.loads_tools and self._defers_tools:
                block = replace(block, is_pinned=True)
                self._loading |= {pair_id} if pair_id is not None else set()
            entry = entry_of(
                block,
                view.role,
                message_id=id_,
                place=place,
                pair_id=pair_id,
                count=self._count,
                at=(now_ms, self._seq),
            )
            entries.append(entry)
        return _Message(raw, digest, id_, view, tuple(entries), sum(e.token_count for e in entries), run)

    def _run_of(self, view: View, id_: str, before: _Message | None) -> tuple[str, bool]:
        """The run of the model's items that an item belongs to: it begins with reasoning and ends before the next."""
        if view.role != "assistant":
            joins = view.bundle == "run" and before is not None and before.role == "assistant"
            return (before.run[0] if before and joins else "", joins)
        run, has_more = before.run if before else ("", False)
        if view.bundle == "run":
            return (run, False) if run and not has_more else (id_, False)
        return run, bool(run)

    def _forget(self, known: int) -> None:
        """Drop the items from a number on, and note anew which calls are open before it."""
        for message in self._messages[known:]:
            del self._numbers[message.id]
        del self._messages[known:]
        if self._mentioned is not None and self._mentioned[1] > known:
            self._mentioned = None
        self._version = -1
        self._pairing.clear()
        for number, message in enumerate(self._messages):
            before = self._messages[number - 1].role if number else ""
            self._pairing.take(message.view, message.id, message.run[0], role_before=before)

    def _apply(self, message: _Message) -> None:
        before, live, actions = (message.edits, message.appended), [], []
        message.edits, message.rewritten_at = {}, -1
        for place, entry in enumerate(message.entries):
            decision = self._decision(entry)
            if decision is None:
                live.append(entry)
                continue
            actions.append(_action(decision))
            message.rewritten_at = max(message.rewritten_at, self._numbers.get(_rewritten_at(decision), -1))
            if decision.kind == "pruned":
                message.edits[place] = Edit()
                continue
            if decision.kind == "evicted":
                tombstone = decision.detail["text"]
                message.edits[place] = Edit(tombstone, is_tombstone=True)
                if tombstone is not None:
                    live.append(self._tombstone(entry, tombstone, decision.detail["task"]))
                continue
            text, left = shortened(entry, decision)
            message.edits[place] = Edit(text)
            metadata = {**(entry.metadata or {}), **left}
            live.append(replace(entry, token_count=self._count(text), metadata=metadata))
        appended = []
        for decision in self._decisions.placed_at(message.id, self._numbers):
            entry, text = self._placed(decision, message)
            appended.append(text)
            live.append(entry)
            actions.append(_action(decision))
        message.live, message.appended, message.actions = tuple(live), tuple(appended), tuple(actions)
        message.live_tokens = sum(e.token_count for e in live)
        if (message.edits, message.appended) != before:
            message.shown, message.sent = () if message.edits and not live else None, None

    def _placed(self, decision: Decision, message: _Message) -> tuple[ContextEntry, str]:
        """What stands in a message besides what the client sent, as an entry and as text."""
        if decision.kind == "noted":
            at_ms = message.entries[0].timestamp if message.entries else 0
            entry = note_entry(decision, timestamp_ms=at_ms, count=self._count)
            return entry, entry.content
        pin = self._decisions.pins[decision.detail["pin"]]
        text = pin_text(pin)
        return replace(pin, id=decision.entry_id, token_count=self._count(text)), text

    def _tombstone(self, entry: ContextEntry, text: str, task_id: str) -> ContextEntry:
        """What stands for an evicted block: a summary, which the budget may take away like any other."""
        kind = "result" if entry.type == "tool_result" else "text"
        metadata = {**(entry.metadata or {}), "kind": kind, "task": task_id}
        return replace(entry, type="summary", content=text, token_count=self._count(text), metadata=metadata)

    def _sum(self) -> None:
        self._totals = (
            sum(m.tokens for m in self._messages),
            sum(m.live_tokens for m in self._messages),
            tuple(a for m in self._messages for a in m.actions),
        )
        self._rewritten_at = max((m.rewritten_at for m in self._messages), default=-1)


def _rewritten_at(decision: Decision) -> str:
    """Where something was rewritten. Taking out stale thinking makes no later thinking stale, nor does a first send."""
    is_none = decision.detail.get("thinking") or decision.detail.get("first_send")
    return "" if is_none else taken_at(decision)


def _action(decision: Decision) -> Action:
    return Action(decision.kind, decision.entry_id, decision.reason, decision.tokens_saved, decision.ref)
