"""What agents print: read where it is a result, else refused by the contract's own name; never anything else."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dispatch.builders import block, done, needs_changes, ok
from undrift.core.dispatch.contracts import (
    BEGIN,
    END,
    MOST_ITEMS,
    read_block,
    read_implementer_result,
    read_reviewer_result,
)
from undrift.core.dispatch.prompt import stable_prefix
from undrift.errors import ContractError
from undrift.values.facts import RanTest, ReviewIssue

READERS: dict[Any, Any] = {"implementer": read_implementer_result, "reviewer": read_reviewer_result}


def refusal(output: str, role: Any = "implementer") -> tuple[str, str]:
    with pytest.raises(ContractError) as caught:
        READERS[role](output)
    return caught.value.code, str(caught.value)


def test_an_implementer_s_result_is_read():
    """A4-2"""
    result = read_implementer_result(
        done(
            "t",
            files_changed=["a.py"],
            files_modified=["b.py"],
            tests=[{"command": "make test", "passed": False, "failures": ["one"]}, {"command": "x", "passed": True}],
            follow_up_actions=[],
            conventions=["snake_case"],
            more={"ignored": [1]},
        )
    )
    assert (result.task_id, result.status, result.summary) == ("t", "completed", "Did t.")
    assert (result.files_changed, result.files_modified) == (("a.py",), ("b.py",))
    assert result.tests == (RanTest("make test", False, ("one",)), RanTest("x", True))
    assert result.follow_up_actions == ()
    assert result.blockers is None


def test_a_reviewer_s_result_is_read():
    """A4-17"""
    issues = [{"message": "m", "severity": "minor", "file": "a.py", "fix": "f"}, {"message": "", "file": None}]
    result = read_reviewer_result(needs_changes("t", "do this", issues=issues, strengths=["s"]))
    assert result.assessment == "needs_changes"
    assert result.issues == (ReviewIssue("m", "minor", "a.py", "f"), ReviewIssue(""))
    assert (result.required_fixes, result.strengths) == (("do this",), ("s",))


def test_a_fence_around_the_object_is_passed_over():
    fenced = f'{BEGIN}\n```json\n{{"task_id": "t", "assessment": "approved"}}\n```\n{END}'
    assert read_reviewer_result(fenced).assessment == "approved"


@pytest.mark.parametrize(
    "output",
    [
        "",
        "I am done.",
        f'{BEGIN}\n{{"a": 1}}',
        f'{{"a": 1}}\n{END}',
        f'{END}\n{{"a": 1}}\n{BEGIN}',
        done("a") + done("b"),
        done("a", summary=f"then {END}"),
        f"I will print {BEGIN}. {done('a')}",
    ],
)
def test_anything_but_exactly_one_block_is_named_so(output: str):
    """Two blocks are as bad as none: nobody can tell which one the agent has only quoted."""
    code, message = refusal(output)
    assert code == "marker_missing"
    assert "begin mark" in message
    assert (BEGIN in message, END in message) == (False, False), (
        "it goes into the next prompt, where marks are taken out"
    )


@pytest.mark.parametrize(
    "text",
    ["", "done", "{", '{"a": 1,}', '{"a": NaN}', "[" * 200_000, '{"a":' * 200_000, "9" * 5_000, '{"a": 1} {"b": 2}'],
)
def test_what_is_no_json_is_named_so(text: str):
    code, message = refusal(f"{BEGIN}\n{text}\n{END}")
    assert code == "json_parse_failed"
    assert len(message) < 600


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "task_id is missing"),
        ({"task_id": 7}, "task_id must be a text, not a number"),
        ({"status": "done"}, "status must be one of completed, blocked, failed, not 'done'"),
        ({"status": ["completed"]}, "status must be one of"),
        ({"summary": None}, "summary must be a text, not null"),
        ({"files_changed": "a.py"}, "files_changed must be a list, not 'a.py'"),
        ({"files_changed": ["a", 1]}, "files_changed[1] must be a text, not a number"),
        ({"tests": [{"command": "x"}]}, "tests[0].passed is missing"),
        ({"tests": [{"command": "x", "passed": "yes"}]}, "tests[0].passed must be true or false, not 'yes'"),
        ({"tests": [{"command": "x", "passed": False, "failures": [{}]}]}, "tests[0].failures[0] must be a text"),
        ({"follow_up_actions": ["x"] * (MOST_ITEMS + 1)}, "follow_up_actions has 1,001 items"),
    ],
)
def test_a_field_of_another_kind_is_named_with_its_place(fields: dict, named: str):
    values = {"task_id": "t", "status": "completed", "summary": "s"} | fields if fields else {}
    code, message = refusal(block(**values))
    assert code == "schema_invalid"
    assert named in message


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"assessment": "fine"}, "assessment must be one of approved, needs_changes, blocked"),
        ({"issues": ["x"]}, "issues[0] must be an object, not 'x'"),
        ({"issues": [{"severity": "minor"}]}, "issues[0].message is missing"),
        ({"issues": [{"message": "m", "severity": "low"}]}, "issues[0].severity must be one of critical"),
        ({"required_fixes": {"a": 1}}, "required_fixes must be a list, not an object"),
    ],
)
def test_a_reviewer_s_field_of_another_kind_is_named_with_its_place(fields: dict, named: str):
    code, message = refusal(ok("t", **fields), "reviewer")
    assert code == "schema_invalid"
    assert named in message


def test_an_error_quotes_no_megabyte_and_no_control_character():
    code, message = refusal(done("t", status="\x1b[2J\n[Session Context]" + "x" * 1_000_000))
    assert code == "schema_invalid"
    assert message.isprintable()
    assert len(message) < 400


def test_the_form_that_the_guides_show_is_no_result():
    """A program that prints its prompt again has not answered."""
    assert refusal(stable_prefix("implementer"))[0] == "schema_invalid"
    assert refusal(stable_prefix("reviewer"), "reviewer")[0] == "schema_invalid"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
names = st.sampled_from(
    ["task_id", "status", "summary", "tests", "files_changed", "assessment", "issues", "required_fixes", "blockers"]
)


@given(
    st.dictionaries(names, json_values | st.sampled_from(["completed", "approved"])),
    st.sampled_from(["implementer", "reviewer"]),
)
def test_whatever_stands_in_a_block_gives_a_result_or_the_named_error(fields: dict, role: Any):
    with suppress(ContractError):
        READERS[role](f"{BEGIN}{json.dumps(fields)}{END}")


@given(st.lists(st.sampled_from([BEGIN, END, "{", "}", '"', "[", "\\", "\n", "\0", "\ud800", "a"])))
def test_whatever_is_printed_gives_an_object_or_the_named_error(parts: list[str]):
    with suppress(ContractError):
        assert isinstance(read_block("".join(parts)), dict)
