"""calling_back: our tool is known under the names that clients give it, and what was called back stays for a while."""

from typing import Any

import pytest

from tests.core.window.test_fit import left, plan
from undrift.core.window.calling_back import STAYS_ANSWERS, called_back, offers_recall
from undrift.values.window import ContextEntry


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"mcp__undrift__recall", "Bash"}, True),
        ({"undrift_recall"}, True),
        ({"undrift__recall"}, True),
        ({"Undrift-recall"}, True),
        ({"recall", "task_update"}, True),
        ({"recall"}, False),  # anybody's
        ({"mcp__other__recall", "task_update"}, False),
        ({"undrift_recall_all"}, False),
        ({"mcp__undrift__search"}, False),
        (set(), False),
        ({"undrift" * 100_000 + "recall", "x\nundrift\x00_recall\n"}, False),
    ],
)
def test_our_tool_is_known_by_its_name(names: set[str], expected: bool):
    assert offers_recall(names) is expected


def entry(number: int, role: str, kind: str, tokens: int, content: str = "", **more: Any) -> ContextEntry:
    meta = {"role": role, "kind": kind, "message": f"m{number}", **more}
    text = content or "".join(f"{number}:{n}\n" for n in range(tokens))[: 4 * tokens]
    type_: Any = "tool_result" if kind == "result" else "reasoning"
    return ContextEntry(f"e{number}{kind}", type_, text, tokens, 0, meta, seq=2 * number + (kind == "result"))


def pair(number: int, tokens: int, tool: str = "Bash", arguments: str = "{}") -> list[ContextEntry]:
    named = {"pair_id": f"p{number}", "tool_name": tool}
    return [
        entry(number, "assistant", "call", 1, arguments, **named),
        entry(number, "user", "result", tokens, **named),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("Bash", '{"command":"undrift recall 0123456789abcdef --find x"}'), ("mcp__undrift__recall", '{"ref":"0"}')],
)
@pytest.mark.parametrize("after", [0, STAYS_ANSWERS - 1, STAYS_ANSWERS])
def test_what_was_called_back_stays_for_some_answers(tool: str, arguments: str, after: int):
    before = [one for number in range(3) for one in pair(number, 400)]
    back = pair(3, 400, tool, arguments)
    later = [one for number in range(4, 4 + after) for one in pair(number, 400)]
    window = [entry(99, "user", "text", 5, "Go."), *before, *back, *later]
    gone = left(plan(window, 1_500, keep_tool_results=1, wanted=called_back(window)))
    stays = after < STAYS_ANSWERS
    assert bool(called_back(window)) is stays
    assert ("e3result" not in gone) is (stays or after == 0)
    assert "e0result" in gone


def test_it_gives_way_where_the_window_has_no_room_for_it():
    window = [entry(99, "user", "text", 5, "Go."), *pair(0, 2_000, "undrift_recall"), *pair(1, 100)]
    assert "e0result" in left(plan(window, 1_500, keep_tool_results=1, wanted=called_back(window)))


def test_several_messages_of_one_answer_count_once():
    window = [one for number in range(STAYS_ANSWERS) for one in pair(number, 1, "undrift_recall")]
    split = [two for one in window for two in (one, one)]
    assert called_back(split) == called_back(window)
    assert len(called_back(window)) == STAYS_ANSWERS
