"""What a finished task lets go: its results by tag, the agent's words by range."""

from undrift.core.window.ended_tasks import Ended, prune_task_logs
from undrift.values.window import ContextEntry, EntryType


def entry(number: int, kind: str, *, role: str = "assistant", call_id: str = "") -> ContextEntry:
    metadata = {"role": role, "kind": kind, "message": f"m{number}", "pair_id": call_id}
    type_: EntryType = "tool_result" if kind == "result" else "reasoning"
    return ContextEntry(f"m{number}.{kind}", type_, "words", 10, 0, metadata, seq=number)


def planned(
    entries: list[ContextEntry],
    ended: Ended,
    *,
    keep_tool_results: int = 1,
    spared: frozenset[str] = frozenset(),
    covered: tuple[range, ...] = (),
) -> dict[str, str | None]:
    found = prune_task_logs(
        entries,
        len(entries),
        [ended],
        number_of={f"m{n}": n for n in range(100)},
        keep_tool_results=keep_tool_results,
        spared=spared,
        covered=covered,
        count=len,
        ref_of=lambda id_: f"ref:{id_}",
    )
    return {decision.entry_id: decision.detail["text"] for decision in found}


def finished(*calls: str, span: range = range(1, 9), is_valid: bool = True) -> Ended:
    def tool(ref: str, is_last: bool) -> str:
        return f"tool {ref} {is_last}"

    def said(ref: str, is_last: bool) -> str:
        return f"said {ref} {is_last}"

    return Ended("t", (span,), frozenset(calls), is_valid, tool, said)


def test_results_leave_by_tag_and_words_by_range():
    entries = [
        entry(0, "text"),
        entry(1, "text"),
        entry(1, "call", call_id="a"),
        entry(2, "result", role="user", call_id="a"),
        entry(3, "result", role="user", call_id="other"),
        entry(4, "text", role="user"),
        entry(9, "text"),
    ]
    assert planned(entries, finished("a")) == {
        "m2.result": "tool ref:m2.result True",
        "m1.text": "said ref:m1.text True",
    }


def test_of_one_message_one_tombstone_stays_and_only_the_last_has_the_summary():
    entries = [entry(1, "thinking"), entry(1, "text"), entry(3, "text")]
    assert planned(entries, finished()) == {
        "m1.thinking": "said ref:m1.thinking False",
        "m1.text": None,
        "m3.text": "said ref:m3.text True",
    }


def test_what_is_spared_or_covered_by_another_task_stays():
    entries = [entry(1, "text"), entry(3, "text"), entry(5, "text")]
    assert list(planned(entries, finished(), spared=frozenset({"m1"}), covered=(range(5, 7),))) == ["m3.text"]


def test_with_a_doubtful_summary_the_newest_results_stay():
    entries = [entry(n, "result", role="user", call_id=f"c{n}") for n in (2, 4, 6)]
    doubtful = finished("c2", "c4", "c6", is_valid=False)
    assert list(planned(entries, doubtful, keep_tool_results=2)) == ["m2.result"]
    assert list(planned(entries, finished("c2", "c4", "c6"), keep_tool_results=2)) == [e.id for e in entries]
