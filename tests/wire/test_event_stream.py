"""Frames of Amazon's event stream: whole ones are read, everything else is no answer and no error."""

import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.test_sse import answer
from undrift.testing.clouds import framed
from undrift.testing.forms import stream_of
from undrift.wire import event_stream, sse


def chunk(text: bytes) -> bytes:
    return framed(b"data: " + text + b"\n\n")


def test_a_framed_answer_says_what_the_stream_in_it_says():
    whole = answer("anthropic")
    stream = stream_of("anthropic", whole)
    for with_text in (True, False):
        assert sse.answer_of("anthropic", framed(stream), with_text=with_text) == sse.answer_of(
            "anthropic", stream, with_text=with_text
        )


def test_a_cut_stream_is_no_answer():
    data = framed(stream_of("anthropic", answer("anthropic")))
    assert sse.answer_of("anthropic", data) is not None
    assert all(sse.answer_of("anthropic", data[:cut]) is None for cut in range(0, len(data), 7))
    assert sse.answer_of("anthropic", data[:-1]) is None


def test_a_frame_with_a_wrong_checksum_ends_the_reading():
    first, second = chunk(b'{"type": "ping"}'), chunk(b'{"type": "message_stop"}')
    assert event_stream.events(first + second) == [b'{"type": "ping"}', b'{"type": "message_stop"}']
    for at in range(len(second)):
        changed = bytearray(second)
        changed[at] ^= 1
        assert event_stream.events(first + bytes(changed)) == [b'{"type": "ping"}']


def frame(headers: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def text(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value


def test_an_exception_is_an_error_and_so_no_answer():
    thrown = frame(text(b":message-type", b"exception") + text(b":exception-type", b"throttlingException"), b"{}")
    assert [json.loads(event)["type"] for event in event_stream.events(thrown)] == ["error"]
    data = framed(stream_of("anthropic", answer("anthropic")))
    assert sse.answer_of("anthropic", thrown + data) is None


@pytest.mark.parametrize(
    ("headers", "payload"),
    [
        (text(b":event-type", b"initial-response"), b"{}"),
        (text(b":event-type", b"chunk"), b"no json"),
        (text(b":event-type", b"chunk"), b'{"bytes": 5}'),
        (text(b":event-type", b"chunk"), b'{"bytes": "\xc3\xa9"}'),
        (text(b":event-type", b"chunk"), b'{"bytes": "a"}'),
        (text(b":event-type", b"chunk"), b"[]"),
        (text(b":event-type", b"chunk"), b"[" * 5_000),
    ],
)
def test_a_frame_that_holds_no_event_is_passed_over(headers: bytes, payload: bytes):
    assert event_stream.events(frame(text(b":message-type", b"event") + headers, payload)) == []


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_raise(headers: bytes, payload: bytes):
    assert event_stream.events(b"\0" + headers) == []
    assert all(isinstance(event, bytes) for event in event_stream.events(frame(headers, payload)))
