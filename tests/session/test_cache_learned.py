"""Each model has a cache of its own, each verdict is checked by what was read, and a restarted session decides alike."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, rounds, text, user
from tests.session.test_prune_moments import MINUTE, Client
from undrift.values.prepared import Prepared

CLAUDE, SONNET, GPT = "claude-opus-4-5", "claude-sonnet-4-5", "gpt-5.4"
LARGE = 7_600  # of a budget of 8,000
HOUR = 60 * MINUTE


class Billed(Client):
    """A client whose provider says what it read; a request names the model, and more fields."""

    def __init__(self, home: Path, model: str = CLAUDE, **fields: Any) -> None:
        super().__init__(home)
        self.model, self.fields = model, fields

    def ask(self, *, after_ms: int = 1_000, read: float | None = 0.95, kept: str = "", **usage: Any) -> Prepared:
        """Send one more round; `read`: the share of the prompt that the answer says was read, None: no usage."""
        self.now_ms += after_ms
        self.messages += rounds(1, first=len(self.messages))
        prepared = self.session.prepare(body(*self.messages, model=self.model, **self.fields))
        if read is not None:
            cached = int(read * prepared.tokens_after)
            more = {f"ephemeral_{kept}_input_tokens": 9} if kept else {}
            given = {"input_tokens": prepared.tokens_after - cached, "cache_read_input_tokens": cached}
            self.session.record({"content": [], "usage": {**given, "cache_creation": more, **usage}})
        return prepared

    def kill(self) -> None:
        """Open the session again, without the end of the one before."""
        self.session = self.opened()

    def is_cold(self, *, after_ms: int, **given: Any) -> bool:
        prepared = self.ask(after_ms=after_ms, **given)
        return bool(prepared.actions) and self.moment(prepared) == "pause"


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("pause_ms", "is_cold"), [(6 * MINUTE, False), (6 * MINUTE + 1, True)])
def test_a_cache_is_cold_a_minute_after_its_life_also_for_a_session_that_was_closed(
    tmp_path: Path, restarts: bool, pause_ms: int, is_cold: bool
):
    client = Billed(tmp_path)
    client.fill(LARGE)
    if restarts:
        client.restart()
    assert client.is_cold(after_ms=pause_ms) is is_cold


@pytest.mark.parametrize(("pause_ms", "is_cold"), [(6 * MINUTE, False), (7 * MINUTE + 1, True)])
def test_after_a_kill_the_pause_is_known_to_a_minute_and_the_shorter_one_counts(
    tmp_path: Path, pause_ms: int, is_cold: bool
):
    client = Billed(tmp_path)
    client.fill(LARGE)
    client.kill()
    assert client.is_cold(after_ms=pause_ms) is is_cold


@pytest.mark.parametrize("restarts", [False, True])
def test_a_cache_that_was_read_after_its_end_lives_longer_than_was_believed(tmp_path: Path, restarts: bool):
    client = Billed(tmp_path)
    client.fill(5_000)  # a pause frees too little here, so that the prompt goes out whole
    assert not client.is_cold(after_ms=20 * MINUTE), "nothing left"
    if restarts:
        client.kill()
    client.fill(LARGE)
    assert not client.is_cold(after_ms=18 * MINUTE)
    asked = [one.payload for one in client.session.history() if one.kind == "asked"]
    assert any(one and one.get("cold_but_read") == 1 and one["read_after_seconds"] == 1_200 for one in asked)
    assert client.is_cold(after_ms=23 * MINUTE)


@pytest.mark.parametrize("restarts", [False, True])
def test_three_pauses_without_a_reading_teach_the_life_that_nobody_has_said(tmp_path: Path, restarts: bool):
    client = Billed(tmp_path, "some-model")
    client.fill(4_500)
    for minutes in (50, 70, 60):
        assert not client.is_cold(after_ms=minutes * MINUTE, read=0.0)
        if restarts:
            client.kill()
        client.ask()
    client.fill(LARGE)
    assert client.is_cold(after_ms=72 * MINUTE)


def test_two_pauses_without_a_reading_teach_nothing(tmp_path: Path):
    client = Billed(tmp_path, "some-model")
    client.fill(4_500)
    for minutes in (50, 70):
        client.ask(after_ms=minutes * MINUTE, read=0.0)
    client.fill(LARGE)
    assert not client.is_cold(after_ms=5 * HOUR)


def test_a_provider_that_reports_no_reading_is_taken_for_warm(tmp_path: Path):
    client = Billed(tmp_path, "some-model")
    client.fill(4_500, read=0.0)
    for minutes in (50, 70, 60):
        client.ask(after_ms=minutes * MINUTE, read=0.0)
    client.fill(LARGE, read=0.0)
    assert not client.is_cold(after_ms=5 * HOUR, read=0.0)


@pytest.mark.parametrize("restarts", [False, True])
def test_the_pause_and_the_life_of_one_model_say_nothing_of_another(tmp_path: Path, restarts: bool):
    client = Billed(tmp_path)
    client.fill(LARGE - 400, kept="1h")
    for _ in range(3):
        client.model = SONNET
        client.ask(after_ms=MINUTE, kept="5m")
    if restarts:
        client.restart()
    client.model = CLAUDE
    assert not client.is_cold(after_ms=20 * MINUTE), "an hour, whatever the other one had"
    client.model = SONNET
    assert client.is_cold(after_ms=2 * MINUTE), "its own last request is 25 minutes old, and it has five"


@pytest.mark.parametrize(
    ("model", "fields", "cold_after"),
    [
        (GPT, {}, 24 * HOUR),
        (GPT, {"prompt_cache_retention": "24h"}, 24 * HOUR),
        (GPT, {"prompt_cache_retention": "in_memory"}, 24 * HOUR),  # asked for, and nobody has said it was done
        ("gpt-4o", {}, HOUR),
        ("gpt-4o", {"prompt_cache_retention": "24h"}, 24 * HOUR),
        ("gpt-4o", {"prompt_cache_retention": ["24h"]}, HOUR),
        ("gpt-6-sol", {"prompt_cache_options": {"ttl": "30m"}}, 24 * HOUR),  # the least, not the most
        (CLAUDE, {"prompt_cache_retention": "24h"}, 24 * HOUR),
    ],
)
def test_a_retention_that_is_asked_for_only_lengthens_the_life(
    tmp_path: Path, model: str, fields: Json, cold_after: int
):
    client = Billed(tmp_path, model, **fields)
    client.fill(LARGE)
    assert not client.is_cold(after_ms=cold_after + MINUTE, read=None)
    assert client.is_cold(after_ms=cold_after + MINUTE + 1, read=None)


def test_an_answer_that_says_in_memory_shortens_it_to_an_hour_and_costs_nothing_more(tmp_path: Path):
    client = Billed(tmp_path, "gpt-6-sol")
    client.fill(LARGE - 400, read=None)
    client.ask(after_ms=MINUTE, read=None)  # its time is stored
    reply = {"output": [], "prompt_cache_retention": "in_memory", "usage": {"input_tokens": 9}}
    client.session.record(reply, wire="openai-responses")
    assert not client.is_cold(after_ms=61 * MINUTE, read=None)
    assert client.is_cold(after_ms=61 * MINUTE + 1, read=None)


@pytest.mark.parametrize("value", [-1, 2**70, float("nan"), float("inf"), "9000", True, [1], None, {"a": 1}])
def test_a_broken_or_hostile_usage_changes_nothing(tmp_path: Path, value: Any):
    client = Billed(tmp_path)
    client.fill(5_000)
    broken = {"input_tokens": value, "cache_read_input_tokens": value, "cache_creation": value}
    client.ask(after_ms=20 * MINUTE, **broken)
    client.fill(LARGE)
    assert client.is_cold(after_ms=7 * MINUTE, **broken)


def test_an_explicit_cache_that_is_read_says_nothing_of_the_history(tmp_path: Path):
    """Gemini counts what a request names by its id as read, for as long as its maker has said elsewhere."""
    client = Client(tmp_path)
    said: list[Json] = []

    def ask(after_ms: int) -> Prepared:
        client.now_ms += after_ms
        said.append({"role": "user", "parts": [{"text": f"{len(said)} " + "line of a log " * 60}]})
        sent = {"contents": said, "cachedContent": "cachedContents/1"}
        prepared = client.session.prepare(sent, wire="gemini", model="gemini-3-flash")
        said.append({"role": "model", "parts": [{"text": "Read."}]})
        usage = {"promptTokenCount": prepared.tokens_after, "cachedContentTokenCount": prepared.tokens_after - 300}
        client.session.record({"candidates": [], "usageMetadata": usage}, wire="gemini")
        return prepared

    while ask(1_000).tokens_after < 6_500:
        pass
    ask(30 * HOUR)
    asked = [one.payload or {} for one in client.session.history() if one.kind == "asked"]
    assert len(asked) > 1
    assert not any("read_after_seconds" in one or "cold_but_read" in one for one in asked)


def test_a_change_of_the_client_that_was_read_all_the_same_is_not_believed_again(tmp_path: Path):
    client = Billed(tmp_path)
    client.fill(5_000)
    for number in range(3):
        client.fields = {"system": [text(f"It is {number} o'clock.")]}
        client.ask()
    asked = [one.payload or {} for one in client.session.history() if one.kind == "asked"]
    assert asked[-1]["harmless"] == ["system"]
    client.restart()
    client.messages.append(user("Go on."))
    client.ask()
    client.restart()
    assert [one.payload or {} for one in client.session.history() if one.kind == "asked"][-1]["harmless"] == ["system"]
