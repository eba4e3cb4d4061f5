"""KnownReferences: what a history mentions, and what of it the agent would miss."""

import json
from typing import Any

import pytest

from undrift.core.text.references import RARE_MENTIONS
from undrift.core.window.value import KnownReferences, rows_left
from undrift.values.window import ContextEntry

LINE = "return parse_header(raw, strict=True)"


def entry(number: int, kind: str, text: str, *, tool: str = "", role: str = "", **more: Any) -> ContextEntry:
    roles = {"text": "user", "call": "assistant", "result": "user", "thinking": "assistant"}
    meta = {"role": role or roles[kind], "kind": kind, "tool_name": tool, **more}
    return ContextEntry(f"e{number}", "tool_result" if kind == "result" else "reasoning", text, 1, 0, meta, seq=number)


def missed(known: KnownReferences, given: ContextEntry) -> int:
    return sum(known.worth(one, of_file=True) > 0 for row in known.rows(given) for one in row)


def worth(known: KnownReferences, given: ContextEntry, *, of_file: bool = True) -> float:
    return sum(known.worth(one, of_file=of_file) for row in known.rows(given) for one in row)


def learned(*entries: ContextEntry) -> KnownReferences:
    known = KnownReferences()
    for one in entries:
        known.learn(one)
    return known


def test_what_a_tool_showed_is_worth_something_and_what_the_agent_made_up_is_not():
    shown, made = entry(1, "result", "see src/parser.py"), entry(2, "call", '{"name": "my_own_name"}')
    known = learned(shown, made)
    assert (missed(known, shown), missed(known, made)) == (1, 0)
    said = entry(1, "text", "look at src/lexer.py", role="assistant")
    assert missed(learned(said), said) == 0


def test_a_name_scores_more_if_it_comes_again_and_most_if_the_agent_used_it():
    shown = entry(1, "result", "see src/parser.py")
    again = learned(shown, entry(2, "result", "see src/parser.py"))
    used = learned(shown, entry(2, "call", '{"pattern": "src/parser.py"}'))
    assert worth(learned(shown), shown) == 1 < worth(again, shown) < worth(used, shown)


def test_a_line_of_a_file_scores_more_than_a_name_and_one_of_other_output_less():
    shown = entry(1, "result", "this is a line of only plain words")
    known = learned(shown)
    assert 0 < worth(known, shown, of_file=False) < 1 < worth(known, shown)


@pytest.mark.parametrize(
    ("tool", "call", "expected"),
    [
        ("Read", '{"file_path": "src/a.py"}', True),
        ("shell_command", '{"command": "sed -n 1,200p src/a.py"}', True),
        ("Grep", '{"pattern": "x"}', False),
        ("Bash", '{"command": "make test"}', False),
        ("Bash", '{"command": 5}', False),
        ("Read", "[" * 100_000, True),
    ],
)
def test_the_call_says_whether_the_text_of_a_file_is_shown(tool, call, expected):
    known = learned(entry(1, "call", call, tool=tool, pair_id="p"))
    assert known.shows_file("p") is expected
    assert not known.shows_file("q")
    assert not known.shows_file(None)


def test_what_stands_everywhere_is_worth_nothing():
    entries = [entry(n, "result", "src/parser.py") for n in range(RARE_MENTIONS + 1)]
    assert missed(learned(*entries[:-1]), entries[0]) == 1
    assert missed(learned(*entries), entries[0]) == 0


def test_a_line_is_one_reference_with_or_without_gutter_and_space():
    first, second = entry(1, "result", f"   12\t    {LINE}"), entry(2, "result", LINE)
    known = learned(first, second)
    assert known.rows(first) == known.rows(second)


def test_plain_words_short_and_very_long_lines_are_no_references():
    given = entry(1, "result", "only plain words\n}\n\n" + "x y " * 100)
    assert known_rows(given) == ((), (), (), ())


def known_rows(given: ContextEntry) -> tuple[tuple[int, ...], ...]:
    return learned(given).rows(given)


def test_a_line_that_an_edit_takes_out_is_worth_nothing_until_it_is_shown_again():
    shown = entry(1, "result", LINE)
    call = json.dumps({"file_path": "a/b.py", "old_string": LINE, "new_string": "return nothing at all here, ever"})
    edit = entry(2, "call", call, tool="Edit")
    before, after = missed(learned(shown), shown), missed(learned(shown, edit), shown)
    assert after == before - 1
    assert missed(learned(shown, edit, entry(3, "result", LINE)), shown) == before


def test_hostile_arguments_of_an_edit_are_read_as_none():
    for text in ("[]", "{", '{"old_string": 5}', "[" * 100_000, "null"):
        learned(entry(1, "call", text, tool="Edit"))


def test_learning_bit_by_bit_and_reading_again_give_the_same():
    entries = [entry(n, "result", f"src/file_{n % 3}.py\n{LINE}{n % 2}") for n in range(8)]
    known = learned(*entries[:5])
    known.keep(set())
    for one in entries[5:]:
        known.learn(one)
    whole = learned(*entries)
    assert [known.rows(one) for one in entries] == [whole.rows(one) for one in entries]
    assert [missed(known, one) for one in entries] == [missed(whole, one) for one in entries]


def test_a_trimmed_entry_says_which_lines_are_left():
    assert list(rows_left(entry(1, "result", "a"), 3)) == [0, 1, 2]
    assert list(rows_left(entry(1, "result", "a", rows=((0, 1), (2, 9))), 4)) == [0, 2, 3]
