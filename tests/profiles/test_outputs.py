"""What a command printed, out of the envelope of its client."""

import json

import pytest

from undrift.profiles import printed

HEADER = ["Chunk ID: a1", "Wall time: 0.1 seconds", "Process exited with code 0", "Output:"]


def test_a_text_without_an_envelope_is_its_lines():
    assert printed("a\nb\n") == (["a", "b", ""], 0)
    assert printed("") == ([""], 0)


def test_a_header_is_counted():
    assert printed("\n".join([*HEADER, "", "a"])) == ([*HEADER, "", "a"], 4)
    assert printed("Script completed\nWall time 0.1 seconds\nOutput:\n\na")[1] == 4  # the two parts of one result
    assert printed("\n" * 9 + "Output:\na")[1] == 0


@pytest.mark.parametrize(
    "made",
    [
        json.dumps({"output": 'a "b"\n\tc', "metadata": {"exit_code": 0}}),
        json.dumps({"chunk_id": "x", "wall_time_seconds": 0.25, "exit_code": 0, "output": 'a "b"\n\tc'}),
        '{"exit_code":0,"output":"a \\"b\\"\\n\\tc"}',
    ],
)
def test_the_text_in_an_object_is_lines(made: str):
    assert printed(made) == (['a "b"', "\tc"], 0)
    assert printed("\n".join([*HEADER, made]))[0] == [*HEADER, 'a "b"', "\tc"]


def test_a_member_of_its_own_line_is_read_as_well():
    made = json.dumps({"name": "x", "output": "a\nb"}, indent=2)
    assert printed(made)[0] == ["{", '  "name": "x",', "a", "b", "}"]


@pytest.mark.parametrize(
    "text", ['{"output":3}', '{"output":"a', 'x {"output":"a"}', '{"output":"\\x"}', '{"output":' * 9_999]
)
def test_what_cannot_be_read_stays(text: str):
    assert printed(text) == ([text], 0)
