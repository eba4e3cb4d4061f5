"""One line: escapes that a program has cut in two, times as numbers, ids that a file repeats."""

import json
import math
from typing import Any

import pytest

from undrift.transcripts.base import RecordedBlock
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.lines import MALFORMED, decode, epoch_ms


@pytest.mark.parametrize(
    ("value", "expected_ms"),
    [
        (0, 0),
        (1767323045678, 1767323045678),
        (1767323045678.9, 1767323045678),
        (1767323045, 1767323045),  # seconds are not guessed at: it is the twenty-first day of 1970
        (-1, 0),
        (-1e300, 0),
        (253_402_300_799_999, 253_402_300_799_999),  # the last one of the year 9999
        (253_402_300_800_000, None),
        ((1 << 64) - 1, None),
        (1e308, None),
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
        (True, None),
        (False, None),
        (None, None),
        ("1767323045678", None),
        ([1], None),
        ({}, None),
    ],
)
def test_a_number_of_milliseconds_is_taken_as_it_is(value: Any, expected_ms: int | None):
    got = epoch_ms(value)
    assert got == expected_ms
    assert got is None or type(got) is int


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\u12", r"\u12"),  # cut short
        (r"\u", r"\u"),
        (r"\u00g0", r"\u00g0"),
        (r"\uD83", r"\uD83"),
        (r"\U0041", r"\U0041"),
        (r"\x41", r"\x41"),
        (r"C:\dir", r"C:\dir"),
        (r"\*\*\*", r"\*\*\*"),
        ("\\\u00e9", "\\\u00e9"),
        (r"\x \u0041", r"\x A"),  # what is an escape stays one
        (r"\x \\u0041", r"\x \u0041"),  # an escaped backslash, and no escape after it
        (r"\x \\\u0041", r"\x \A"),
        (r"\x \\\\u0041", r"\x \\u0041"),
        (r"\x \" \n \/", 'x" \n /'.replace("x", r"\x ")),
        (r"\\\x", r"\\x"),  # an odd number: the last one begins nothing
        (r"\\\\\x", r"\\\x"),
        (r"\x \ud83d\ude42", "\\x \U0001f642"),
        (r"\x \ud83d", "\\x \ufffd"),
        (r"\x \ud83d\ude4", "\\x \ufffd\\ude4"),
    ],
)
def test_a_backslash_that_begins_no_escape_stands_for_itself(written: str, read: str):
    assert decode(f'{{"a": "{written}", "b": 1}}') == ([{"a": read, "b": 1}], None)


@pytest.mark.parametrize("text", [r"C:\\dir", r"\\u0041", r"\\\\", r"\\\"", r"\u0041\\n"])
def test_a_line_without_damage_is_not_repaired(text: str):
    line = f'{{"a": "{text}"}}'
    assert decode(line) == ([json.loads(line)], None)


def test_only_what_is_damaged_is_repaired():
    found, failed = decode(r'{"a": "\\u0041"} {"a": "\\u0041 \x"}')
    assert failed is None
    assert [value["a"] for value in found] == [r"\u0041", r"\u0041 \x"]


@pytest.mark.parametrize("cut", [r'{"a": "x', r'{"a": "x\u12', r'{"a": "C:\"}', '{"a": "x\\', r'{"a": \x}'])
def test_what_no_escape_explains_stays_malformed(cut: str):
    assert decode(cut) == ([], MALFORMED)


def ids_of(*names: str) -> list[str]:
    """The ids that records of these names get."""
    collector = Collector("x")
    for name in names:
        collector.add([RecordedBlock("text", "user", "x")], RecordPlace(1, 0), None, name=name)
    return [entry.id for entry in collector.recording(count=len).entries]


def test_ids_that_a_file_repeats_for_ever_stay_short():
    ids = ids_of(*["u"] * 3_000)
    assert ids[:4] == ["u:0", "u:0+", "u:0+2", "u:0+3"]
    assert len(set(ids)) == 3_000
    assert max(map(len, ids)) < 10


def test_an_id_that_looks_like_a_numbered_one_is_numbered_too():
    ids = ids_of("u", "u:0+", "u", "u", "u:0+", "u:0+2", "u")
    assert len(set(ids)) == 7
    assert ids[:3] == ids_of("u", "u:0+", "u")  # no later record changes an id
