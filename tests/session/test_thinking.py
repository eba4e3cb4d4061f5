"""Thinking that a model binds to its prefix: it leaves with what is rewritten before it, and the provider never refuses.

The provider here is `undrift.testing`'s simulator, which issues signatures bound to what it was sent.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, opened, parts, result, rounds, sent, thinking, user
from undrift.session.session import Session
from undrift.testing.simulators import AnthropicSimulator, Call, ModelTurn, Refused
from undrift.values.prepared import Prepared

ADAPTIVE = {"type": "adaptive"}


class Agent:
    """An agent that resends its whole history, as clients do, through a session to the simulator."""

    def __init__(self, session: Session, *, model: str = "claude-opus-5-5", thinking: Any = ADAPTIVE) -> None:
        self.session, self.model, self.thinking = session, model, thinking
        self.provider = AnthropicSimulator()
        self.messages: list[Json] = []
        self.prepared: list[Prepared] = []
        self.number = 0

    def says(self, text: str) -> None:
        self.messages.append(user(text))

    def gets(self, turn: ModelTurn) -> Mapping[str, Any]:
        given = body(*self.messages, model=self.model, thinking=self.thinking)
        prepared = self.session.prepare(given)
        self.prepared.append(prepared)
        answered = self.provider.send(prepared.body, prepared.headers, turn=turn)
        self.session.record(answered.body)
        self.messages.append({"role": "assistant", "content": answered.body["content"]})
        return answered.body

    def works(self, rounds: int, *, characters: int = 400) -> None:
        """Calls a tool and thinks, round after round, without a word of the user."""
        for _ in range(rounds):
            self.number += 1
            answer = self.gets(ModelTurn(thinking=f"thought {self.number}", calls=(Call("Read", {"n": self.number}),)))
            ids = [part["id"] for part in answer["content"] if part["type"] == "tool_use"]
            self.messages.append(user(*(result(id_, "x" * characters) for id_ in ids)))

    def rests(self) -> None:
        self.number += 1
        self.gets(ModelTurn(thinking=f"thought {self.number}", text="done"))


def thoughts(prepared: Prepared) -> list[str]:
    found = (part for message in prepared.body["messages"] for part in parts(message))
    return [part["thinking"] for part in found if part["type"] == "thinking"]


def over(agent: Agent) -> Iterator[Prepared]:
    return (p for p in agent.prepared if p.tokens_after > p.budget_tokens)


def test_an_unattended_run_stays_under_its_budget_and_is_never_refused(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500))
    agent.says("go")
    agent.works(60)
    assert not list(over(agent))
    assert sum(a.kind == "pruned" for a in agent.prepared[-1].actions) > 50


def test_before_the_first_rewriting_nothing_is_asked_of_the_provider_and_after_it_always(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500))
    agent.says("go")
    agent.works(40)
    rewritten = [any(a.kind == "pruned" for a in p.actions) for p in agent.prepared]
    assert rewritten == sorted(rewritten)
    assert {"thinking-binding-controls-2026-08-01"} == {
        p.headers["anthropic-beta"] for p, after in zip(agent.prepared, rewritten, strict=True) if after
    }
    for prepared, after in zip(agent.prepared, rewritten, strict=True):
        assert bool(prepared.headers) == after
        assert ("block_binding" in prepared.body["thinking"]) == after
    assert agent.thinking == {"type": "adaptive"}


def test_thinking_made_after_the_rewriting_lives_on(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500))
    agent.says("go")
    agent.works(40)
    first = next(n for n, p in enumerate(agent.prepared) if p.headers)
    second = next(
        n for n in range(first + 2, 40) if len(agent.prepared[n].actions) > len(agent.prepared[n - 1].actions) + 1
    )
    assert thoughts(agent.prepared[first]) == [f"thought {first}"]  # of the open round: it leaves at the next prune
    assert thoughts(agent.prepared[second - 1]) == [f"thought {n}" for n in range(first, second)]


def test_what_left_never_comes_back_and_can_be_recalled(tmp_path):
    session = opened(tmp_path, budget_tokens=1_500)
    agent = Agent(session)
    agent.says("go")
    agent.works(40)
    gone: set[str] = set()
    for prepared in agent.prepared:
        assert not gone & set(thoughts(prepared))
        gone |= {f"thought {n}" for n in range(1, 41)} - set(thoughts(prepared)) - newer(prepared)
    texts = [session.recall(action.ref) for action in agent.prepared[-1].actions]
    assert "thought 1" in texts


def newer(prepared: Prepared) -> set[str]:
    """Thoughts that were not thought yet."""
    made = max((int(words.split()[1]) for words in thoughts(prepared)), default=0)
    return {f"thought {n}" for n in range(made + 1, 41)}


def test_a_restart_and_another_model_in_between_change_nothing(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500))
    agent.says("go")
    for number in range(12):
        agent.works(3)
        agent.model = "claude-opus-5-5" if number % 3 else "claude-opus-5"
        agent.session.close()
        agent.session = opened(tmp_path, budget_tokens=1_500)
    assert not list(over(agent))


def test_strip_waits_until_the_round_is_over(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500, bound_thinking="strip"))
    agent.says("go")
    agent.works(20)
    assert agent.prepared[-1].tokens_after > 1_500
    assert "never taken out between a call and its result" in agent.prepared[-1].warnings[0]
    agent.rests()
    agent.says("and now?")
    agent.works(4)
    assert agent.prepared[-4].tokens_after <= 1_500
    assert thoughts(agent.prepared[-4]) == []
    assert not any(p.headers for p in agent.prepared)
    assert thoughts(agent.prepared[-1]) == ["thought 22", "thought 23", "thought 24"]


def test_without_thinking_in_the_request_it_may_leave_at_once(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500))
    agent.says("go")
    agent.works(6)
    agent.thinking = {"type": "disabled"}
    agent.works(20)
    assert not list(over(agent))
    assert not any(p.headers for p in agent.prepared)


def test_the_server_is_asked_to_clear_and_the_history_stays_as_it_is(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500, bound_thinking="server"))
    agent.says("go")
    agent.works(20)
    last = agent.prepared[-1]
    assert last.body["messages"] == agent.messages[: len(last.body["messages"])]
    (order,) = last.body["context_management"]["edits"]
    assert order["trigger"]["value"] == 1_500
    assert order["keep"]["value"] == 5
    assert last.headers == {"anthropic-beta": "context-management-2025-06-27"}
    assert any("clears old tool results" in warning for warning in last.warnings)


def test_what_may_not_be_rewritten_passes_with_a_warning(tmp_path):
    agent = Agent(opened(tmp_path, budget_tokens=1_500, bound_thinking="keep"))
    agent.says("go")
    agent.works(20)
    last = agent.prepared[-1]
    assert last.body["messages"] == agent.messages[: len(last.body["messages"])]
    assert any("binds" in warning for warning in last.warnings)


def test_a_pin_is_appended_and_disturbs_no_signature(tmp_path):
    agent = Agent(opened(tmp_path))
    agent.says("go")
    agent.works(3)
    agent.session.pin("spec", "The rule.")
    agent.works(3)
    agent.rests()
    assert [bool(p.headers) for p in agent.prepared] == [False] * 3 + [True] * 4  # a fork may have gone out without it
    assert thoughts(agent.prepared[-1]) == [f"thought {n}" for n in range(1, 7)]


def test_an_edit_without_these_rules_is_refused(tmp_path):
    """The simulator is no pushover: the same history with one result shortened is a 400."""
    agent = Agent(opened(tmp_path))
    agent.says("go")
    agent.works(3)
    agent.messages[2] = user(result(agent.messages[2]["content"][0]["tool_use_id"], "short"))
    with pytest.raises(Refused, match="bound to a different conversation"):
        agent.works(1)


def by_hand(count: int, *, thoughts: int) -> list[Json]:
    """A row of calls whose first answers think, as a provider with thinking set by hand demands of the very first."""
    messages = rounds(count)
    for message in messages[: 2 * thoughts : 2]:
        message["content"].insert(0, thinking("hm"))
    return messages


@pytest.mark.parametrize("thoughts", [1, 3, 30])
@pytest.mark.parametrize("policy", ["recency", "worth"])
def test_where_thinking_is_set_by_hand_the_first_answer_left_begins_with_it(tmp_path: Path, policy: str, thoughts: int):
    by_hand_too: Any = {"type": "enabled", "budget_tokens": 1_024}
    history, lengths = [user("go"), *by_hand(30, thoughts=thoughts)], []
    with opened(tmp_path, budget_tokens=2_000, policy=policy) as session:
        for end in (31, 41, 51, 61):
            prepared = session.prepare(body(*history[:end], thinking=by_hand_too))
            assert not prepared.warnings
            assert prepared.tokens_after <= 2_000
            assert parts(sent(prepared)[1])[0]["type"] == "thinking"
            lengths.append(len(sent(prepared)))
    assert lengths[-1] < len(history)
