"""Readiness and the end of a team's gateway, with real processes: no request that has begun is lost."""

import http.client
import json
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import apsw

from tests.proxy.builders import stream_of
from tests.proxy.team.builders import ANA, BODY, Serving, serving
from undrift.testing import Hold, RawUpstream, Send, Wait, response

PIECES, PAUSE_S = 6, 0.5
DRAIN = "[drain]\nnotice_s = 1\nlimit_s = {limit}\n"
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "text", "text": "one two three four five six"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 6},
}
HEAD = b"HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def slow_steps(*, is_endless: bool = False) -> list[Send | Wait | Hold]:
    """An answer that comes in pieces with pauses, of 3 seconds in all, or without an end."""
    events = stream_of("anthropic", ANSWER)
    steps: list[Send | Wait | Hold] = [Send(HEAD)]
    for event in events:
        steps += [Send(chunk(event)), Wait(PAUSE_S if len(steps) < 2 * PIECES else 0)]
    return [*steps[:4], Hold()] if is_endless else [*steps, Send(b"0\r\n\r\n")]


class Streamed(threading.Thread):
    """A client that reads a streamed answer."""

    def __init__(self, gateway: Serving) -> None:
        super().__init__(daemon=True)
        self._gateway = gateway
        self.body, self.error, self.has_begun = b"", "", threading.Event()
        self.start()

    def run(self) -> None:
        parts = urlsplit(self._gateway.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            connection.request("POST", f"/{ANA}/via/anthropic/v1/messages", json.dumps({**BODY, "stream": True}))
            answer = connection.getresponse()
            while piece := answer.read1():
                self.body += piece
                self.has_begun.set()
        except (OSError, http.client.HTTPException) as error:
            self.error = type(error).__name__
        finally:
            connection.close()


def ready(gateway: Serving) -> tuple[int, str]:
    heard = gateway.get("/undrift/ready")
    return heard.status, heard.json["status"]


def ready_until(gateway: Serving, status: str) -> tuple[int, str]:
    """Return what the gateway says once it says this; a check of the store holds for a second."""
    until = time.monotonic() + 20
    while (said := ready(gateway))[1] != status and time.monotonic() < until:
        time.sleep(0.1)
    return said


def test_after_sigterm_it_is_not_ready_at_once_and_a_running_answer_ends_whole(tmp_path: Path):
    with (
        RawUpstream(lambda _: slow_steps()) as upstream,
        serving(tmp_path, upstream.url, DRAIN.format(limit=30)) as gateway,
    ):
        assert ready_until(gateway, "ready") == (200, "ready")
        running = Streamed(gateway)
        assert running.has_begun.wait(20)
        began_s = time.monotonic()
        gateway.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        assert ready(gateway) == (503, "draining")
        assert gateway.get("/undrift/health").status == 200
        late = gateway.ask(ANA)  # a balancer has not seen it yet
        running.join(30)
        code = gateway.process.wait(30)
        took_s = time.monotonic() - began_s
        log = gateway.log.read_text()
    assert (running.error, running.body) == ("", b"".join(stream_of("anthropic", ANSWER)))
    assert (late.status, late.body) == (200, running.body)
    assert code == 0
    assert "Traceback" not in log
    print(f"exit {code} after {took_s:.1f} s; the running answer was whole: {len(running.body)} bytes")


def test_an_answer_beyond_the_limit_is_cut_and_the_exit_is_still_zero(tmp_path: Path):
    with (
        RawUpstream(lambda _: slow_steps(is_endless=True)) as upstream,
        serving(tmp_path, upstream.url, DRAIN.format(limit=1)) as gateway,
    ):
        running = Streamed(gateway)
        assert running.has_begun.wait(20)
        began_s = time.monotonic()
        gateway.process.send_signal(signal.SIGTERM)
        code = gateway.process.wait(30)
        took_s = time.monotonic() - began_s
        running.join(10)
    assert code == 0
    assert 2 <= took_s < 15
    assert running.error == "IncompleteRead"
    print(f"exit {code} after {took_s:.1f} s with an answer without end; its client saw {running.error}")


def test_without_a_request_it_ends_after_the_notice_and_a_second_signal_ends_it_sooner(tmp_path: Path):
    notice = "[drain]\nnotice_s = 60\n"
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream, serving(tmp_path, upstream.url, notice) as gateway:
        gateway.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert ready(gateway) == (503, "draining")
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(10) == 0


def test_it_is_not_ready_until_the_store_is_reached_and_not_while_it_is_lost(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    blocked = home / "service"
    blocked.write_text("not a folder")
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream, serving(home, upstream.url) as gateway:
        said = [ready(gateway)]
        assert gateway.ask(ANA).status == 200  # a request goes on all the same
        blocked.unlink()
        said.append(ready_until(gateway, "ready"))
    assert said == [(503, "starting"), (200, "ready")]
    print(said)


def test_a_store_that_cannot_be_written_while_it_runs_makes_it_unready_until_it_can(tmp_path: Path):
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream, serving(tmp_path, upstream.url) as gateway:
        said = [ready_until(gateway, "ready")]
        with closing(apsw.Connection(str(tmp_path / "service" / "undrift.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            said.append(ready_until(gateway, "store"))
        said.append(ready_until(gateway, "ready"))
    assert said == [(200, "ready"), (503, "store"), (200, "ready")]
    print(said)
