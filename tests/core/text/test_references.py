"""What a name and a line are, for the engine and for the measure alike."""

import pytest

from undrift.core.text.references import (
    NameTable,
    decoded_call,
    line_number,
    lines_of,
    name_in,
    normal,
    references_in,
)

CODE = "    return window.tokens_before - budget"


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        ("src/app.py", "src/app.py"),
        ("./src/app.py.", "src/app.py"),
        ("camelCase", "camelCase"),
        ("release-notes", None),
        ("version", None),
        ("a.b.c", None),
        ("--dry-run2", "dry-run2"),
    ],
)
def test_a_name_has_a_joint_a_digit_or_a_hump(candidate: str, name: str | None) -> None:
    assert name_in(candidate) == name == NameTable()[candidate]


@pytest.mark.parametrize("numbered", [f"12\t{CODE}", f"  12→{CODE}", f"12:{CODE}", f"12 | {CODE}", CODE])
def test_a_line_is_the_same_with_and_without_its_number(numbered: str) -> None:
    assert normal(numbered) == CODE.strip()
    assert ("line", CODE.strip()) in references_in(numbered)


def test_a_number_that_is_no_line_number_stays() -> None:
    moment = "1700000000123: the server has started on port 80"
    assert (normal(moment), line_number(moment)) == (moment, None)
    assert line_number("  7| code") == 7


def test_a_call_is_read_as_it_was_written() -> None:
    assert decoded_call('{\\"a\\":\\n\\t1}') == '{"a":\n\t1}'
    assert lines_of("one\\n  two") == ["one", "two"]


def test_only_lines_of_30_to_300_characters_count() -> None:
    kept = {text for kind, text in references_in("\n".join("x" * n for n in (29, 30, 300, 301))) if kind == "line"}
    assert kept == {"x" * 30, "x" * 300}
