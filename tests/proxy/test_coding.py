"""Compressed requests: managed like others, and passed on byte for byte where nothing was edited or nothing can be undone."""

import gzip
import json
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway
from undrift import Settings
from undrift.proxy.ask import Bypass
from undrift.proxy.coding import decoded, encoded
from undrift.testing import RawUpstream, Send, response

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
}
ANSWER = response(b'{"id": "m", "content": []}')
MOST = 1 << 16


def body(rounds: int) -> bytes:
    messages: list[Any] = [{"role": "user", "content": "Fix it."}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Bash", "input": {"command": f"run {number}"}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:08}", "content": f"output {number} " * 200}
        messages.append({"role": "user", "content": [result]})
    return json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}, indent=1).encode()


def settings(home: Any) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", keep_tool_results=1, budget_tokens=2_000)


@pytest.mark.parametrize("coding", PACK)
def test_a_compressed_request_is_managed_and_unedited_ones_keep_their_bytes(coding, tmp_path):
    short, long = PACK[coding](body(2)), PACK[coding](body(20))
    with (
        RawUpstream(lambda _: [Send(ANSWER)]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = [
            ask(server.url, body=sent, headers={"content-encoding": coding, "x-undrift-session": "s"})
            for sent in (short, long)
        ]
    assert [one.headers.get("x-undrift-bypass") for one in heard] == [None, None]
    first, second = upstream.requests
    assert (first.body, first.header["content-encoding"]) == (short, coding)
    assert second.header["content-encoding"] == coding
    sent = decoded(second.body, coding, 1 << 20)
    assert len(sent) < len(body(20))
    assert json.loads(sent)["messages"][0] == {"role": "user", "content": "Fix it."}
    assert second.header["content-length"] == str(len(second.body))


def test_a_refused_length_is_answered_with_a_smaller_request(tmp_path):
    said = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 4000 maximum"}}'
    steps = iter([response(said, status=400), ANSWER])
    given = Settings(home=str(tmp_path), token_counter="characters/4", keep_tool_results=1)
    with (
        RawUpstream(lambda _: [Send(next(steps))]) as upstream,
        gateway(tmp_path, upstream.url, given) as server,
    ):
        heard = ask(server.url, body=zstd.compress(body(20)), headers={"content-encoding": "zstd"})
    assert heard.status == 200
    first, second = upstream.requests
    assert (first.body, first.header["content-encoding"]) == (zstd.compress(body(20)), "zstd")
    assert second.header["content-encoding"] == "zstd"
    sent = decoded(second.body, "zstd", 1 << 20)
    assert len(sent) < len(body(20))
    json.loads(sent)


BOMBS = {
    "gzip": gzip.compress(b"\0" * (8 << 20)),
    "zstd": zstd.compress(b"\0" * (8 << 20)),
    "gzip, twice": gzip.compress(b" " * MOST) * 2,
    "zstd, twice": zstd.compress(b" " * MOST) * 2,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_body_that_would_fill_the_memory_passes_as_it_came(name, tmp_path):
    sent = BOMBS[name]
    with (
        RawUpstream(lambda _: [Send(ANSWER)]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path), most_body_bytes=MOST) as server,
    ):
        heard = ask(server.url, body=sent, headers={"content-encoding": name.partition(",")[0]})
    assert heard.headers["x-undrift-bypass"] == "too-large"
    assert upstream.requests[0].body == sent


DAMAGED = {
    "another coding": (b"abc", "br"),
    "two codings": (gzip.compress(zstd.compress(body(1))), "zstd, gzip"),
    "cut gzip": (gzip.compress(body(9))[:-9], "gzip"),
    "cut zstd": (zstd.compress(body(9))[:-9], "zstd"),
    "no gzip": (body(1), "gzip"),
    "no zstd": (body(1), "zstd"),
    "more behind": (zstd.compress(body(1)) + b"{}", "zstd"),
    "a window of 1 GiB": (bytes.fromhex("28b52ffd00a0") + b"\x01\0\0", "zstd"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_undone_whole_passes_as_it_came(name, tmp_path):
    sent, coding = DAMAGED[name]
    with (
        RawUpstream(lambda _: [Send(ANSWER)]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path)) as server,
    ):
        heard = ask(server.url, body=sent, headers={"content-encoding": coding})
    assert heard.headers["x-undrift-bypass"] == "content-encoding"
    assert (upstream.requests[0].body, upstream.requests[0].header["content-encoding"]) == (sent, coding)


@pytest.mark.parametrize("coding", PACK)
def test_the_limit_is_of_the_decoded_body_and_exact(coding):
    packed = PACK[coding](b"x" * MOST)
    assert decoded(packed, f" {coding.upper()} ", MOST) == b"x" * MOST
    with pytest.raises(Bypass, match="too-large"):
        decoded(packed, coding, MOST - 1)
    assert decoded(packed + PACK[coding](b"yz"), coding, 2 * MOST) == b"x" * MOST + b"yz"
    assert decoded(b"as it is", "identity", MOST) == encoded(b"as it is", "identity") == b"as it is"
    assert decoded(encoded(b"x" * MOST, coding), coding, MOST) == b"x" * MOST
    assert encoded(b"x" * MOST, coding) == encoded(b"x" * MOST, coding)


def test_a_body_of_countless_empty_frames_is_not_decoded():
    assert decoded(gzip.compress(b"") * 63 + gzip.compress(b"{}"), "gzip", 9) == b"{}"
    with pytest.raises(Bypass, match="content-encoding"):
        decoded(gzip.compress(b"") * 65, "gzip", 9)
