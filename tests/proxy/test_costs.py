"""The gateway says what its provider's cache costs: in the log, each sentence once, and to a status line that asks."""

import json
import logging
import socket
import time
from pathlib import Path
from typing import Any, Self

import pytest

from tests.hooks.builders import User
from tests.hooks.test_status_line import SESSION, payload
from tests.proxy.builders import ask, gateway, token
from tests.proxy.test_fail_open import body
from undrift import Settings
from undrift.hooks.answer import answer
from undrift.hooks.gateway import sentences as sentences_in
from undrift.hooks.status_line import status_line
from undrift.stores.gateways import Presence, announce
from undrift.stores.secret import http_token
from undrift.testing import Say, ScriptedProvider

HOUR = {"type": "ephemeral", "ttl": "1h"}
MINUTE_MS = 60_000


class Room:
    """A client that the gateway serves, and a provider; the time of both is moved by hand."""

    def __init__(self, home: Path, budget: Any = "auto") -> None:
        self.home = home
        self.now_ms = 1_800_000_000_000
        self.settings = Settings(home=str(home), budget_tokens=budget)
        self.provider = ScriptedProvider([Say("Done.") for _ in range(60)], clock=lambda: self.now_ms)
        self.gateway = gateway(home, self.provider.url, self.settings, clock=lambda: self.now_ms)

    def __enter__(self) -> Self:
        self.provider.__enter__()
        self.url = self.gateway.__enter__().url
        return self

    def __exit__(self, *error: object) -> None:
        self.gateway.__exit__(None, None, None)
        self.provider.close()

    def turn(self, rounds: int, *, minutes: float = 1, system: str = "Be brief. ") -> None:
        """Send a history of so many rounds, so many minutes after the last one."""
        self.now_ms += round(minutes * MINUTE_MS)
        user = json.dumps({"device_id": "d", "account_uuid": "", "session_id": SESSION})
        request = body("Fix it.", rounds) | {"system": system * 3_000, "metadata": {"user_id": user}}
        request["messages"][-1]["content"][-1]["cache_control"] = HOUR
        assert ask(self.url, f"/{token(self.home)}/via/anthropic/v1/messages", request).status == 200
        for _ in range(200):  # the answer is recorded after its last byte
            if (self.window()["notices"] or [{}])[0].get("seconds") == 3_600:
                return
            time.sleep(0.02)
        raise AssertionError("the answer was not recorded")

    def window(self) -> Any:
        heard = ask(self.url, f"/undrift/window/{SESSION}", method="GET", headers={"x-undrift-token": token(self.home)})
        return heard.json if heard.status == 200 else None

    def notices(self) -> dict[str, Any]:
        return {one["kind"]: one for one in self.window()["notices"]}


def sentences(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one["said"] for one in map(json.loads, caplog.messages) if one["event"] == "cost"]


@pytest.fixture(autouse=True)
def _logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "undrift.proxy")


def test_before_the_cache_is_cold_it_counts_down(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with Room(tmp_path) as room:
        room.turn(3)
        room.turn(4)
        room.now_ms += 56 * MINUTE_MS + 50_000
        notice = room.notices()["cold_in"]
        assert notice["short"] == "cache cold in 3:10"
        assert status_line(payload(), tmp_path, tmp_path).endswith(" · cache cold in 3:10")
    assert sentences(caplog) == []


def test_after_a_pause_the_route_and_the_log_say_what_the_provider_then_bills(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with Room(tmp_path) as room:
        for rounds in range(1, 8):
            room.turn(rounds)
        room.now_ms += 70 * MINUTE_MS
        away = room.notices()["away"]
        room.turn(8, minutes=0)
        room.turn(9)
    billed = room.provider.requests[-2].bill
    assert away["seconds"] == 70 * 60
    assert away["tokens"] == pytest.approx(billed.written_tokens, rel=0.1)
    assert sentences(caplog) == [away["text"]]


def test_what_undrift_prunes_first_is_not_announced_as_written(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with Room(tmp_path) as room:
        for rounds in range(2, 100, 2):
            room.turn(rounds)
        room.now_ms += 70 * MINUTE_MS
        found = room.notices()
        line = status_line(payload(), tmp_path, tmp_path)
        hook = User(tmp_path)
        shown = answer("UserPromptSubmit", payload_of(hook), hook_options(tmp_path))
        room.turn(100, minutes=0)
    billed = room.provider.requests[-1].bill
    assert found["free_prune"]["tokens"] > 5_000
    assert found["away"]["tokens"] == pytest.approx(billed.written_tokens, rel=0.15), "two new rounds come on top"
    assert json.loads(shown) == {"systemMessage": f"undrift: {found['away']['text']} {found['free_prune']['text']}"}
    assert line.endswith(f" · {found['away']['short']}")
    assert sentences(caplog) == [found["away"]["text"], found["free_prune"]["text"]]


def payload_of(user: User) -> bytes:
    return json.dumps({"session_id": SESSION, "transcript_path": str(user.transcript()), "cwd": "/repo"}).encode()


def hook_options(home: Path) -> Any:
    from undrift.hooks.call import Options

    return Options("claude", str(home), str(home / "claude"), 1)


def test_a_client_that_changes_its_prompt_is_named_once_with_the_part_and_the_byte(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with Room(tmp_path) as room:
        for number, system in enumerate(("Be brief. ", "Be brief. ", "Be short. ", "Be short. ", "Be quick. "), 2):
            room.turn(number, system=system)
        notice = room.notices()["rewrites"]
    (first,) = sentences(caplog)
    assert first.startswith("Your client changed its system prompt from byte ")
    assert " of the request on: the provider wrote 1 prompt whole, " in first
    assert " of the request on: the provider wrote 2 prompts whole, " in notice["text"]
    rewritten = [seen.bill.written_tokens for seen in room.provider.requests][2::2]
    assert notice["tokens"] == pytest.approx(sum(rewritten), rel=0.1)


def test_a_prune_of_undrifts_is_not_the_clients(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with Room(tmp_path, budget=12_000) as room:
        for rounds in range(1, 30):
            room.turn(rounds)
        assert "rewrites" not in room.notices()
        assert any(line.get("actions") for line in map(json.loads, caplog.messages))
    assert sentences(caplog) == []


def test_a_window_of_another_program_is_not_believed(tmp_path: Path):
    far = {"kind": "away", "short": "x" * 400, "text": "\x1b[2J"}
    near = {"kind": "away", "short": "a short one", "text": "a text"}
    for notices in (None, 7, [None, 7, {}, {"kind": "away"}, {"kind": "away", "short": 7}, far]):
        assert list(sentences_in({"notices": notices}, "short", "away")) == []
    assert list(sentences_in({"notices": [far, near]}, "short", "away")) == ["a short one"]
    assert list(sentences_in([], "short", "away")) == []
    http_token(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        announce(tmp_path, Presence(f"http://127.0.0.1:{port}", port, 1, 0, {}))
        assert status_line(payload(), tmp_path, tmp_path) == ""
