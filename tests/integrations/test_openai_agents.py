"""The OpenAI Agents SDK: items in their order whatever happens, and windows that fit."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="needs the package openai-agents (make conformance installs it)")

from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from undrift import Session, Settings
from undrift.integrations.openai_agents import UndriftSession, undrift_filter

SETTINGS = Settings(budget_tokens=3_000, token_counter="characters/4")
SECRET = "sk-ant-api03-" + "aB3" * 31 + "AA"


def item(text: str) -> Any:
    return {"role": "user", "content": text}


@pytest.fixture
def items(home: Path):
    with UndriftSession("s", home=home, settings=SETTINGS) as opened:
        yield opened


def test_items_come_back_in_their_order_after_a_restart(items: UndriftSession, home: Path):
    given = [item(text) for text in ("a", "é\ud800\0", "x" * 1_000_000, *map(str, range(100)))]
    asyncio.run(items.add_items(given))
    with UndriftSession("s", home=home, settings=SETTINGS) as other:
        assert asyncio.run(other.get_items()) == given
        assert asyncio.run(other.get_items(2)) == given[-2:]
        assert asyncio.run(other.get_items(0)) == []


def test_what_was_taken_away_is_gone_and_what_is_added_goes_on(items: UndriftSession):
    async def play() -> list[Any]:
        await items.add_items([item("a"), item("b")])
        popped = [await items.pop_item()]
        await items.add_items([])
        await items.add_items([item("c")])
        popped += [await items.pop_item(), await items.pop_item(), await items.pop_item()]
        await items.add_items([item("d")])
        await items.clear_session()
        assert await items.get_items() == []
        await items.add_items([item("e")])
        return [*popped, *await items.get_items()]

    assert asyncio.run(play()) == [item("b"), item("c"), item("a"), None, item("e")]


def test_sessions_of_one_home_are_apart(items: UndriftSession, home: Path):
    asyncio.run(items.add_items([item("a")]))
    with UndriftSession("s2", home=home, settings=SETTINGS) as other:
        assert asyncio.run(other.get_items()) == []


def test_many_at_once_lose_nothing(items: UndriftSession, home: Path):
    async def play() -> list[Any]:
        with UndriftSession("s", home=home, settings=SETTINGS) as other:
            await asyncio.gather(*((items, other)[n % 2].add_items([item(str(n)), item(f"{n}b")]) for n in range(20)))
        return await items.get_items()

    texts = [one["content"] for one in asyncio.run(play())]
    assert sorted(texts) == sorted([*map(str, range(20)), *(f"{n}b" for n in range(20))])
    assert all(texts[texts.index(str(n)) + 1] == f"{n}b" for n in range(20))


def test_a_cancelled_run_has_added_all_or_nothing(items: UndriftSession):
    async def play() -> list[Any]:
        task = asyncio.create_task(items.add_items([item("a"), item("b")]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await items.get_items()

    assert asyncio.run(play()) in ([], [item("a"), item("b")])


def test_secrets_are_masked_and_what_the_provider_checks_is_not(items: UndriftSession, home: Path):
    sealed = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": SECRET[13:]}
    asyncio.run(items.add_items([item(f"key {SECRET}"), sealed]))
    found = asyncio.run(items.get_items())
    assert SECRET not in found[0]["content"]
    assert found[1] == sealed
    items.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


@function_tool
def read(name: str) -> str:
    """Return a file."""
    return f"content of {name} " * 60


def test_each_window_fits_and_the_items_keep_everything(items: UndriftSession, home: Path):
    set_tracing_disabled(True)
    script: list[Any] = [[function_call("read", {"name": f"f{n}"}, call_id=f"c{n}")] for n in range(16)]
    model = ScriptedModel([*script, [assistant_message("done")]])
    agent = Agent("reader", instructions="Read.", model=model, tools=[read])
    seen: list[Any] = []
    with Session.open("w", home=home, settings=SETTINGS) as session:
        config = RunConfig(call_model_input_filter=undrift_filter(session, on_prepared=seen.append))
        asyncio.run(Runner.run(agent, "Go.", session=items, run_config=config, max_turns=20))
        assert session.find("content")
    assert len(asyncio.run(items.get_items())) == 34
    assert seen[-1].tokens_before > 3_000
    assert all(one.tokens_after <= one.budget_tokens for one in seen)
    for call in model.calls:
        asked = [one["call_id"] for one in call.input if one.get("type") == "function_call"]
        assert asked == [one["call_id"] for one in call.input if one.get("type") == "function_call_output"]
    assert model.calls[-1].input[0]["content"] == "Go."


def test_a_store_that_fails_leaves_the_agent_alone(home: Path, caplog: pytest.LogCaptureFixture):
    set_tracing_disabled(True)
    agent = Agent("a", model=ScriptedModel([[assistant_message("done")]]))
    with Session.open("w", home=home, settings=SETTINGS) as session:
        config = RunConfig(call_model_input_filter=undrift_filter(session))
    assert asyncio.run(Runner.run(agent, "Go.", run_config=config)).final_output == "done"
    assert "closed" in caplog.text
