"""Detection, damaged lines and hostile values: never an exception but the one that says what to do."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.builders import (
    answered,
    assistant,
    attached,
    called,
    claude,
    codex,
    item,
    lines,
    meta,
    said,
    spoken,
    user,
)
from undrift import transcripts
from undrift.errors import TranscriptError
from undrift.transcripts.lines import MAX_DEPTH, decode, milliseconds
from undrift.values.window import ContextEntry

CLAUDE = lines(
    user("Fix the login", uuid="u1"),
    assistant({"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, called("t1", path="a"), id="m1", uuid="a1"),
    user([answered("t1", [{"type": "text", "text": "x"}, {"type": "image"}])], uuid="u2"),
    attached("file", filename="f", content={"type": "text", "file": {"content": "y"}}),
    claude("system", subtype="compact_boundary"),
    user("summary", isCompactSummary=True, uuid="u3"),
    assistant(said("done"), id="m2", uuid="a2"),
)
CODEX = lines(
    codex("session_meta", id="s", cwd="/r", base_instructions={"text": "base"}),
    codex("turn_context", model="gpt-x"),
    spoken("user", "Fix the login"),
    item("reasoning", summary=[{"type": "summary_text", "text": "Hm"}], encrypted_content="gAAA"),
    item("function_call", call_id="c1", name="f", arguments='{"a": 1}'),
    item("function_call_output", call_id="c1", output=[{"type": "input_text", "text": "x"}]),
    codex("compacted", message="", replacement_history=[spoken("user", "new")["payload"]]),
)


def test_the_format_is_detected():
    assert transcripts.detect(CLAUDE) == "claude-code"
    assert transcripts.detect(CODEX) == "codex"
    assert list(transcripts.FORMATS)[:2] == ["claude-code", "codex"]


@pytest.mark.parametrize("other", [[], [""], ["# notes"], ['{"role": "user", "content": "hi"}'], ["[1, 2]"]])
def test_an_unknown_file_names_the_formats_that_are_known(other):
    with pytest.raises(TranscriptError, match=r"claude-code, codex"):
        transcripts.detect(other)
    with pytest.raises(TranscriptError, match=r"claude-code, codex"):
        transcripts.read(other)


def test_read_detects_and_counts_a_token_for_every_four_characters_begun():
    got = transcripts.read(iter(CLAUDE))
    assert got.format == "claude-code"
    assert got.entries[0].token_count == math.ceil(len("Fix the login") / 4)
    assert transcripts.read(CODEX, count=len).entries[0].token_count == 4


def test_a_named_format_is_not_detected():
    damaged = ["no json"] * transcripts.HEAD_LINES + CODEX
    assert transcripts.read(damaged, format="codex").skipped["malformed line"] == transcripts.HEAD_LINES
    with pytest.raises(TranscriptError, match="formats"):
        transcripts.read(damaged)
    with pytest.raises(TranscriptError, match=r"'cobol'; known are claude-code, codex"):
        transcripts.read(CODEX, format="cobol")


def test_a_session_without_a_message_says_what_was_passed_over_and_what_to_do():
    with pytest.raises(TranscriptError, match=r"client record: summary \(1\).*give a session"):
        transcripts.read(lines({"type": "summary", "summary": "A title", "leafUuid": "x"}))
    with pytest.raises(TranscriptError, match="it is empty"):
        transcripts.read([], format="codex")


def test_a_cut_last_line_is_a_session_still_being_written():
    got = transcripts.read([*CLAUDE, CLAUDE[-1][:60], "", " \n"])
    assert got.unfinished
    assert got.skipped["cut last line"] == 1
    assert "malformed line" not in got.skipped


def test_a_damaged_line_in_the_middle_is_counted_and_nothing_else():
    got = transcripts.read([CLAUDE[0], "{bad \\escape", "[1, 2]", *CLAUDE[1:]])
    assert not got.unfinished
    assert got.skipped["malformed line"] == 1
    assert got.skipped["line is not an object"] == 1
    assert [e.content for e in got.entries] == [e.content for e in transcripts.read(CLAUDE).entries]


def test_a_last_line_that_is_no_record_is_not_a_cut_one():
    got = transcripts.read([*CLAUDE, "17"])
    assert not got.unfinished
    assert got.skipped["line is not an object"] == 1


def test_two_records_on_one_line_are_two_records():
    one, two = lines(user("one", uuid="u1"), user("two"))
    bare = json.loads(two)
    del bare["uuid"]
    got = transcripts.read(["\ufeff" + one + " " + json.dumps(bare) + "\r\n"])
    assert [(entry.id, entry.content) for entry in got.entries] == [("u1:0", "one"), ("line-1.1:0", "two")]


def test_time_never_runs_backwards_and_a_missing_time_is_the_one_before():
    stamps = [None, "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "yesterday", 17, "2026-01-03T00:00:00+02:00"]
    got = transcripts.read(lines(*[user(str(stamp), timestamp=stamp) for stamp in stamps]))
    second, last = 1767312000000, 1767391200000
    assert [entry.timestamp for entry in got.entries] == [second] * 5 + [last]


@pytest.mark.parametrize(
    ("stamp", "expected_ms"),
    [
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T00:00:01", 1000),
        ("1969-12-31T00:00:00Z", 0),
        ("0001-01-01T00:00:00+23:59", 0),
        ("9999-12-31T23:59:59.999-23:59", 253402387139999),
        ("", None),
        ("[trimmed]", None),
        ({}, None),
    ],
)
def test_a_time_is_read_in_milliseconds(stamp, expected_ms):
    assert milliseconds(stamp) == expected_ms


def test_numbers_that_other_readers_refuse_do_not_pass():
    line = '{"a": NaN, "b": -Infinity, "c": 1e999, "d": 18446744073709551616, "e": %s, "f": -9223372036854775808}'
    (got,), failed = decode(line % ("9" * 5000))
    assert failed is None
    assert got == {"a": None, "b": None, "c": None, "d": 2.0**64, "e": None, "f": -(1 << 63)}


def test_lone_surrogates_become_the_replacement_character_and_pairs_stay():
    raw = (
        '{"type":"user","isSidechain":false,"uuid":"u\\ud800","message":{"content":"a\\uD83Db \\ud83d\\ude42 \udcff"}}'
    )
    (entry,) = transcripts.read([raw, CLAUDE[4]]).entries
    assert entry.content == "a\ufffdb \U0001f642 \ufffd"
    assert entry.id == "u\ufffd:0"


def test_a_raw_tab_in_a_string_is_no_damage():
    assert decode('{"a": "x\ty"}') == ([{"a": "x\ty"}], None)


def test_of_a_key_given_twice_the_last_counts():
    assert decode('{"a": 1, "a": 2}\n') == ([{"a": 2}], None)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100 * sys.getrecursionlimit()])
def test_deep_nesting_is_counted(depth):
    deep = '{"type":"user","isSidechain":false,"message":{"content":' + "[" * depth + "]" * depth + "}}"
    got = transcripts.read([CLAUDE[0], deep])
    assert got.skipped == {"nested too deeply": 1}
    assert not got.unfinished


def test_many_brackets_are_not_depth():
    wide = user("x", toolUseResult=[{"a": []} for _ in range(MAX_DEPTH)])
    assert transcripts.read(lines(wide)).skipped == {}
    at_the_limit = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    assert decode(at_the_limit)[1] is None


def holds_its_promises(got: transcripts.Recording) -> None:
    """What must be true of any recording, whatever was read."""
    ids = [entry.id for entry in got.entries]
    assert len(ids) == len(set(ids))
    assert [entry.seq for entry in got.entries] == list(range(len(ids)))
    times = [entry.timestamp for entry in got.entries]
    assert times == sorted(times)
    messages = [meta(entry)["message"] for entry in got.entries]
    assert messages == sorted(messages)
    assert set(messages) == set(range(len(set(messages))))
    assert list(got.compactions) == sorted(set(got.compactions))
    assert all(0 <= index <= len(ids) for index in got.compactions)
    assert all(number > 0 and reason.isprintable() and len(reason) < 80 for reason, number in got.skipped.items())
    halves: dict[str, list[ContextEntry]] = {}
    unpaired = 0
    for entry in got.entries:
        # what leaves must survive the strictest writer: valid UTF-8, no NaN
        json.dumps([entry.content, entry.id, meta(entry)], ensure_ascii=False, allow_nan=False).encode()
        if meta(entry)["kind"] in ("call", "result"):
            assert (entry.pair_id is None) == (meta(entry).get("unpaired") is True)
            unpaired += entry.pair_id is None
            if entry.pair_id is not None:
                halves.setdefault(entry.pair_id, []).append(entry)
    assert all([meta(half)["kind"] for half in pair] == ["call", "result"] for pair in halves.values())
    reasons = ("call without result", "result without call")
    assert unpaired == sum(got.skipped.get(reason, 0) for reason in reasons)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=6)
    | st.sampled_from(["user", "text", "tool_use", "tool_result", "t1", "c1", "message", "\ud800", "compaction"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "text", "id", "role", "input", "data"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, child in inner for found in paths(child, (*path, key)))]


def with_value(value: Any, path: tuple[Any, ...], put: Any) -> Any:
    if not path:
        return put
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_value(value[path[0]], path[1:], put)
    return copy


@st.composite
def damaged(draw: st.DrawFn, source: list[str]) -> list[str]:
    """Lines shuffled, repeated, cut, and with anything at any place."""
    chosen = draw(st.lists(st.sampled_from(source), min_size=1, max_size=8))
    made = []
    for line in chosen:
        record = json.loads(line)
        for _ in range(draw(st.integers(0, 2))):
            record = with_value(record, draw(st.sampled_from(paths(record))), draw(values))
        text = json.dumps(record, ensure_ascii=draw(st.booleans()))
        made.append(text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 9)) == 0 else text)
    return made


@pytest.mark.parametrize(("name", "source"), [("claude-code", CLAUDE), ("codex", CODEX)])
@given(data=st.data())
def test_no_damage_raises_or_breaks_a_promise(name, source, data):
    broken = data.draw(damaged(source))
    holds_its_promises(transcripts.FORMATS[name].read(broken, count=len))
    assert isinstance(transcripts.FORMATS[name].recognises(broken), bool)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
@given(text=st.lists(st.text(st.characters())))
def test_no_text_at_all_raises(name, text):
    holds_its_promises(transcripts.FORMATS[name].read(text, count=len))


def test_reading_twice_gives_the_same():
    for source in (CLAUDE, CODEX):
        assert transcripts.read(source) == transcripts.read(source)


def test_a_longer_file_keeps_the_ids_of_the_shorter():
    for source in (CLAUDE, CODEX):
        whole = [entry.id for entry in transcripts.read(source).entries]
        part = [entry.id for entry in transcripts.read(source[:3]).entries]
        assert part == whole[: len(part)]
