"""One JSON document is taken to pieces by its brackets: damage costs the piece that it is in, and is counted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.transcripts.collect import Collector
from undrift.transcripts.document import CUT, DAMAGED, OUTSIDE, members, outline

WHOLE = json.dumps({"info": {"id": "s"}, "messages": [{"n": 1}, {"n": [2, "}"]}, {"n": 3}], "end": None}, indent=1)


def pieces(text: str, **more):
    """What was found, and what was counted."""
    collector = Collector("x")
    found = [
        (key, value) for key, _, value in members(collector, text.splitlines(keepends=True), ("messages",), **more)
    ]
    got = collector.recording(count=len)
    return found, got.skipped, got.unfinished


def test_members_come_with_their_keys_and_arrays_element_by_element():
    found = [("info", {"id": "s"}), ("messages", {"n": 1}), ("messages", {"n": [2, "}"]}), ("messages", {"n": 3})]
    assert pieces(WHOLE) == ([*found, ("end", None)], {}, False)
    assert pieces(json.dumps(json.loads(WHOLE))) == ([*found, ("end", None)], {}, False)
    assert pieces("[1, [2]]") == ([("", 1), ("", [2])], {}, False)
    assert pieces('{"messages": [], "a": [], "b": {}}') == ([("a", []), ("b", {})], {}, False)


def test_a_place_is_the_line_and_the_number_on_it():
    def places(text: str) -> list[tuple[str, str]]:
        return [(key, place.name) for key, place, _ in members(Collector("x"), text.split("\n"), ("messages",))]

    assert places(WHOLE)[:3] == [("info", "line-2"), ("messages", "line-6"), ("messages", "line-9")]
    assert places('\n{"messages": [1,\n2, 3]}') == [
        ("messages", "line-2"),
        ("messages", "line-3"),
        ("messages", "line-3.1"),
    ]


@given(at=st.integers(1, len(WHOLE) - 1))
def test_a_document_that_ends_too_early_gives_what_stands_before(at):
    found, skipped, unfinished = pieces(WHOLE[:at])
    everything = pieces(WHOLE)[0]
    assert unfinished
    assert set(skipped) <= {CUT}
    # what was cut may read as something shorter only where it is a bare word or number, which no message is
    assert found == everything[: len(found)]
    assert len(found) + sum(skipped.values()) >= sum(f'"n": {n}' in WHOLE[:at] for n in (1, 3))


def test_damage_costs_the_piece_that_it_is_in():
    for wrong in ('{"n" 1}', '{"n": 1]', "{'n': 1}", "nul", '"a": 1', "1 2"):
        found, skipped, unfinished = pieces('{"messages": [{"n": 0}, ' + wrong + ', {"n": 2}], "end": 1}')
        assert found == [("messages", {"n": 0}), ("messages", {"n": 2}), ("end", 1)], wrong
        assert (skipped, unfinished) == ({DAMAGED: 1}, False)
    deep = "[" * 300 + "]" * 300
    assert pieces(f'{{"a": {deep}, "b": 1}}') == ([("b", 1)], {"nested too deeply": 1}, False)


def test_a_backslash_that_escapes_nothing_stands_for_itself():
    assert pieces('{"a": "x\\person", "b": "\\u00e9\\n"}') == ([("a", "x\\person"), ("b", "é\n")], {}, False)


@pytest.mark.parametrize("text", ["", " \n", "no json", "]}]", '"{}"'])
def test_what_is_no_document_has_no_members(text):
    assert pieces(text) == ([], {OUTSIDE: 1} if text.strip() else {}, False)


def test_what_stands_around_the_document_is_counted():
    assert pieces('Exported:\n{"a": 1} {"b": 2}') == ([("a", 1)], {OUTSIDE: 2}, False)
    assert pieces('\ufeff{"a": 1}\n') == ([("a", 1)], {}, False)


def test_a_document_beyond_all_bounds_is_read_up_to_them():
    assert pieces('{"a": 1,\n"b": 2,\n"c": 3}', longest=20) == (
        [("a", 1), ("b", 2)],
        {"beyond 20 characters": 1},
        True,
    )


def test_an_outline_names_the_keys_of_a_beginning():
    assert outline(WHOLE.splitlines()) == {"info", "info.id", "messages", "messages[].n", "end"}
    assert outline([WHOLE[:50]]) == {"info", "info.id", "messages"}
    assert outline(['[{"role": "x", "parts": [{"text": {"deep": 1}}]}]']) == {"[].role", "[].parts"}
    assert outline(['{"a": 1}', '{"b": 2}']) == {"a"}
    assert outline(["", "plain: text", "}"]) == frozenset()
