"""A finished task's logs give way to its summary in every form, and the provider goes on."""

import json

import pytest

from tests.wires.machine import MACHINES
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.testing import Call, ClientHistory, ModelTurn, Result, history_for, simulator_for
from undrift.values.prepared import Prepared

SUMMARY = "Every file was read: the number 7 stands in file 3 and all tests pass."


def log(number: int) -> str:
    return f"file {number} holds the number 7; every one of all the tests pass: 12 passed " + "x" * 400


class Agent:
    def __init__(self, wire: str, model: str, home: object) -> None:
        fields = {"thinking": {"type": "adaptive"}} if wire == "anthropic" else {}
        self.wire, self.model = wire, model
        self.history: ClientHistory = history_for(wire, model=model, **fields)
        self.provider = simulator_for(wire, model=model)
        self.session = Session.open("s", home=str(home), settings=Settings(token_counter="characters/4"))

    def gets(self, turn: ModelTurn) -> Prepared:
        prepared = self.session.prepare(self.history.body(), wire=self.wire, model=self.model)
        answered = self.provider.send(prepared.body, prepared.headers, turn=turn, model=self.model)
        self.history.take(answered.body)
        return prepared

    def works(self, first: int, rounds: int) -> None:
        for number in range(first, first + rounds):
            calls = tuple(Call("Read", {"n": number, "m": m}) for m in range(1 + number % 3))
            self.gets(ModelTurn(f"I look at {number}.", calls, f"thought {number}"))
            self.history.answer([Result(log(number)) for _ in calls])


@pytest.mark.parametrize(("wire", "model"), [(wire, model) for wire, kind in MACHINES.items() for model in kind.models])
def test_the_provider_takes_the_window_after_a_completion(tmp_path, wire, model):
    agent = Agent(wire, model, tmp_path)
    agent.history.say("Read them.")
    agent.works(0, 2)
    agent.session.start_task("read", content="Read the files", acceptance_criteria=("all tests pass",))
    agent.works(2, 6)
    task = agent.session.complete_task("read", SUMMARY)
    assert task.validation is not None
    agent.works(20, 2)
    agent.gets(ModelTurn("Done.", (), "thought"))
    agent.history.say("And now the rest.")
    last = agent.gets(ModelTurn("Well.", (), None))
    assert not any("refused" in warning for warning in last.warnings)
    evicted = [action for action in last.actions if action.kind == "evicted"]
    assert log(4) in {agent.session.recall(action.ref) for action in evicted} | {
        json.loads(agent.session.recall(a.ref)).get("output") for a in evicted if agent.session.recall(a.ref)[:1] == "{"
    }
    sent = json.dumps(last.body)
    assert "file 4 holds" not in sent
    assert "Task read completed. Raw logs evicted" in sent
    assert "file 21 holds" in sent
    agent.session.close()
    again = Session.open("s", home=str(tmp_path), settings=Settings(token_counter="characters/4"))
    agent.history.cut(len(agent.history) - 1)
    assert again.prepare(agent.history.body(), wire=wire, model=model).body == last.body
