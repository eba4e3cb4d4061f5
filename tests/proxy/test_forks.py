"""Through the gateway: a fork under a new id continues where its parent was, and nobody else's request does."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, rounds, text, user
from tests.proxy.builders import PATHS, ask, gateway
from tests.proxy.strangers import ask_as_nobody, needs_other_users
from tests.stores.builders import raw
from undrift import Session, Settings
from undrift.testing import RawUpstream, Send, response

SECRET = "the-pin-of-the-parent"
ANSWER: Any = {
    "choices": [
        {"message": {"role": "assistant", "content": "The answer is a long one. " * 6}, "finish_reason": "stop"}
    ]
}


@pytest.fixture
def upstream() -> Iterator[RawUpstream]:
    with RawUpstream(lambda _: [Send(response(json.dumps(ANSWER).encode()))]) as found:
        yield found


def settings(home: Path) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", budget_tokens=3_000, keep_tool_results=2)


def of(session: str, *messages: Json) -> Json:
    named = json.dumps({"session_id": session})
    return body(user("Read the files."), *messages, metadata={"user_id": named})


def sent(upstream: RawUpstream) -> list[Any]:
    given: list[Any] = json.loads(upstream.requests[-1].body)["messages"]
    return given


@needs_other_users
def test_a_fork_of_the_owner_shares_the_window_and_one_of_another_user_gets_nothing(upstream, tmp_path: Path):
    files = rounds(30, characters=800)
    more = (assistant(text("All are read.")), user("Now go another way."))
    with Session.open("anthropic:parent", home=tmp_path, settings=settings(tmp_path)) as session:
        session.pin("requirements", SECRET)
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        ask(server.url, PATHS["anthropic"], of("parent", *files))
        parents = sent(upstream)
        forked = ask(server.url, PATHS["anthropic"], of("fork", *files, *more))
        forks = sent(upstream)
        stranger = ask_as_nobody(server.url, of("strangers-fork", *files, *more))
    assert forked.headers["x-undrift-session"] == "anthropic:fork"
    assert SECRET in str(parents)
    assert SECRET not in str(forks)
    assert len(parents) < len(files)
    assert forks[1 : len(parents) - 1] == parents[1:-1]  # the pin of the parent stands in its last message
    assert stranger is not None
    assert (stranger.status, len(upstream.requests)) == (401, 2)
    assert b"strangers-fork" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_client_that_dresses_its_newest_message_is_one_session(upstream, tmp_path: Path):
    history: list[Json] = [{"role": "system", "content": "You are an expert."}]
    said = ANSWER["choices"][0]["message"]
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        sessions = set()
        for number in range(6):
            question = f"Question {number}?"
            dressed = {"role": "user", "content": f"{question}\n\nReminder: whole files only."}
            asked = {"model": "gpt-5.5", "messages": [*history, dressed]}
            sessions.add(ask(server.url, PATHS["openai-chat"], asked).headers["x-undrift-session"])
            history += [{"role": "user", "content": question}, said]
            if number == 0:
                recorded(tmp_path)
    assert len(sessions) == 1


def recorded(home: Path) -> None:
    """Wait until the first answer is recorded; that is after its last byte was sent."""
    connection = raw(home)
    while not connection.execute("SELECT 1 FROM marks WHERE kind = 'answer'").fetchall():
        time.sleep(0.01)
    connection.close()
