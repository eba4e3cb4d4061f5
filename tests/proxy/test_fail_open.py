"""Whatever fails on our side, the client's own bytes reach the provider, and the answer says so."""

import json
import logging
import threading
from typing import Any

import apsw
import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.proxy.sessions import Sessions
from undrift.testing import RawUpstream, Send, response

ANSWER = response(b'{"id": "m", "content": []}')


def body(words: str = "Fix it.", rounds: int = 0) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": words}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Bash", "input": {"command": f"run {number}"}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:08}", "content": f"output {number} " * 200}
        messages.append({"role": "user", "content": [result]})
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}


def settings(home: Any, **more: Any) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", keep_tool_results=1, **more)


@pytest.fixture
def upstream():
    with RawUpstream(lambda _: [Send(ANSWER)]) as found:
        yield found


def test_a_bug_of_ours_costs_nobody_an_answer(upstream, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "undrift.proxy")

    def broken(*_: Any) -> Any:
        raise RuntimeError("secret words of the user")

    monkeypatch.setattr(Sessions, "_prepared", broken)
    sent = json.dumps(body(rounds=9), indent=2).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path, budget_tokens=500)) as server:
        heard = [ask(server.url, body=sent, headers={"x-undrift-session": "s"}) for _ in range(5)]
    assert [one.status for one in heard] == [200] * 5
    assert [one.headers["x-undrift-bypass"] for one in heard] == ["fault"] * 3 + ["repeated-faults"] * 2
    assert [request.body for request in upstream.requests] == [sent] * 5
    faults = [json.loads(record.message) for record in caplog.records if record.levelno >= logging.ERROR]
    assert [fault["reason"] for fault in faults] == ["fault"] * 3  # one line each
    assert "secret words" not in caplog.text


def test_a_locked_store_delays_nobody_beyond_the_deadline(upstream, tmp_path):
    sent = json.dumps(body(rounds=9)).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path, budget_tokens=500), deadline_s=0.3) as server:
        assert "x-undrift-bypass" not in ask(server.url, body=body("another")).headers
        writer = apsw.Connection(str(tmp_path / "undrift.db"))
        writer.set_busy_timeout(10_000)  # the session's name may be on its way to the store
        writer.execute("BEGIN IMMEDIATE")
        try:
            heard = ask(server.url, body=sent)
        finally:
            writer.execute("ROLLBACK")
            writer.close()
    assert heard.headers["x-undrift-bypass"] == "deadline"
    assert upstream.requests[-1].body == sent


def test_nothing_leaves_the_window_that_cannot_be_stored(upstream, tmp_path, monkeypatch):
    from undrift.errors import StoreError
    from undrift.stores.sqlite import SqliteStore

    def full(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(SqliteStore, "commit", full)
    sent = json.dumps(body(rounds=9)).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path, budget_tokens=500)) as server:
        heard = ask(server.url, body=sent)
    assert heard.headers["x-undrift-bypass"] == "store"
    assert upstream.requests[-1].body == sent


def test_a_home_that_cannot_be_written_stops_no_request(upstream, tmp_path):
    home = tmp_path / "home"
    home.write_text("a file stands in its place")
    sent = json.dumps(body()).encode()
    with gateway(home, upstream.url) as server:
        heard = ask(server.url, body=sent)
        health = ask(server.url, "/undrift/health", method="GET")
    assert (heard.status, heard.headers["x-undrift-bypass"]) == (200, "store")
    assert upstream.requests[-1].body == sent
    assert (health.status, health.json["status"]) == (503, "degraded")


def test_a_session_is_managed_again_once_health_has_returned(upstream, tmp_path, monkeypatch):
    healthy, works = threading.Event(), Sessions.health
    found = Sessions._find

    def broken(self: Sessions, *given: Any) -> Any:
        if not healthy.is_set():
            raise RuntimeError
        return found(self, *given)

    monkeypatch.setattr(Sessions, "_find", broken)
    monkeypatch.setattr(Sessions, "health", lambda self: works(self) if healthy.is_set() else "not yet")
    with gateway(tmp_path, upstream.url, settings(tmp_path), recovery_s=0.0) as server:
        reasons = [ask(server.url, body=body()).headers.get("x-undrift-bypass") for _ in range(5)]
        healthy.set()
        last = [ask(server.url, body=body()).headers.get("x-undrift-bypass") for _ in range(2)]
    assert reasons == ["fault", "fault", "fault", "unhealthy", "unhealthy"]
    assert last == [None, None]
    assert len(upstream.requests) == 7


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"[]", b'{"messages": "none"}', b'{"model": "m"}', b'{"messages": [' + b"[" * 3000, b"\xff\xfe\x00"],
    ids=["empty", "cut", "array", "no-list", "no-history", "deep", "no-json"],
)
def test_what_is_not_understood_is_for_the_provider_to_refuse(sent, upstream, tmp_path):
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=sent)
    assert heard.headers["x-undrift-bypass"] == "not-understood"
    assert upstream.requests[-1].body == sent


def test_a_body_that_is_too_large_or_compressed_passes_unread(upstream, tmp_path):
    large = json.dumps(body("x" * 300_000)).encode()
    with gateway(tmp_path, upstream.url, settings(tmp_path), most_body_bytes=100_000) as server:
        first = ask(server.url, body=large)
        second = ask(server.url, body=b"\x28\xb5\x2f\xfd", headers={"content-encoding": "zstd"})
    assert first.headers["x-undrift-bypass"] == "too-large"
    assert second.headers["x-undrift-bypass"] == "content-encoding"
    assert [request.body for request in upstream.requests] == [large, b"\x28\xb5\x2f\xfd"]
    assert upstream.requests[0].header["content-length"] == str(len(large))
    assert upstream.requests[1].header["content-encoding"] == "zstd"


def test_requests_of_one_session_at_once_are_all_answered(upstream, tmp_path):
    heard: list[Any] = []
    with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:

        def go(number: int) -> None:
            heard.append(ask(server.url, body=body(f"words {number}"), headers={"x-undrift-session": "s"}))

        threads = [threading.Thread(target=go, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(one.status, one.headers.get("x-undrift-bypass")) for one in heard] == [(200, None)] * 16


def test_more_sessions_than_are_kept_open(upstream, tmp_path):
    with gateway(tmp_path, upstream.url, settings(tmp_path), most_sessions=2) as server:
        for turn in range(2):
            for number in range(5):
                named = {"x-undrift-session": f"s{number}"}
                assert "x-undrift-bypass" not in ask(server.url, body=body(rounds=turn), headers=named).headers
