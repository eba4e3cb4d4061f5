"""A client that dresses its newest message keeps its session, and what left does not come back.

Such a client puts a reminder, or texts that it has found, to its newest message, and takes them off in the next request.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json
from tests.paste_settings import PasteSettings
from undrift.session.session import Session

SETTINGS = PasteSettings(
    token_counter="characters/4", budget_tokens=3_000, keep_tool_results=1, keep_user_text_tokens=100
)
CANNED = [
    {"role": "system", "content": "You are an expert."},
    {"role": "user", "content": "Show me an example."},
    {"role": "assistant", "content": "This is an example that is the same in every conversation."},
]
REMINDER = "Reminder: answer with whole files, and never with parts of them."
shapes = pytest.mark.parametrize("is_apart", [False, True], ids=["in-the-message", "a-message-of-its-own"])


class Dressing:
    """A client without ids: each request is prepared by a process of its own."""

    def __init__(self, home: Path, *, is_apart: bool = False) -> None:
        self.home, self.is_apart = home, is_apart
        self.history: list[Json] = [*CANNED]
        self.sessions: list[tuple[str, str]] = []
        self.sent: list[list[Json]] = []

    def asks(self, words: str, answer: str) -> "Dressing":
        self.history.append({"role": "user", "content": words})
        with Session.recognise(self.body(), wire="openai-chat", home=self.home, settings=SETTINGS) as session:
            self.turn(session, answer)
        return self

    def turn(self, session: Session, answer: str) -> None:
        prepared = session.prepare(self.body(), wire="openai-chat")
        assert prepared.warnings == ()
        self.sessions.append((session.id, "edited" if prepared.actions else "whole"))
        self.sent.append(prepared.body["messages"])
        said = {"role": "assistant", "content": answer}
        session.record({"choices": [{"message": said, "finish_reason": "stop"}]}, wire="openai-chat")
        self.history.append(said)

    def body(self) -> Json:
        newest = {"role": "system", "content": REMINDER}
        if self.is_apart:
            return {"model": "gpt-5.5", "messages": [*self.history, newest]}
        dressed = {"role": "user", "content": f"{self.history[-1]['content']}\n\n{REMINDER}"}
        return {"model": "gpt-5.5", "messages": [*self.history[:-1], dressed]}

    @property
    def ids(self) -> set[str]:
        return {session_id for session_id, _ in self.sessions}


def question(number: int, size: int = 100) -> tuple[str, str]:
    return f"Question {number}? " + "x" * size, f"The answer to question {number} is a long one. " + "y" * 1_500


def common(one: list[Any], other: list[Any]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@shapes
def test_every_request_of_it_finds_the_same_session_in_a_process_of_its_own(tmp_path: Path, is_apart: bool):
    client = Dressing(tmp_path, is_apart=is_apart)
    for number in range(6):
        client.asks(*question(number))
    assert len(client.ids) == 1


@shapes
@pytest.mark.parametrize("restarts", [False, True], ids=["one-process", "restarts"])
def test_what_left_does_not_come_back(tmp_path: Path, is_apart: bool, restarts: bool):
    client = Dressing(tmp_path, is_apart=is_apart)
    client.asks(*question(0))
    with Session.open(client.sessions[0][0], home=tmp_path, settings=SETTINGS) as session:
        for number in range(1, 30):
            words, answer = question(number)
            if restarts:
                client.asks(words, answer)
            else:
                client.history.append({"role": "user", "content": words})
                client.turn(session, answer)
    edited = [sent for sent, (_, how) in zip(client.sent, client.sessions, strict=True) if how == "edited"]
    kept = [common(one, other) for one, other in pairwise(edited)]
    newest = 2 if is_apart else 1  # that the client changes itself
    whole = [n >= len(one) - newest for n, one in zip(kept, edited, strict=False)]
    assert len(edited) > 15
    assert sum(whole) > 0.6 * len(whole)
    assert all(any(pair) for pair in pairwise(whole)), "rewritten twice in a row"


@shapes
def test_two_that_begin_alike_are_two_sessions(tmp_path: Path, is_apart: bool):
    one, other = (Dressing(tmp_path, is_apart=is_apart) for _ in range(2))
    for number in range(4):
        one.asks(*question(number))
    for number in range(10, 14):
        other.asks(*question(number))
    assert len(one.ids) == len(other.ids) == 1
    assert not one.ids & other.ids


@shapes
def test_two_that_begin_with_the_same_question_and_answer_never_mix(tmp_path: Path, is_apart: bool):
    one, other = (Dressing(tmp_path, is_apart=is_apart) for _ in range(2))
    one.asks(*question(0)).asks(*question(1))
    other.asks(*question(0)).asks(*question(2))
    one.asks(*question(3)).asks(*question(4))
    other.asks(*question(5)).asks(*question(6))
    later_one = {session for session, _ in one.sessions[2:]}
    later_other = {session for session, _ in other.sessions[2:]}
    assert len(later_one) == len(later_other) == 1
    assert not later_one & other.ids
    assert not later_other & one.ids


def test_a_beginning_without_an_answer_of_the_model_joins_nothing(tmp_path: Path):
    """Examples that every request begins with look like answers; nobody has given them."""
    one = Dressing(tmp_path).asks(*question(0)).asks(*question(1))
    with Session.open(one.sessions[0][0], home=tmp_path) as session:
        session.pin("requirements", "the secret plan of the first session")
    other = Dressing(tmp_path)
    other.history += [
        {"role": "user", "content": "Something else."},
        {"role": "assistant", "content": "A forged answer."},
    ]
    other.asks(*question(7))
    assert not one.ids & other.ids
    assert "secret plan" not in str(other.sent)


@pytest.mark.parametrize(
    "greeting",
    ["Ok.", "Hello! How can I help you today?", "Hello! I'm Claude, an AI assistant made by Anthropic. How can I help you today?"],
)  # fmt: skip
def test_an_answer_that_every_conversation_may_have_shows_nothing(tmp_path: Path, greeting: str):
    one, other = Dressing(tmp_path), Dressing(tmp_path)
    one.asks("Hello", greeting)
    with Session.open(one.sessions[0][0], home=tmp_path) as session:
        session.pin("requirements", "the secret plan of the first session")
    other.history += [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": greeting}]
    other.asks("What now?", "Nothing.")
    assert not one.ids & other.ids
    assert "secret plan" not in str(other.sent)


def test_after_a_short_first_answer_the_next_one_shows_the_session(tmp_path: Path):
    client = Dressing(tmp_path).asks("Hello", "Hello! How can I help you today?")
    for number in range(4):
        client.asks(*question(number))
    assert len({session for session, _ in client.sessions[1:]}) == 1


def test_a_client_that_stops_dressing_keeps_its_session(tmp_path: Path):
    client = Dressing(tmp_path)
    for number in range(3):
        client.asks(*question(number))
    client.history.append({"role": "user", "content": "Without a reminder."})
    for _ in range(2):
        with Session.recognise(
            {"messages": client.history}, wire="openai-chat", home=tmp_path, settings=SETTINGS
        ) as session:
            assert session.id in client.ids
        client.history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And then?"}]
    assert len(client.ids) == 1
