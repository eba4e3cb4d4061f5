"""A session is the same over any store: over SQLite, over dictionaries and over a server, the same bodies and the same answers."""

import json
import random
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, call, crowded, result, rounds, text, user
from tests.stores.dictionary import DictionaryStore
from tests.stores.on_server import OnServer, skip_without_server
from undrift.errors import UndriftError
from undrift.session.identity import Recognised
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.opening import Engine
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.window.context import SessionContext

SUMMARY = "Every file was read: the number 7 stands in each of them and all tests pass."
SETTINGS: dict[str, Any] = {"token_counter": "characters/4", "budget_tokens": 1_500, "embedder": "none"}


class Player:
    """One conversation over one store, whose clock goes on by a second at each look; it keeps what each step gave.

    Args:
        engine: Of the store.
        home: Where it is.
        settings: Beside those of every conversation here.
    """

    def __init__(self, engine: Engine, home: Path, **settings: Any) -> None:
        self.engine = engine
        self.home = home
        self.settings = Settings(**{**SETTINGS, **settings})
        self.now_ms = 1_700_000_000_000
        self.history: list[Json] = [user("Read all files and tell what stands in them.")]
        self.refs: list[str] = []
        self.moments: list[int] = []
        self.given: list[Any] = []
        self.session = self._opened()

    def _opened(self) -> Session:
        store = self.engine.open(self.home, Scope())
        context = SessionContext.of("s", store, self.settings, self._clock, home=self.home)
        return Session(context, recognised=Recognised("s", "given"))

    def _clock(self) -> int:
        self.now_ms += 1_000
        return self.now_ms

    def does(self, step: Callable[[], Any]) -> None:
        try:
            self.given.append(step())
        except UndriftError as error:
            self.given.append(type(error).__name__)

    def turns(self) -> Any:
        before = json.dumps(self.history)
        prepared = self.session.prepare(body(*self.history))
        assert json.dumps(self.history) == before
        self.refs += [one.ref for one in prepared.actions if one.ref not in self.refs]
        return (
            json.dumps(prepared.body),
            prepared.actions,
            prepared.warnings,
            prepared.tokens_before,
            prepared.tokens_after,
        )

    def works(self, count: int) -> Any:
        first = len(self.history)
        for number in range(first, first + count):
            said = f"file {number} holds the number 7; all tests pass: 12 passed " + "x" * 300
            self.history += [assistant(text(f"I look at {number}."), call(f"c{number}", path=f"{number}.py"))]
            self.history += [user(result(f"c{number}", said))]
        return self.turns()

    def hears(self, words: str) -> Any:
        reply = {
            "role": "assistant",
            "type": "message",
            "content": [text(words)],
            "usage": {"input_tokens": 900, "output_tokens": 9},
        }
        read = self.session.record(reply)
        self.history += [assistant(words), user(f"Go on, after {len(self.history)} messages.")]
        return read.text, self.turns()

    def marks(self, label: str) -> None:
        self.moments.append(self.session.checkpoint(label))

    def goes_to(self, place: int) -> Any:
        done = self.session.rewind(self.moments[place % len(self.moments)])
        return dict(done.closed), dict(done.opened)

    def undoes(self) -> Any:
        done = self.session.undo_rewind()
        return dict(done.closed), dict(done.opened)

    def remembers(self, words: str) -> Any:
        entry = self.session.remember(words)
        return entry.content, entry.trust, entry.slots

    def finds(self, words: str) -> Any:
        return [hit.entry.content for hit in self.session.search(words)]

    def recalls(self, place: int) -> Any:
        return self.session.recall(self.refs[place % len(self.refs)])

    def purges(self, what: str) -> Any:
        done = self.session.purge(what)
        return done.kind, dict(done.removed), done.traces

    def opens_again(self) -> Any:
        self.session.close()
        self.session = self._opened()
        return self.turns()

    def tells_all(self) -> None:
        """Keep all that can be asked for at the end; numbers of operations and memories are the store's own."""
        session = self.session
        self.does(session.tasks)
        self.does(lambda: [session.recall(one) for one in self.refs if session.why(one)])
        self.does(lambda: [(row.kind, row.at_ms) for row in session.history()])
        self.does(lambda: session.diff(0))
        self.does(lambda: [replace(one, seq=0) for one in session.memories()])
        self.does(lambda: {hit.ref for hit in session.find("number", limit=1_000)})


_OTHERS: dict[str, Engine] = {"dictionary": DictionaryStore, "postgres": OnServer}
_other: ContextVar[str] = ContextVar("_other", default="dictionary")
"""The store that SQLite is compared with."""


@pytest.fixture(autouse=True, params=_OTHERS)
def other_store(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "postgres":
        skip_without_server()
    before = _other.set(request.param)
    yield
    _other.reset(before)


def played(play: Callable[[Player], None], folder: Path, **settings: Any) -> tuple[list[Any], list[Any]]:
    """Play the same over both stores; return what each step gave, and that all steps are as many."""
    engines: list[Engine] = [SqliteStore, _OTHERS[_other.get()]]
    players = [Player(engine, folder / str(number) / "home", **settings) for number, engine in enumerate(engines)]
    for player in players:
        play(player)
        player.tells_all()
        player.session.close()
    one, other = (player.given for player in players)
    return one, other


def first_difference(one: list[Any], other: list[Any]) -> str:
    for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        if mine != theirs:
            return f"step {number}: {mine!r:.1000}\nnot {theirs!r:.1000}"
    return ""


def whole_life(player: Player) -> None:
    """Prepare, record, tasks, complete, recall, remember, go back, purge, open again."""
    session = player.session
    player.does(lambda: player.works(4))
    player.does(lambda: session.pin("spec", "The rule is: read only."))
    player.does(lambda: session.start_task("read", content="Read them all.", acceptance_criteria=["all tests pass"]))
    player.does(lambda: player.works(12))
    player.does(lambda: player.hears("I have read some."))
    player.does(lambda: player.marks("before the end"))
    player.does(lambda: session.complete_task("read", SUMMARY))
    player.does(lambda: player.hears("Done."))
    player.does(lambda: player.recalls(0))
    player.does(lambda: player.remembers("The main database is SQLite."))
    player.does(lambda: player.remembers("The main database is PostgreSQL."))
    player.does(lambda: player.finds("which database"))
    player.does(lambda: player.works(6))
    player.does(lambda: player.goes_to(0))
    player.does(player.turns)
    player.does(player.undoes)
    player.does(player.turns)
    player.does(player.opens_again)
    player.does(lambda: player.purges("task:read"))
    player.does(player.turns)
    player.does(lambda: player.purges(player.refs[-1]))
    player.does(player.opens_again)
    player.does(lambda: player.works(3))


@pytest.mark.parametrize("policy", ["recency", "value"])
def test_a_whole_life_is_the_same_over_both(tmp_path: Path, policy: str):
    one, other = played(whole_life, tmp_path)
    assert not first_difference(one, other)
    assert not [step for step in one if step in ("StoreError", "RecallError", "InputError")]
    assert sum("evicted" in repr(step) for step in one) > 2
    assert sum("pruned" in repr(step) for step in one) > 2


def test_what_is_pinned_undone_and_brought_back_is_the_same_over_both(tmp_path: Path):
    def pinning(player: Player) -> None:
        def pins(number: int) -> str:
            return player.session.pin("requirements", f"Rule {number}")

        for step in (
            lambda: player.works(16),
            lambda: player.session.unpin(pins(1)),
            lambda: player.session.bring_back(player.refs[0]),
            lambda: pins(2),
            lambda: player.works(4),
            lambda: player.session.unpin(pins(2)),
            lambda: player.works(9),
            lambda: pins(2),
            player.opens_again,
        ):
            player.does(step)

    one, other = played(pinning, tmp_path, budget_tokens=900)
    assert not first_difference(one, other)
    assert "Brought back by the user" in repr(one)
    assert sum("Rule 2" in repr(step) for step in one) > 1
    assert "Rule 1" not in repr(one[4:])


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_steps_is_the_same_over_both(tmp_path: Path, seed: int):
    def at_random(player: Player) -> None:
        drawn = random.Random(seed)
        steps: list[Callable[[Player], Any]] = [
            *[lambda p: p.works(drawn.randint(1, 6))] * 5,
            *[lambda p: p.hears(f"I think of {drawn.random()}.")] * 2,
            lambda p: p.session.pin("requirements", f"Rule {drawn.randint(0, 9)}"),
            *[lambda p: p.session.start_task(f"t{drawn.randint(0, 3)}", content="Read some.").status] * 2,
            *[lambda p: p.session.complete_task(f"t{drawn.randint(0, 3)}", SUMMARY).status] * 2,
            lambda p: p.remembers(f"Module {drawn.randint(0, 5)} is written in {drawn.choice(['Rust', 'Go', 'C'])}."),
            lambda p: p.finds(f"module {drawn.randint(0, 5)}"),
            *[lambda p: p.marks(f"m{drawn.random()}")] * 2,
            *[lambda p: p.goes_to(drawn.randint(0, 9)) if p.moments else None] * 2,
            lambda p: p.undoes(),
            lambda p: p.recalls(drawn.randint(0, 99)) if p.refs else None,
            lambda p: p.purges(
                drawn.choice(["task:t0", "session" if drawn.random() < 0.2 else "task:t1", *p.refs[-1:]])
            ),
            lambda p: p.opens_again(),
        ]
        for _ in range(30):
            step = drawn.choice(steps)
            player.does(lambda step=step: step(player))  # type: ignore[misc]

    one, other = played(at_random, tmp_path, budget_tokens=900)
    assert not first_difference(one, other)
    assert any("pruned" in repr(step) or "evicted" in repr(step) for step in one)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trimmed_results_are_the_same_over_both(tmp_path: Path, seed: int):
    messages, budget = crowded(seed)

    def play(player: Player) -> None:
        for end in range(1, len(messages) + 1, 2):
            player.history = messages[:end]
            player.does(player.turns)
        player.does(player.opens_again)

    one, other = played(play, tmp_path, budget_tokens=budget)
    assert not first_difference(one, other)


def test_two_sessions_of_one_home_share_what_they_remember_and_nothing_else(tmp_path: Path):
    def play(player: Player) -> None:
        store = player.engine.open(player.home, Scope())
        other = Session(SessionContext.of("t", store, player.settings, player._clock, home=player.home))
        player.does(lambda: player.works(9))
        player.does(lambda: json.dumps(other.prepare(body(user("go"), *rounds(12))).body))
        player.does(lambda: other.remember("The parser is written in Rust.").content)
        player.does(lambda: player.finds("parser"))
        player.does(lambda: other.checkpoint("here") and other.tasks())
        player.does(lambda: player.remembers("The parser is written in Go."))
        player.does(lambda: [one.content for one in other.memories()])
        player.does(lambda: dict(other.purge("session").removed))
        player.does(lambda: [one.content for one in other.memories()])
        player.does(player.turns)
        other.close()

    one, other = played(play, tmp_path)
    assert not first_difference(one, other)
