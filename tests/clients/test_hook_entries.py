"""Entries of ours in a settings file: put in beside what is there, and taken out to the byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.clients import CLIENTS
from undrift.clients.base import command, is_ours
from undrift.clients.jsontext import parse
from undrift.errors import InputError

CLAUDE = CLIENTS["claude"]
MAKE = command(["/opt/a b/python", "-P", "-m", "undrift"], "claude", Path("/h"), Path("/c"))
OTHER = {"matcher": "", "hooks": [{"type": "command", "command": "echo not undrift's hook"}]}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
HOOKS = st.dictionaries(
    st.sampled_from(["PreCompact", "SessionStart", "Stop"]), st.lists(st.just(OTHER), max_size=2), max_size=3
)
DOCUMENTS = st.builds(
    lambda rest, hooks, at_end: {**({} if at_end else hooks), **rest, **(hooks if at_end else {})},
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), VALUES, max_size=4),
    st.just({}) | HOOKS.map(lambda hooks: {"hooks": hooks}),
    st.booleans(),
)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])
ENDS = st.sampled_from(["", "\n", "\r\n", "  \n\n"])


def text_of(document: object, layout: Any, end: str) -> str:
    separators = (" , ", " :  ") if layout == 1 else None
    text = json.dumps(document, indent=layout, separators=separators, ensure_ascii=layout == 2)
    return ("\ufeff" if layout == 4 else "") + text.replace("\n", "\r\n" if end == "\r\n" else "\n") + end


@given(DOCUMENTS, LAYOUTS, ENDS)
def test_what_was_put_in_comes_out_to_the_byte(document: dict, layout: Any, end: str):
    before = text_of(document, layout, end)
    edited = CLAUDE.installed(before, MAKE)
    assert CLAUDE.has(edited.text, MAKE)
    assert not CLAUDE.has(before, MAKE)
    assert CLAUDE.without_ours(edited.text, edited.pieces, edited.containers) == before


@given(DOCUMENTS, LAYOUTS, ENDS)
def test_everything_else_stays_byte_for_byte(document: dict, layout: Any, end: str):
    before = text_of(document, layout, end)
    edited = CLAUDE.installed(before, MAKE)
    rest = edited.text
    for piece in reversed(edited.pieces):
        at = rest.index(piece)
        rest = rest[:at] + rest[at + len(piece) :]
    assert rest == before


@given(DOCUMENTS, LAYOUTS, ENDS)
def test_other_hooks_and_settings_mean_the_same(document: dict, layout: Any, end: str):
    after = json.loads(CLAUDE.installed(text_of(document, layout, end), MAKE).text.removeprefix("\ufeff"))
    kept = {name: value for name, value in after.items() if name != "hooks"}
    assert kept == {name: value for name, value in document.items() if name != "hooks"}
    for event, groups in document.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert len(after["hooks"]["SessionStart"]) == 5 + len(document.get("hooks", {}).get("SessionStart", []))


@given(DOCUMENTS, st.sampled_from([None, 2, "\t"]))
def test_a_file_that_the_client_has_written_rewritten_loses_our_entries_and_nothing_else(document: dict, layout: Any):
    edited = CLAUDE.installed(json.dumps(document), MAKE)
    rewritten = json.dumps(json.loads(edited.text), indent=layout)
    assert json.loads(CLAUDE.without_ours(rewritten, edited.pieces, edited.containers)) == document


def test_without_memory_what_is_left_empty_goes():
    after = CLAUDE.installed('{"model": "x"}', MAKE).text
    assert json.loads(CLAUDE.without_ours(after)) == {"model": "x"}


def test_ours_in_a_group_with_another_goes_alone():
    group = {"hooks": [{"type": "command", "command": "echo"}, {"type": "command", "command": MAKE("PreCompact", ())}]}
    after = CLAUDE.without_ours(json.dumps({"hooks": {"PreCompact": [group]}}))
    assert json.loads(after) == {"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "echo"}]}]}}


def test_entries_of_another_home_are_ours_and_not_the_wanted_ones():
    text = CLAUDE.installed("{}", command(["undrift"], "claude", Path("/other"), Path("/c"))).text
    assert not CLAUDE.has(text, MAKE)
    assert CLAUDE.without_ours(text) == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"a": 1,}',
        '{"a": 1} x',
        '{"hooks": []}',
        '{"hooks": {"SessionStart": {}}}',
        '{"hooks": {}, "hooks": {}}',
        "{'a': 1}",
        '{"a": 01x}',
        '{"a": "\n"}',
        "// comment\n{}",
        '{"a": ' + "[" * 5_000,
    ],
)
def test_a_file_that_is_not_understood_is_refused(text: str):
    with pytest.raises(InputError):
        CLAUDE.installed(text, MAKE)


def test_comments_and_trailing_commas_are_passed_over_where_the_client_allows_them():
    text = '// a\n{ "a": [1, 2,], /* b */ "c": {"d": "// no comment",}, }\n'
    assert parse(text, comments=True).value == {"a": [1, 2], "c": {"d": "// no comment"}}


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        (MAKE("SessionStart", ["--part=1"]), True),
        ("undrift hook PreCompact --client=claude", True),
        ("'/opt/a b/undrift' hook PreCompact --client=claude", True),
        ("echo undrift", False),
        ("my-undrift hook PreCompact", False),
        ("undrift recall x", False),
    ],
)
def test_a_command_of_ours_is_told_from_others(line: str, ours: bool):
    assert is_ours(line) is ours
