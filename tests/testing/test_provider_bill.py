"""The scripted provider bills like the prompt cache, by a clock that a test moves, in whole answers and in streams."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from tests.testing.anthropic_talk import OLDER, body, marked, user
from undrift.testing import Bill, PriceList, Say, ScriptedProvider

TOOL = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}
MINUTE_MS = 60_000


class Clock:
    """It stands until it is moved."""

    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def wait(self, minutes: float) -> None:
        self.now_ms += int(minutes * MINUTE_MS)


def post(provider: ScriptedProvider, request: Mapping[str, Any]) -> str:
    asked = urllib.request.Request(f"{provider.url}/v1/messages", json.dumps(request).encode())
    with urllib.request.urlopen(asked, timeout=10) as reply:
        text: str = reply.read().decode()
    return text


def request(ttl: str | None, text: str = "x" * 40_000, **more: Any) -> dict[str, Any]:
    return body(user(marked(text, ttl)), model=OLDER, tools=[TOOL], **more)


def usage(provider: ScriptedProvider, asked: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(post(provider, asked))["usage"]


PAUSES = [("5m", 4, True), ("5m", 6, False), ("5m", 61, False), ("1h", 4, True), ("1h", 6, True), ("1h", 61, False)]


@pytest.mark.parametrize(("ttl", "minutes", "is_warm"), PAUSES)
def test_a_pause_ends_the_cache_whose_life_is_shorter(ttl: str, minutes: int, is_warm: bool):
    clock = Clock()
    with ScriptedProvider(clock=clock) as provider:
        first = usage(provider, request(ttl))
        clock.wait(minutes)
        second = usage(provider, request(ttl))
    written = first["cache_creation_input_tokens"]
    assert written > 10_000
    assert first["cache_creation"][f"ephemeral_{ttl}_input_tokens"] == written
    assert (second["cache_read_input_tokens"], second["cache_creation_input_tokens"]) == (
        (written, 0) if is_warm else (0, written)
    )
    assert [seen.at_ms for seen in provider.requests] == [clock.now_ms - minutes * MINUTE_MS, clock.now_ms]


def test_each_reading_starts_the_life_again():
    clock = Clock()
    with ScriptedProvider(clock=clock) as provider:
        for _ in range(3):
            usage(provider, request("5m"))
            clock.wait(4)
        found = usage(provider, request("5m"))
    assert found["cache_creation_input_tokens"] == 0
    assert found["cache_read_input_tokens"] > 10_000


def test_the_hour_of_the_instructions_outlives_the_five_minutes_of_the_messages():
    clock = Clock()
    with ScriptedProvider(clock=clock) as provider:
        asked = request("5m", system=[marked("y" * 40_000, "1h")])
        first = usage(provider, asked)["cache_creation"]
        clock.wait(6)
        second = usage(provider, asked)
    assert second["cache_read_input_tokens"] == first["ephemeral_1h_input_tokens"]
    assert second["cache_creation"] == {
        "ephemeral_5m_input_tokens": first["ephemeral_5m_input_tokens"],
        "ephemeral_1h_input_tokens": 0,
    }


def test_without_a_clock_nothing_expires():
    with ScriptedProvider() as provider:
        usage(provider, request("5m"))
        assert usage(provider, request("5m"))["cache_creation_input_tokens"] == 0
    assert provider.requests[0].at_ms is None


def test_a_stream_says_at_its_start_what_was_read_and_written():
    with ScriptedProvider(clock=Clock()) as provider:
        for _ in range(2):
            text = post(provider, request("1h", stream=True))
            events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
            said, bill = events[0]["message"]["usage"], provider.requests[-1].bill
            assert said["input_tokens"] == bill.fresh_tokens
            assert said["cache_read_input_tokens"] == bill.read_tokens
            assert said["cache_creation"]["ephemeral_1h_input_tokens"] == bill.long_tokens == bill.written_tokens
    assert [seen.bill.read_tokens > 10_000 for seen in provider.requests] == [False, True]


def test_the_running_bill_is_the_sum_and_a_refusal_costs_nothing():
    with ScriptedProvider([Say("Done.")], clock=Clock()) as provider:
        usage(provider, request("5m"))
        usage(provider, request("1h", "z" * 40_000))
        before = provider.bill
        with pytest.raises(urllib.error.HTTPError, match="400") as caught:
            post(provider, {**request("5m"), "messages": []})
        caught.value.close()
    first, second, refused = (seen.bill for seen in provider.requests)
    assert before == provider.bill == first + second
    assert refused == Bill()
    assert before.long_tokens == second.written_tokens < before.written_tokens
    assert before.prompt_tokens == before.fresh_tokens + before.read_tokens + before.written_tokens


def test_a_bill_is_priced_by_what_was_read_and_how_long_the_rest_was_written_for():
    bill = Bill(fresh_tokens=100, read_tokens=1_000, written_tokens=300, output_tokens=10, long_tokens=200)
    assert PriceList(5).cost(bill) == 100 + 100 + 125 + 400 + 50
    assert PriceList(5).usd(bill) == pytest.approx(775 * 5 / 1_000_000)
    assert PriceList(4, read_ratio=0.025, output_ratio=0).cost(bill) == 100 + 25 + 125 + 400
