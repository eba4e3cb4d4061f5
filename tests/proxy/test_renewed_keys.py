"""A provider's credential may be renewed at any request: the session stays the owner's, with the same pins, decisions and bytes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import MODELS, PATHS, ask, gateway
from tests.proxy.test_managed import WORDS, Provider, settings
from undrift import Session
from undrift.stores.opening import open_store
from undrift.testing import RawUpstream, Result, history_for
from undrift.values.scope import Scope

TURNS = 9
PIN = "The release is on Friday."
OAUTH = {"authorization": "Bearer a-login-of-oauth"}
KEYS: dict[str, tuple[dict[str, str], ...]] = {
    "anthropic": ({"x-api-key": "K1"}, {"x-api-key": "K2"}, {**OAUTH, "anthropic-beta": "oauth-2025-04-20"}),
    "openai-chat": ({"authorization": "Bearer K1"}, {"authorization": "Bearer K2"}, OAUTH),
    "openai-responses": (
        {"authorization": "Bearer K1"},
        {"authorization": "Bearer K2"},
        {**OAUTH, "chatgpt-account-id": "an-account"},
    ),
    "gemini": ({"x-goog-api-key": "K1"}, {"x-goog-api-key": "K2"}, OAUTH),
}


def sent_with(wire: str, keys: tuple[dict[str, str], ...], home: Path) -> tuple[list[bytes], list[Any], dict[str, Any]]:
    """A session whose requests have these keys, each as often; what was sent, its responses' heads, and what was decided."""
    provider, heads = Provider(wire), []
    history = history_for(wire, model=MODELS[wire])
    history.say("Fix the test.")
    with RawUpstream(provider) as upstream, gateway(home, upstream.url, settings(home)) as server:
        for turn in range(TURNS):
            given = keys[turn * len(keys) // TURNS]
            heard = ask(server.url, PATHS[wire], history.body(), headers=given)
            assert heard.status == 200, heard.body
            heads.append({name: value for name, value in heard.headers.items() if name.startswith("x-undrift-")})
            if not turn:
                with Session.open(heads[0]["x-undrift-session"], home=str(home), settings=settings(home)) as session:
                    session.pin("requirements", PIN)
            assert given.items() <= upstream.requests[-1].header.items()
            history.take(provider.answers[-1])
            history.answer([Result(WORDS * 120)])
        bodies = [one.body for one in upstream.requests]
    with closing(open_store(home, Scope())) as store:
        decided = store.decisions(heads[0]["x-undrift-session"])
    return bodies, heads, decided


@pytest.mark.parametrize("wire", PATHS)
def test_a_key_that_is_renewed_changes_no_byte(wire: str, tmp_path: Path):
    bodies, heads, decided = sent_with(wire, KEYS[wire][:1], tmp_path / "one")
    assert sent_with(wire, KEYS[wire], tmp_path / "three") == (bodies, heads, decided)
    assert len(decided) > 3
    assert all(PIN.encode() in body for body in bodies[1:])
    assert len({head["x-undrift-session"] for head in heads}) == 1
