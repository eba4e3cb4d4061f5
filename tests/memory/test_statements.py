"""A text taken apart into statements: which parts become one, in which words, and which are named as left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.memory.statements import LONGEST_STATEMENT_CHARACTERS, statements_in, statements_typed


def words(text: str) -> list[str]:
    return [one.text for one in statements_in(text).found]


def left_out(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.reason) for one in statements_in(text).left_out]


def test_items_paragraphs_and_rows_are_statements_with_their_heading_and_line():
    text = (
        "# Project\n\nThis file guides\nall agents.\n\n## Rules\n- Never push to main\n* Run the tests first\n\n"
        "| folder | what |\n|---|---|\n| src | the code |\n\n> Say what you did.\n"
    )
    found = statements_in(text).found
    assert [(one.text, one.heading, one.line) for one in found] == [
        ("This file guides all agents.", "Project", 3),
        ("Never push to main", "Rules", 7),
        ("Run the tests first", "Rules", 8),
        ("folder: src; what: the code", "Rules", 12),
        ("Say what you did.", "Rules", 14),
    ]
    assert left_out(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never:\n- push to main\n- force a push\n", ["Never: push to main", "Never: force a push"]),
        ("- Testing:\n  - no mocks\n  - real servers\n", ["Testing: no mocks", "Testing: real servers"]),
        ("- Use dataclasses\n  - frozen ones\n", ["Use dataclasses\n- frozen ones"]),
        ("## Package manager\n- pnpm\n", ["Package manager: pnpm"]),
        ("## Tests\n- Run all tests before you push\n", ["Run all tests before you push"]),
        ("One:\n\nTwo words here.\n", ["One:", "Two words here."]),
        ("It ends so:\n", ["It ends so:"]),
        ("---\n***\n- ...\n", []),
    ],
)
def test_words_that_say_nothing_alone_get_those_that_introduce_them(text: str, found: list[str]):
    assert words(text) == found


def test_a_long_item_is_split_and_its_parts_keep_their_head():
    inner = "".join(f"  - rule {number} with a good many words in it so that it is long\n" for number in range(8))
    found = words(f"- Use the logger\n{inner}")
    assert found[0] == "Use the logger"
    assert found[1] == "Use the logger: rule 0 with a good many words in it so that it is long"
    assert len(found) == 9


def test_code_stays_whole_or_is_left_out_with_a_word():
    assert words("Run one test:\n```sh\npytest -k x\n\nmake lint\n```\n") == ["Run one test:\npytest -k x\n\nmake lint"]
    assert words("## Commands\n```\nmake test\n```\n") == ["Commands:\nmake test"]
    assert words("    indented code\n") == ["    indented code".strip()]
    long = "x = 1\n" * 400
    assert words(f"Example:\n```\n{long}```\n") == ["Example:"]
    assert left_out(f"Example:\n```\n{long}```\n") == [(2, "code of 400 lines, too long for a memory")]


def test_what_is_no_statement_is_named_with_its_line():
    text = "---\ntitle: x\n---\n\n<!-- hidden -->\n\n@docs/rules.md\n\nA true statement.\n"
    assert words(text) == ["A true statement."]
    assert left_out(text) == [
        (1, "front matter"),
        (5, "HTML or a comment"),
        (7, "@docs/rules.md names another file: import that file"),
    ]
    long = "word " * LONGEST_STATEMENT_CHARACTERS
    assert left_out(long) == [(1, f"{len(long) - 1:,} characters, too long for a memory")]


def test_a_file_has_a_thousand_statements_at_most():
    found = statements_in("".join(f"- statement number {number}\n" for number in range(1_002)))
    assert len(found.found) == 1_000
    assert [(one.line, one.reason) for one in found.left_out] == [
        (1_001, "2 more statements: 1,000 of one file is the most")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one statement", ["one statement"]),
        ("The cache is Redis.\nWe deploy on Mondays.", ["The cache is Redis.", "We deploy on Mondays."]),
        ("Use tabs\nNever deploy on Fridays", ["Use tabs", "Never deploy on Fridays"]),
        ("A paragraph that goes over\nthe end of its line", ["A paragraph that goes over the end of its line"]),
        ("This line is longer than sixty characters and so it may well go on\nHere it does.",
         ["This line is longer than sixty characters and so it may well go on Here it does."]),
        ("- a rule here\n- another rule\n", ["a rule here", "another rule"]),
        ("1. one\n2. two\n", ["one", "two"]),
        ("One paragraph\nof words.\n\nAnother one.", ["One paragraph of words.", "Another one."]),
        ("# Heading\nwords", ["# Heading\nwords"]),
        ("Words\n\n```\ncode\n```", ["Words\n\n```\ncode\n```"]),
        ("", [""]),
        ("\n\n", ["\n\n"]),
    ],
)  # fmt: skip
def test_typed_text_is_taken_apart_only_where_its_parts_are_statements(text: str, found: list[str]):
    assert list(statements_typed(text)) == found


@pytest.mark.parametrize(
    "text", ["- " * 20_000, ">" * 20_000 + "a", "\n".join(" " * n + "- a" for n in range(300)), "\0" * 99]
)
def test_hostile_texts_are_read_to_their_end(text: str):
    assert len(statements_in(text).found) <= 1_000
    assert statements_typed(text)


MARKDOWN = st.lists(
    st.sampled_from(
        ["- a b", "  - c d", "# H", "text.", "ends:", "```", "|a|b|", "|-|-|", "> q", "", "<b>", "@x", "1. n"]
    ),
    max_size=12,
).map("\n".join)


@given(MARKDOWN | st.text(max_size=200))
def test_no_text_fails_and_each_statement_has_a_place_in_it(text: str):
    read = statements_in(text)
    lines = max(1, len(text.splitlines()) + 1)
    places = [*(one.line for one in read.found), *(one.line for one in read.left_out)]
    assert all(1 <= line <= lines for line in places)
    for one in read.found:
        assert any(map(str.isalnum, one.text))
    assert statements_typed(text)
