"""Session.prepare folds the noise of results that stay when the window is pruned."""

from typing import Any

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    opened,
    parts,
    result,
    sent,
    user,
)


def listing(first: int) -> str:
    """Numbered lines of which every third mentions something."""
    return "\n".join(f"{n:6}→{'nothing at all' if n % 3 else f'src/module_{first + n}.py'}" for n in range(1, 40))


def history(count: int) -> list[Json]:
    messages: list[Json] = [user("hello")]
    for number in range(count):
        messages += [
            assistant(call(f"t{number}", path=f"list{number}")),
            user(result(f"t{number}", listing(100 * number))),
        ]
    return messages


def shown(prepared: Any) -> dict[str, str]:
    found = [part for message in sent(prepared) for part in parts(message) if part["type"] == "tool_result"]
    return {part["tool_use_id"]: part["content"] for part in found}


def test_results_that_stay_are_folded_before_any_line_leaves(tmp_path):
    with opened(tmp_path, budget_tokens=3_200, prune_target_ratio=0.98, keep_tool_results=1) as session:
        prepared = session.prepare(body(*history(15)))
        assert {action.kind for action in prepared.actions} == {"folded"}
        assert prepared.tokens_after <= 3_200
        texts = shown(prepared)
        ref = prepared.actions[0].ref
        assert texts["t0"].split("\n")[:3] == [
            f"[no line numbers; as it came: undrift recall {ref}]",
            "1→nothing at all",
            "nothing at all",
        ]
        assert texts["t14"] == listing(1_400), "the newest result stays raw"
        assert session.recall(ref) == listing(0)
        decision = session.why(ref)
        assert decision is not None
        assert "without line numbers" in decision.reason
        assert prepared.tokens_before - prepared.tokens_after == sum(one.tokens_saved for one in prepared.actions)


def test_a_folded_result_loses_lines_later_and_older_turns_are_sent_as_they_were(tmp_path):
    settings: dict[str, Any] = {"budget_tokens": 3_200, "prune_target_ratio": 0.98, "keep_tool_results": 1}
    with opened(tmp_path, **settings) as session:
        first = session.prepare(body(*history(15)))
        last = session.prepare(body(*history(40)))
        assert {action.kind for action in last.actions} > {"trimmed"}
        assert last.tokens_before - last.tokens_after == sum(one.tokens_saved for one in last.actions)
        assert all(session.recall(one.ref) for one in last.actions)
    with opened(tmp_path, **settings) as session:
        assert session.prepare(body(*history(40))) == last
        assert session.prepare(body(*history(15))) == first


def test_by_recency_nothing_is_folded(tmp_path):
    with opened(tmp_path, budget_tokens=3_200, keep_tool_results=1, policy="recency") as session:
        assert {action.kind for action in session.prepare(body(*history(20))).actions} == {"pruned"}
