"""The note of a client that a file has not changed, and what stands in its place when the file has left."""

import json
from typing import Any

import pytest

from undrift.wire.forms import form_of
from undrift.wire.read_cache import may_have_note, restored

STUB = "Wasted call \u2014 file unchanged since your last Read. Refer to that earlier tool_result instead."
NOTES = [STUB, "<system-reminder>This file is already in your context.</system-reminder>"]
FORM = form_of("anthropic")


def call(number: int, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": given.pop("tool", "Read"), "input": given}
    return {"role": "assistant", "content": [block]}


def result(number: int, text: Any, **more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text, **more}],
    }


CAME = [
    {"role": "user", "content": "Read it."},
    call(1, file_path="/a.py"),
    result(1, "old content"),
    call(2, file_path="/a.py"),
    result(2, "new content"),
    call(3, file_path="/a.py", offset=10),
    result(3, "other lines"),
    call(4, file_path="/a.py"),
    result(4, STUB, is_error=False, cache_control={"type": "ephemeral"}),
]


def without(*numbers: int, of: list[Any] = CAME) -> list[Any]:
    gone = [f'"toolu_{number}"' for number in numbers]
    return [message for message in of if not any(id_ in json.dumps(message) for id_ in gone)]


def test_the_newest_reading_of_the_same_place_stands_in_for_the_note():
    sent = without(1, 2)
    changed = restored(FORM, CAME, sent)
    assert list(changed) == [len(sent) - 1]
    assert changed[len(sent) - 1]["content"] == [{**CAME[-1]["content"][0], "content": "new content"}]
    assert restored(FORM, CAME, sent) == changed
    assert sent[-1] is CAME[-1]  # nothing that was given is changed


def test_while_the_file_is_in_the_window_the_note_stays():
    assert restored(FORM, CAME, CAME) == {}
    assert restored(FORM, CAME, without(1)) == {}
    assert restored(FORM, CAME, without(1, 2, 4)) == {}  # the note has left as well


def test_a_tombstone_in_the_place_of_the_file_is_not_the_file():
    sent = [result(2, "[a tombstone]") if m is CAME[4] else m for m in CAME]
    assert restored(FORM, CAME, sent)[8]["content"][0]["content"] == "new content"


def test_the_same_bytes_come_out_when_the_conversation_goes_on():
    more = [*CAME, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "Go on."}]
    sent = without(1, 2, of=more)
    first = restored(FORM, CAME, without(1, 2))
    assert json.dumps(restored(FORM, more, sent)) == json.dumps(first)


@pytest.mark.parametrize(
    "came",
    [
        pytest.param([*CAME[:7], call(4, file_path="/b.py"), result(4, STUB)], id="another-file"),
        pytest.param([*CAME[:7], call(4, file_path="/a.py", limit=3), result(4, STUB)], id="another-range"),
        pytest.param([*CAME[:7], call(4, tool="Other", file_path="/a.py"), result(4, STUB)], id="another-tool"),
        pytest.param([*CAME[:7], call(4, command="cat"), result(4, STUB)], id="no-file"),
        pytest.param([*CAME[:7], call(4, file_path="/a.py"), result(4, f"{STUB} {'x' * 400}")], id="a-text-about-it"),
        pytest.param([result(4, STUB)], id="no-call"),
    ],
)
def test_a_note_that_refers_to_nothing_known_stays(came: list[Any]):
    sent = [m for m in came if m not in CAME[1:5]]
    assert restored(FORM, came, sent) == {}


def test_what_the_client_cleared_itself_is_no_content():
    came = [*CAME[:4], result(2, "[Old tool result content cleared]"), *CAME[5:]]
    sent = [m for m in came if m is not came[2] and m is not came[1]]
    assert restored(FORM, came, sent)[len(sent) - 1]["content"][0]["content"] == "old content"


def test_a_picture_is_not_put_back_as_text():
    picture = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]
    came = [call(1, file_path="/a.png"), result(1, picture), call(2, file_path="/a.png"), result(2, STUB)]
    assert restored(FORM, came, came[2:]) == {}


@pytest.mark.parametrize("note", NOTES)
def test_each_note_of_a_client_is_known_and_looked_for(note: str):
    came = [*CAME[:-1], result(4, note)]
    assert may_have_note(json.dumps(came).encode())
    assert may_have_note(json.dumps(came, ensure_ascii=False).encode())
    (changed,) = restored(FORM, came, without(1, 2, of=came)).values()
    assert changed["content"][0]["content"] == "new content"


def test_words_of_a_note_within_a_file_are_no_note():
    came = [*CAME[:-1], result(4, f"text = {NOTES[1]!r}")]
    assert restored(FORM, came, without(1, 2, of=came)) == {}
