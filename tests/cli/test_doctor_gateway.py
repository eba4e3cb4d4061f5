"""`undrift doctor` and the gateways of a home: which run, whether they are well, what they let pass, who can read the token."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.proxy.builders import ask
from tests.proxy.builders import gateway as gateway_of
from tests.proxy.served import needs_small_disks, served
from undrift.doctor.gateway import gateway
from undrift.stores.gateways import Presence, announce, known, withdraw
from undrift.testing import RawUpstream, Send, response
from undrift.values.provider import PROVIDERS

BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Fix it."}]}


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as found:
        yield found


def told(home: Path) -> dict[str, Any]:
    return {one.name: one for one in gateway(home)}


def test_a_home_that_never_had_a_gateway_says_nothing(tmp_path):
    assert told(tmp_path) == {}
    assert told(tmp_path / "absent") == {}


def test_one_that_is_well(upstream, tmp_path):
    with served(tmp_path / "home", upstream.url) as server:
        assert ask(server.url, body=BODY).status == 200
        found = told(server.home)
        shown = undrift("doctor", "--home", server.home)
    assert (found["gateway"].state, found["token"].state) == ("ok", "ok")
    assert f"{server.url}, process {server.pid}, since 20" in found["gateway"].text
    assert "1 requests, 0 of them passed unchanged" in found["gateway"].text
    assert found["gateway"].details == tuple(f"{name}: {upstream.url}" for name in sorted(PROVIDERS))
    assert "gateway: http://127.0.0.1" in shown.stdout
    assert set(told(tmp_path / "home")) == {"token"}  # it has taken its file away


def test_what_it_let_pass_is_counted_with_the_reason(upstream, tmp_path):
    with served(tmp_path / "home", upstream.url) as server:
        ask(server.url, body=b"{")
        ask(server.url, body=b"{", headers={"content-encoding": "gzip"})
        found = told(server.home)["gateway"]
    assert found.state == "note"
    assert "2 requests, 2 of them" in found.text
    assert [line.split(":")[0] for line in found.details[len(PROVIDERS) :]] == [
        "1 content-encoding",
        "1 not-understood",
    ]


def test_what_did_not_prove_itself_is_counted(upstream, tmp_path):
    with served(tmp_path / "home", upstream.url) as server:
        assert ask(server.url, body=BODY, headers={"sec-fetch-site": "cross-site"}).status == 401
        found = told(server.home)["gateway"]
    assert found.state == "note"
    assert found.details[len(PROVIDERS)].startswith("1 requests got 401: they had no token")


def test_one_that_does_not_take_the_token_of_its_home_is_wrong(monkeypatch, upstream, tmp_path):
    """As on a system that cannot name users, once the token was replaced."""
    monkeypatch.setattr("undrift.proxy.peer.tells_users", lambda: False)
    with gateway_of(tmp_path, upstream.url) as server:
        (tmp_path / "http-token").write_text("0" * 64)
        found = told(tmp_path)["gateway"]
        assert ask(server.url, body=BODY).status == 401
    assert found.state == "wrong"
    assert "it does not take the token of this home" in found.text


@needs_small_disks
def test_one_whose_store_fails_is_wrong(upstream, tmp_path):
    with served(tmp_path / "home", upstream.url, disk="4m", config={"recovery_s": 0.2}) as server:
        with suppress(OSError), (server.home / "filler").open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        for number in range(2):
            ask(server.url, body=BODY | {"max_tokens": number + 1})
        found = told(server.home)["gateway"]
    assert found.state == "wrong"
    assert "its store fails" in found.text
    assert "once the store can be written" in found.remedy


def test_one_that_was_killed_is_gone_and_one_that_hangs_is_wrong(upstream, tmp_path):
    home = tmp_path / "home"
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        announce(home, Presence(f"http://127.0.0.1:{port}", port, os.getpid(), 1, {}))
        mute.close()
        found = told(home)["gateway"]
    assert found.state == "wrong"
    assert "does not answer" in found.text
    withdraw(home, port)
    with served(home, upstream.url) as server:
        os.kill(server.pid, signal.SIGKILL)
    assert "ended without saying so" in told(home)["gateway"].text
    assert undrift("doctor", "--home", home).exit_code == 0
    (left,) = known(home)
    with served(home, upstream.url, config={"port": left.port}) as server:  # the next one on that port
        assert [one.pid for one in known(home)] == [server.pid]
    assert known(home) == ()


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o604])
def test_a_token_that_others_can_read_is_wrong(mode: int, upstream, tmp_path):
    with served(tmp_path / "home", upstream.url) as server:
        path = server.home / "http-token"
        path.chmod(mode)
        found = told(server.home)["token"]
        assert (found.state, "a new one is made" in found.remedy) == ("wrong", True)
        path.unlink()
        assert "is not there" in told(server.home)["token"].text
        path.symlink_to("/etc/hostname")
        assert told(server.home)["token"].state == "wrong"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"url": 5}', '{"url": 5, "port": 1, "pid": 1, "started_at_ms": 1, "upstreams": {}}', "\xff\x00"],
)
def test_a_file_that_is_none_of_ours_is_passed_over(text: str, tmp_path):
    (tmp_path / "gateway-1.json").write_text(text)
    (tmp_path / "gateway-2.json").symlink_to(tmp_path / "gateway-1.json")
    (tmp_path / "gateway-3.json").mkdir()
    assert known(tmp_path) == ()


def test_what_a_file_says_is_shown_harmless(tmp_path):
    announce(tmp_path, Presence("http://evil.example\x1b[2J:1", 1, os.getpid(), 10**17, {"a\x1b": "b\u202e"}))
    shown = undrift("doctor", "--home", tmp_path).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
