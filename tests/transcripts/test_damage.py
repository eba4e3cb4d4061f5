"""Whatever is done to the files of the other clients: nothing raises, every promise holds, and what is lost is counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.builders import lines
from tests.transcripts.recordings import rows as recorded
from tests.transcripts.samples import COPILOT, GEMINI, GEMINI_LINES, OPENCODE, PI, SWE_AGENT, document
from tests.transcripts.test_reading import damaged, holds_its_promises, paths, values, with_value
from undrift import transcripts

BY_LINE = {"gemini-cli": lines(*GEMINI_LINES), "copilot-cli": lines(*COPILOT), "pi": lines(*PI)} | {
    name: recorded(name) for name in ("qwen-code", "kimi-code")
}
DOCUMENTS: dict[str, Any] = {"gemini-cli": GEMINI, "opencode": OPENCODE, "swe-agent": SWE_AGENT} | {
    name: json.loads("".join(recorded(name))) for name in ("cline", "continue")
}
FILES = {**{f"{name} by line": (name, file) for name, file in BY_LINE.items()}} | {
    f"{name} document": (name, document(value)) for name, value in DOCUMENTS.items()
}


def survives(name: str, file: list[str]) -> None:
    holds_its_promises(transcripts.FORMATS[name].read(file, count=len))
    assert isinstance(transcripts.FORMATS[name].recognises(file), bool)


@st.composite
def broken(draw: st.DrawFn, value: Any) -> list[str]:
    """A document with anything at any place, cut, with lines shuffled, or with stray characters in it."""
    for _ in range(draw(st.integers(0, 3))):
        value = with_value(value, draw(st.sampled_from(paths(value))), draw(values))
    text = json.dumps(value, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text('{}[]",:\\u0 \n', max_size=3)) + text[at + draw(st.integers(0, 3)) :]
    if draw(st.booleans()):
        text = text[: draw(st.integers(0, len(text)))]
    rows = text.splitlines(keepends=True)
    return draw(st.permutations(rows)) if draw(st.integers(0, 4)) == 0 else rows


@pytest.mark.parametrize("name", BY_LINE)
@given(data=st.data())
def test_no_damage_to_a_line_raises_or_breaks_a_promise(name, data):
    survives(name, data.draw(damaged(BY_LINE[name])))


@pytest.mark.parametrize("name", DOCUMENTS)
@given(data=st.data())
def test_no_damage_to_a_document_raises_or_breaks_a_promise(name, data):
    survives(name, data.draw(broken(DOCUMENTS[name])))


@pytest.mark.parametrize("name", sorted({*BY_LINE, *DOCUMENTS}))
@given(text=st.lists(st.text(st.characters())))
def test_no_text_at_all_raises(name, text):
    survives(name, text)


@pytest.mark.parametrize("file", FILES)
def test_each_file_is_recognised_by_its_own_reader_alone(file):
    name, rows = FILES[file]
    asked = [known for known, reader in transcripts.FORMATS.items() if reader.recognises(rows)]
    assert [known for known in asked if known != "openai-messages"] == [name]  # asked last: any list of messages
    assert transcripts.detect(rows) == name


def test_every_reader_has_its_row_in_the_documents():
    text = (Path(__file__).parents[2] / "docs" / "recordings.md").read_text(encoding="utf-8")
    assert [name for name in transcripts.FORMATS if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("file", FILES)
def test_reading_twice_gives_the_same(file):
    _, rows = FILES[file]
    assert transcripts.read(rows) == transcripts.read(iter(rows))


@pytest.mark.parametrize("file", FILES)
def test_a_longer_file_keeps_the_ids_of_the_shorter(file):
    name, rows = FILES[file]
    whole = [entry.id for entry in transcripts.read(rows).entries]
    for end in range(len(rows)):
        part = [entry.id for entry in transcripts.FORMATS[name].read(rows[:end], count=len).entries]
        if file in (
            "cline document",
            "gemini-cli by line",
        ):  # instructions stand at the end; a message is written again
            assert set(part) <= set(whole)
        elif name == "swe-agent" and part[:1] != whole[:1]:  # of the steps, as long as there is no history
            assert {id.split(":")[0] for id in part} <= {"line-4"}
        else:
            assert part == whole[: len(part)]


@pytest.mark.parametrize("file", FILES)
def test_deep_nesting_and_huge_strings_are_no_obstacle(file):
    name, rows = FILES[file]
    deep = "[" * 100_000
    for extra in ([deep + "\n"], ['{"a": "' + "x" * 1_000_000 + '"}\n'], ["\\" * 100_001 + "\n"], ['"' * 100_001]):
        survives(name, [*rows, *extra])
        survives(name, [*extra, *rows])
        survives(name, [*rows[:3], *extra, *rows[3:]])
