"""A text is read without its codes, decoded and joined, and each place of a reading leads back to the text."""

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.text.mask_keys import key_of
from tests.house.test_expression_cost import REFERENCE_SECONDS, reference
from undrift.core.text.readings import readings
from undrift.core.text.secrets import mask

KEY = key_of("ghp_{a36}")
LONG = key_of("sk-|ant-api03-{w93}AA")


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def wrapped(text: str, width: int, end: str = "\n") -> str:
    return end.join(text[at : at + width] for at in range(0, len(text), width))


HIDDEN = {
    "after a colour": ("\x1b[32m{}\x1b[0m", KEY),
    "a colour inside": ("{}", f"{KEY[:9]}\x1b[01;31m\x1b[K{KEY[9:20]}\x1b[m\x1b[K{KEY[20:]}"),
    "a colour inside and one before": ("\x1b[1m{}\x1b[0m", f"{KEY[:9]}\x1b[31m{KEY[9:]}"),
    "a colour of JSON inside": ('"{}"', f"{KEY[:9]}\\u001b[31m{KEY[9:]}"),
    "a link of a terminal": ("\x1b]8;;https://h/x\x07{}\x1b]8;;\x07", KEY),
    "each character percent-encoded": ("v={}", "".join(f"%{ord(letter):02X}" for letter in KEY)),
    "percent, twice": ("v={}", "".join(f"%25{ord(letter):02x}" for letter in KEY)),
    "escapes of JSON": ('"{}"', "".join(f"\\u{ord(letter):04x}" for letter in KEY)),
    "wrapped": ("{}\n", wrapped(KEY, 20)),
    "wrapped, with a name": ("{}\n", wrapped(f"token={KEY}", 24)),
    "wrapped and indented": ("k:\n    {}\n", wrapped(LONG, 40, "\n    ")),
    "wrapped with carriage returns": ("{}\r\n", wrapped(KEY, 20, "\r\n")),
    "wrapped in JSON": ('{{"out": "{}\\n"}}', wrapped(KEY, 20, "\\n")),
    "wrapped, its first lines a key of their own": ("{}\n", wrapped(LONG, 40)),
    "base64": ("payload {} end", b64(f"token={KEY}\n")),
    "base64 of the URL alphabet": ("payload {} end", base64.urlsafe_b64encode(f"?>~?>~ {KEY}".encode()).decode()),
    "base64 with letters of any script": ("payload {} end", b64(f"clé: {KEY} ü")),
    "base64, wrapped": ("{}\n", wrapped(b64(f"token={KEY}\n"), 40)),
    "base64, percent-encoded": ("v={}&w=1", b64(f"?>~?>~ {KEY}").replace("+", "%2B").replace("/", "%2F")),
}  # fmt: skip


@pytest.mark.parametrize("case", HIDDEN)
def test_a_key_is_hidden_however_it_is_written_and_what_stands_around_it_stays(case):
    around, written = HIDDEN[case]
    before, _, after = around.replace("{{", "{").replace("}}", "}").partition("{}")
    masked = mask(around.format(written)).text
    assert masked.startswith(before)
    assert masked.endswith(after)
    assert written[-12:] not in masked
    assert not any(written[at : at + 16] in masked for at in range(8, len(written) - 16))


READABLE = {
    "a list of names": "first_name_of_many\nsecond_name_of_it\nthird_name_of_all\n",
    "an environment": f"TOKEN={'a1B2c3D4e5F6g7H8'}\nDEBUG=1\nHOME=/srv/x\n",
    "the line behind a key": f"{KEY}\nlast",
    "a key for each line": f"{KEY}\n{key_of('hf|_{a34}')}\n",
    "more text behind a key": f"api_key: {KEY}\nnext: 1",
    "a picture": "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 4).decode(),
    "words in base64": b64("nothing to be seen here, and no password either"),
    "percent in prose": "100%25 of it, 50%20 more, C%2B%2B",
    "a colour in a word": "pass\x1b[1mword\x1b[0m of the day",
}


@pytest.mark.parametrize("case", READABLE)
def test_what_only_looks_like_it_stays_readable(case):
    text = READABLE[case]
    masked = mask(text)
    hidden = {text[span.start : span.start + span.length] for span in masked.spans}
    assert hidden <= {KEY, key_of("hf|_{a34}"), "a1B2c3D4e5F6g7H8"}


PARTS = ["\x1b[31m", "\x1b]0;t\x07", "%41", "%2541", "\\u0041", "\\/", "\n", "\\n", "a" * 20, "A1b2" * 5, b64("password=hunter2xyz a"), " ", "=", "x" * 700]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=3)), max_size=30).map("".join))
def test_every_part_of_a_reading_leads_back_to_a_part_of_the_text(text):
    for reading in readings(text):
        assert len(reading.text) <= 2 * len(text) + 10
        last = 0
        for start, letter in enumerate(reading.text):
            source = reading.source(start, start + 1)
            if letter == "\0" or source is None:
                continue
            assert 0 <= source[0] < source[1] <= len(text)
            assert source[1] >= last
            last = source[1]


def test_only_what_stands_around_a_code_is_read_again():
    text = "word " * 100_000 + "\x1b[1mx\x1b[0m" + " word" * 100_000
    assert sum(len(reading.text) for reading in readings(text)) < 2_000
    assert list(readings("word " * 1000)) == []


PUMPS = ["\x1b[31m", "\x1b[31ma", "\\u001b[31m", "%41", "%2541", "%", "\\", "\\u0041", "\\/", "^[[", "a1B2c3D4e5F6g7H8\n", "A" * 76 + "\n", "A" * 16 + "\\n",
         "x" * 640 + "%41", "Y" * 24 + " ", b64("password=hunter2xyz and more") + " ", "\x1b]", "=", "password=", "token=" + "a1B2" * 8 + "\n"]  # fmt: skip
MOST_SECONDS = 1.0


@pytest.mark.parametrize("pump", PUMPS)
def test_a_megabyte_of_codes_costs_no_more_than_a_second(pump):
    text, ratios = pump * (100_000 // len(pump)), []
    for _ in range(3):
        speed, started = reference() / REFERENCE_SECONDS, time.process_time_ns()
        mask(text)
        ratios.append((time.process_time_ns() - started) / 1e9 / len(text) * 1e6 / speed)
    assert min(ratios) <= MOST_SECONDS
