"""Conversations as agents have them, played at random against a provider that refuses what real ones refuse.

One machine for each form. It says, calls in parallel, answers, thinks or does not, sends the same request again, goes back
to an earlier message, forks, restarts, pins; and after each request it holds what a user was promised.
"""

import copy
import json
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.conftest import HOMES
from tests.paste_settings import PasteSettings
from tests.stores.on_server import serve_below
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.testing import (
    Call,
    ClientHistory,
    ModelTurn,
    Result,
    history_for,
    simulator_for,
)
from undrift.values.prepared import Prepared

__all__ = ["MACHINES", "Machine"]

_WORDS = st.text("ab c\né中", min_size=1, max_size=30).map(lambda t: f"w {t}")
_SIZES = st.integers(0, 2_000)
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what reaches the disk is another test's subject


def _noise(size: int) -> str:
    """Numbered lines, equal lines and escape codes: what is folded when a window shrinks, or before it is sent."""
    listing = "".join(f"{n:6}→row {n}\n" for n in range(1, 9))
    return f"{listing}\x1b[1msame\x1b[0m line\n" + "same line\n" * (size // 4)


class Machine(RuleBasedStateMachine):
    """The rules; a subclass names the form and its provider."""

    wire: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    deferred: ClassVar[tuple[str, ...]] = ()
    """The tools that some clients of the form defer."""
    requests: ClassVar[int] = 0
    """Sent by all machines of the class so far."""

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=_MEMORY)
        if os.environ.get(HOMES) == "server":
            serve_below(Path(self.folder.name))
        self.settings: Settings = PasteSettings(
            budget_tokens=data.draw(st.integers(200, 4_000), label="budget"),
            keep_tool_results=data.draw(st.integers(1, 3), label="keep"),
            keep_user_text_tokens=40,
            token_counter="characters/4",
            **self.drawn(data),
        )
        self.model = data.draw(st.sampled_from(self.models), label="model")
        self.simulator = simulator_for(self.wire, model=self.model)
        deferred = data.draw(st.sampled_from([(), self.deferred]), label="deferred")
        given = {**self.fields(), "deferred": deferred}
        self.histories: list[ClientHistory] = [history_for(self.wire, model=self.model, **given)]
        self.session = self.opened()
        self.as_bytes = data.draw(st.booleans(), label="bytes")
        self.thinks = True
        self.pins = 0
        self.seen: dict[bytes, bytes] = {}

    def drawn(self, data: Any) -> dict[str, Any]:
        return {}

    def fields(self) -> dict[str, Any]:
        return {}

    def opened(self) -> Session:
        return Session.open("s", home=self.folder.name, settings=self.settings, clock=lambda: 1_000)

    @property
    def history(self) -> ClientHistory:
        return self.histories[-1]

    @property
    def may_ask(self) -> bool:
        return bool(self.history.items) and not self.history.open and not self.answered

    answered = True  # whether the newest item is the model's

    @rule(words=_WORDS, image=st.booleans(), size=_SIZES)
    @precondition(lambda self: not self.history.open)
    def say(self, words: str, image: bool, size: int) -> None:
        self.history.say(words + "x" * (size if size > 1_500 else 0), image=image)
        self.answered = False

    @rule(calls=st.integers(0, 3), words=st.booleans(), size=_SIZES)
    @precondition(lambda self: self.may_ask)
    def ask(self, calls: int, words: bool, size: int) -> None:
        names = ("Read", *self.history.loaded)
        made = tuple(Call(names[(size + n) % len(names)], {"path": "p" * (size // 4), "n": n}) for n in range(calls))
        turn = ModelTurn("so " + "y" * (size // 2) if words or not calls else "", made, self.thought())
        self.history.take(self.send(turn))
        self.answered = True

    @rule(sizes=st.lists(_SIZES, min_size=3, max_size=3), failed=st.booleans())
    @precondition(lambda self: bool(self.history.open))
    def answer(self, sizes: list[int], failed: bool) -> None:
        wanted = len(self.history.open)
        texts = [_noise(size) if size % 2 else "r" * size for size in sizes[:wanted]]
        self.history.answer([Result(text, failed and not n) for n, text in enumerate(texts)])
        self.answered = False

    @rule(names=st.sets(st.integers(0, 1), min_size=1))
    @precondition(lambda self: self.may_ask and bool(self.history.deferred))
    def load(self, names: set[int]) -> None:
        """The model searches for deferred tools, perhaps for some that it has seen already."""
        call = Call(self.history.loader, {"query": "notes"})
        self.history.take(self.send(ModelTurn("", (call,), self.thought())))
        self.history.load([self.history.deferred[number] for number in sorted(names)])
        self.answered = False

    @rule(rounds=st.lists(st.lists(_SIZES, min_size=1, max_size=3), min_size=1, max_size=6), thinks=st.booleans())
    @precondition(lambda self: not self.history.open)
    def work(self, rounds: list[list[int]], thinks: bool) -> None:
        """Round after round, as an agent does that nobody interrupts."""
        if not self.may_ask:
            self.say("go on", False, 0)
        self.thinks = thinks
        for sizes in rounds:
            self.ask(len(sizes), len(sizes) > 1, sizes[0])
            self.answer([*sizes, 0, 0][:3], False)
        self.ask(0, True, 0)

    @rule(restarts=st.booleans())
    @precondition(lambda self: self.may_ask)
    def send_twice(self, restarts: bool) -> None:
        before = self.prepared().body
        if restarts:
            self.restart()
        assert self.prepared().body == before

    @rule(data=st.data())
    @precondition(lambda self: len(self.history) > 3 and not self.history.open)
    def go_back(self, data: Any) -> None:
        places = [n for n, item in enumerate(self.history.items) if n and self.begins_turn(item)]
        if places:
            self.history.cut(data.draw(st.sampled_from(places), label="to"))
            self.answered = True
            self.history.say("something else")
            self.answered = False

    def begins_turn(self, item: Any) -> bool:
        """Whether the user speaks in an item of his own."""
        if self.wire == "gemini":
            return item["role"] == "user" and "text" in item["parts"][0]
        content = item.get("content")
        return item.get("role") == "user" and not (
            content and isinstance(content, list) and "tool_use_id" in content[-1]
        )

    @rule()
    @precondition(lambda self: self.may_ask and len(self.histories) < 3)
    def fork(self) -> None:
        self.histories.append(self.history.fork())

    @rule()
    @precondition(lambda self: len(self.histories) > 1 and not self.history.open)
    def turn_to_the_other(self) -> None:
        self.histories.insert(0, self.histories.pop())
        self.answered = self.history.items[-1].get("role") in ("assistant", "model")

    @rule()
    def restart(self) -> None:
        self.session.close()
        self.session = self.opened()

    @rule(text=_WORDS)
    @precondition(lambda self: self.pins < 3)
    @precondition(lambda self: self.settings.bound_thinking != "strip" or len(self.histories) == 1)  # see ADR 0012
    def pin(self, text: str) -> None:
        self.pins += 1
        self.session.pin("requirements", text)

    @rule()
    def think_or_not(self) -> None:
        self.thinks = not self.thinks

    def thought(self) -> str | None:
        """What the model thinks before its next answer, if it does."""
        return "hm" if self.thinks else None

    def prepared(self) -> Prepared:
        given = self.history.body()
        before = copy.deepcopy(given)
        body = json.dumps(given, ensure_ascii=False).encode() if self.as_bytes else given
        prepared = self.session.prepare(body, wire=self.wire, model=self.model)
        assert given == before
        return prepared

    def send(self, turn: ModelTurn) -> dict[str, Any]:
        prepared = self.prepared()
        excused = any("over budget" in warning for warning in prepared.warnings)
        assert prepared.tokens_after <= prepared.budget_tokens or excused
        assert not any("refused" in warning for warning in prepared.warnings), prepared.warnings
        type(self).requests += 1
        answered = self.simulator.send(prepared.body, prepared.headers, turn=turn, model=self.model)
        self.session.record(answered.body, wire=self.wire)
        return answered.body

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()
            self.folder.cleanup()


class AnthropicMachine(Machine):
    wire = "anthropic"
    deferred = ("mcp__notes__search", "mcp__notes__add")
    models = ("claude-opus-5-5", "claude-opus-5", "claude-sonnet-4-5")

    def drawn(self, data: Any) -> dict[str, Any]:
        return {"bound_thinking": data.draw(st.sampled_from(["drop_block", "drop_block", "strip"]), label="thinking")}

    def fields(self) -> dict[str, Any]:
        by_hand = {"type": "enabled", "budget_tokens": 1_024}
        return {"thinking": by_hand if self.model == "claude-sonnet-4-5" else {"type": "adaptive"}}

    def thought(self) -> str | None:
        """Where thinking is set by hand, a row of calls begins with it, and only there the model may leave it out."""
        must = self.history.fields["thinking"]["type"] == "enabled" and self.begins_turn(self.history.items[-1])
        return "hm" if must else super().thought()


class ChatMachine(Machine):
    wire = "openai-chat"
    models = ("gpt-5.5", "gemini-3.1-pro")


class ResponsesMachine(Machine):
    wire = "openai-responses"
    deferred = ("notes_search", "notes_add")
    models = ("gpt-5.5",)


class GeminiMachine(Machine):
    wire = "gemini"
    models = ("gemini-3.1-pro", "gemini-2.5-pro")


MACHINES: dict[str, type[Machine]] = {
    kind.wire: kind for kind in (AnthropicMachine, ChatMachine, ResponsesMachine, GeminiMachine)
}
