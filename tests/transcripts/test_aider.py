"""aider: who speaks is known by the marks of the lines, and the chat with the most answers is the session."""

import pytest

from tests.transcripts.builders import meta, shape
from undrift import transcripts
from undrift.transcripts import Recording, aider

# two blanks at the end of a line are what aider marks it with; here they are seen
START = """
# aider chat started at 2026-01-02 03:04:05

> /usr/bin/aider --model model-x~~
> Aider v0.50.1~~
> Main model: model-x with diff edit format~~
> Git repo: .git with 3 files~~
"""
CHAT = (
    START
    + """
#### Fix the login~~
#### ~~
#### and the test~~

I fix it:

> quoted by the model

#### A heading of the model
```python
x = 1
```

> Tokens: 1k sent, 2 received.~~
> Applied edit to a.py~~

#### /run pytest~~
> ==== test session starts ====
collected 1 item

1 passed~~
> Add the output to the chat? y~~

Good.

#### <blank>~~
"""
)


def read(text: str) -> Recording:
    return transcripts.read(text.replace("~", " ").splitlines(keepends=True), format="aider")


def test_a_chat_is_recognised_and_read():
    got = transcripts.read(CHAT.replace("~", " ").splitlines(keepends=True))
    assert (got.format, got.model) == ("aider", "model-x")
    assert shape(got.entries) == [
        ("user", "text", "Fix the login\n\nand the test"),
        (
            "assistant",
            "text",
            "I fix it:\n\n> quoted by the model\n\n#### A heading of the model\n```python\nx = 1\n```",
        ),
        ("user", "text", "Tokens: 1k sent, 2 received.\nApplied edit to a.py"),
        ("user", "text", "/run pytest"),
        ("user", "text", "==== test session starts ====\ncollected 1 item\n\n1 passed\nAdd the output to the chat? y"),
        ("assistant", "text", "Good."),
    ]
    assert [meta(entry).get("meta") for entry in got.entries] == [None, None, True, None, True, None]
    assert [meta(entry)["line"] for entry in got.entries][:2] == [9, 13]
    assert {entry.timestamp for entry in got.entries} == {1767323045000}
    assert got.skipped == {"announcement": 4, "empty text": 1}


@pytest.mark.parametrize(("answers", "chosen"), [((1, 2, 1), 1), ((1, 1, 0), 1), ((0, 0, 0), 2), ((2, 1, 1), 0)])
def test_the_chat_with_the_most_answers_counts_and_of_equals_the_later(answers, chosen):
    lines = [2 + 2 * number for number in answers]
    head = "# aider chat started at 2026-01-02 03:04:05\n"
    got = read("".join(head + "#### a~~\n" + "b\n#### c~~\n" * number for number in answers))
    assert sum(meta(entry)["role"] == "assistant" for entry in got.entries) == answers[chosen]
    assert meta(got.entries[0])["line"] == sum(lines[:chosen]) + 2
    assert got.skipped == {"line of another chat": sum(lines) - lines[chosen] - 2}


def test_a_chat_in_which_nothing_is_said_is_none():
    got = read("#### hi~~\nHello.\n" + START + START)
    assert [entry.content for entry in got.entries] == ["hi", "Hello."]
    assert got.skipped == {"line of another chat": 8}


def test_a_file_that_has_lost_its_beginning_is_recognised_by_the_marks():
    rest = ["Some text\n", "> Applied edit to a.py  \r\n", "\n", "#### go on  \r\n"]
    assert aider.recognises(rest)
    assert transcripts.read(rest).entries[-1].content == "go on"


@pytest.mark.parametrize(
    "file",
    [
        ["# notes"],
        ["#### heading", "> quote"],
        ["#### heading  ", "> quote"],
        ["> quote  "],
        [" # aider chat started at 2026-01-02 03:04:05"],
    ],
)
def test_other_markdown_is_not_recognised(file):
    assert not aider.recognises(file)


def test_odd_characters_and_a_time_that_is_none_do_no_harm():
    got = read("\ufeff# aider chat started at noon\n#### caf\udce9  \n\u2028\r\n")
    assert [entry.content for entry in got.entries] == ["caf\ufffd"]
    assert got.entries[0].timestamp == 0
