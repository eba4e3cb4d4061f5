"""A conversation whose session is recognised, and what is seen of it in a store."""

import json
from typing import Any

import pytest

from tests.stores.builders import raw
from undrift.session.identity import recognise
from undrift.stores.sqlite import SqliteStore
from undrift.testing.histories import ClientHistory, Result, history_for
from undrift.testing.simulators import (
    Call,
    ModelTurn,
    Simulator,
)
from undrift.window.request import Request
from undrift.wire.forms import WIRES, form_of

MODELS = {"anthropic": "claude-sonnet-4-5", "openai-chat": "gpt-5.5", "openai-responses": "gpt-5.5"}
every_wire = pytest.mark.parametrize("wire", WIRES)


class Talk:
    """One conversation of a client with a provider, which gives each call an id of its own."""

    def __init__(self, provider: Simulator, opening: str = "Fix the parser.", history: ClientHistory | None = None):
        self.provider = provider
        self.history = history or history_for(provider.name, model=MODELS.get(provider.name, "gemini-3-pro"))
        if history is None:
            self.history.say(opening)

    def works(self, path: str, *, finds: str = "a file") -> "Talk":
        self._take(ModelTurn(calls=(Call("Read", {"path": path}),)))
        self.history.answer([Result(finds)])
        return self

    def hears(self, words: str, *, says: str) -> "Talk":
        self._take(ModelTurn(words))
        self.history.say(says)
        return self

    def fork(self) -> "Talk":
        return Talk(self.provider, history=self.history.fork())

    def compacted(self, *, keep: int) -> "Talk":
        """What a client sends after its own compaction: a summary, and the newest items as they were."""
        other = self.history.fork()
        kept, other.items = other.items[-keep:] if keep else [], []
        other.say("This session is being continued. Summary: a parser was to be fixed.")
        other.items += kept
        return Talk(self.provider, history=other)

    def body(self) -> Any:
        return json.loads(json.dumps(self.history.body()))

    def _take(self, turn: ModelTurn) -> None:
        self.history.take(self.provider.send(self.history.body(), turn=turn, model=self.history.model).body)


def seen(store: SqliteStore, of: Any, wire: str = "") -> tuple[str, str]:
    """Recognise a conversation or a body; the session and how it was found."""
    wire = wire or (of.provider.name if isinstance(of, Talk) else "anthropic")
    form = form_of(wire)
    found = recognise(store, form, Request(of.body() if isinstance(of, Talk) else of, form))
    assert found.fault == ""
    return found.session_id, found.how


def marks(store: SqliteStore) -> int:
    connection = raw(store.path.parent)
    found: list[Any] = connection.execute("SELECT count(*) FROM marks").fetchall()
    connection.close()
    return int(found[0][0])
