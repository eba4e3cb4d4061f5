"""What happens to files: cut, shuffled, mistyped, spliced with others, swollen; and what stays true of what is read."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.sessions import WHOLE, WRITERS, whole
from tests.transcripts.test_reading import holds_its_promises, paths, values, with_value
from undrift import transcripts
from undrift.errors import TranscriptError

HUGE = (
    "x" * 200_000,
    "[" * 100_000,
    '{"a":' * 20_000,
    '{"content":' + "[" * 300 + "]" * 300 + "}",
    '"' * 50_001,
    "\\" * 50_001,
    '"\\ud800' * 10_000,
    "9" * 20_000,
    "1e999,-0,NaN",
    "{}," * 50_000,
    "```bash " * 20_000 + "\n```",
    "<mswea_bash_command>" * 20_000,
    "> \n" * 20_000,
    "\ufeff\x00\r\n\udcff\u2028",
)


def json_of(lines: list[str]) -> tuple[Any, bool] | None:
    """The document, or the records of its lines, and whether it is one document; None where it is neither."""
    try:
        return json.loads("".join(lines)), True
    except ValueError:
        pass
    except RecursionError:
        return None
    try:
        return [json.loads(line) for line in lines if line.strip()], False
    except (ValueError, RecursionError):
        return None


def written(value: Any, one: bool, indent: int | None) -> list[str]:
    if one:
        return json.dumps(value, indent=indent).splitlines(keepends=True)
    return [json.dumps(record) + "\n" for record in value] if isinstance(value, list) else [json.dumps(value)]


@st.composite
def mistyped(draw: st.DrawFn, lines: list[str]) -> list[str]:
    found = json_of(lines)
    if found is None:
        at = draw(st.integers(0, max(0, len(lines) - 1)))
        return [*lines[:at], draw(st.text(st.characters(), max_size=60)), *lines[at + 1 :]]
    value, one = found
    for _ in range(draw(st.integers(1, 3))):
        value = with_value(value, draw(st.sampled_from(paths(value))), draw(values))
    return written(value, one, draw(st.sampled_from([None, 2])))


@st.composite
def cut(draw: st.DrawFn, lines: list[str]) -> list[str]:
    text = "".join(lines)
    start = draw(st.just(0) | st.integers(0, len(text)))
    return text[start : draw(st.integers(start, len(text)))].splitlines(keepends=True)


@st.composite
def shuffled(draw: st.DrawFn, lines: list[str]) -> list[str]:
    return draw(st.permutations(lines)) if len(lines) < 200 else lines[::-1]


@st.composite
def spliced(draw: st.DrawFn, lines: list[str]) -> list[str]:
    other = draw(st.sampled_from([*WRITERS, *WHOLE]).flatmap(whole))
    if draw(st.booleans()):
        at, from_ = draw(st.integers(0, len(lines))), draw(st.integers(0, len(other)))
        return [*lines[:at], *other[from_:]]
    one, two = "".join(lines), "".join(other)
    text = one[: draw(st.integers(0, len(one)))] + two[draw(st.integers(0, len(two))) :]
    return text.splitlines(keepends=True)


@st.composite
def swollen(draw: st.DrawFn, lines: list[str]) -> list[str]:
    huge = draw(st.sampled_from(HUGE))
    text = "".join(lines)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        return (text[:at] + huge + text[at:]).splitlines(keepends=True)
    return lines * draw(st.integers(2, 12))


@st.composite
def broken(draw: st.DrawFn, name: str) -> list[str]:
    """A file of a format after one to three accidents; at times with other line ends, or none."""
    lines = draw(whole(name))
    for _ in range(draw(st.integers(1, 3))):
        accident = draw(st.sampled_from([cut, mistyped, mistyped, shuffled, spliced, swollen]))
        lines = draw(accident(lines))
    ends = draw(st.sampled_from([None, None, "", "\r\n"]))
    return lines if ends is None else [line.rstrip("\r\n") + ends for line in lines]


def survives(name: str, lines: list[str]) -> None:
    """Read a file with the reader of a format, and as whatever it is taken for: nothing raises, and all promises hold."""
    reader = transcripts.FORMATS[name]
    assert isinstance(reader.recognises(lines[: transcripts.HEAD_LINES]), bool)
    holds_its_promises(reader.read(iter(lines), count=len))
    with suppress(TranscriptError):  # whatever else is raised is a finding
        holds_its_promises(transcripts.read(iter(lines), count=len))


def is_whole(name: str, lines: list[str]) -> None:
    """Read an undamaged file: it is taken for what it is, and no call or result stands alone but in the samples."""
    got = transcripts.read(iter(lines), count=len)
    assert got.format == name
    assert not got.unfinished
    assert not {reason for reason in got.skipped if reason.startswith(("malformed", "cut", "unknown", "nested"))}
    if name in WRITERS:
        assert not {"call without result", "result without call"} & got.skipped.keys()
    holds_its_promises(got)
