"""Session.prepare folds noise: of results that stay, when the window shrinks; large noise before its first send, if asked to."""

import json
from typing import Any

import pytest

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    opened,
    parts,
    refusing,
    result,
    rounds,
    sent,
    text,
    thinking,
    user,
)

NOISE = "\x1b[32mok\x1b[0m a line\n" * 2_000
SHRINKS: dict[str, Any] = {"first_send_shrink": True, "keep_tool_results": 1}


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


def noisy(*after: Json) -> list[Json]:
    return [user("hello"), assistant(call("t", path="log")), user(result("t", NOISE)), *after]


def shown(prepared: Any) -> dict[str, str]:
    found = [part for message in sent(prepared) for part in parts(message) if part["type"] == "tool_result"]
    return {part["tool_use_id"]: part["content"] for part in found}


# ------------------------------------------------------------------------------------------------ when the window shrinks


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


# --------------------------------------------------------------------------------------------------- before the first send


def test_without_the_setting_everything_is_sent_as_it_came(tmp_path):
    given = body(*noisy())
    with opened(tmp_path) as session:
        assert session.prepare(given).body is given


def test_large_noise_is_folded_before_its_first_send_and_recalled_whole(tmp_path):
    with opened(tmp_path, **SHRINKS) as session:
        prepared = session.prepare(body(*noisy()))
        (action,) = prepared.actions
        assert action.kind == "folded"
        assert shown(prepared)["t"] == (
            f"[no escape codes, no repeated lines; as it came: undrift recall {action.ref}]\n"
            "ok a line\n[1,999 more lines like it]\n"
        )
        assert session.recall(action.ref) == NOISE
        assert session.why(action.ref) is not None
        assert prepared.tokens_before - prepared.tokens_after == action.tokens_saved


def test_what_was_folded_before_its_first_send_never_changes(tmp_path):
    given = noisy()
    later = noisy(assistant("noted"), user("go on"), *rounds(3))
    fork = noisy(assistant("noted"), user("something else"))
    with opened(tmp_path, **SHRINKS) as session:
        first = sent(session.prepare(body(*given)))
        assert sent(session.prepare(body(*given))) == first
        assert sent(session.prepare(body(*later)))[:3] == first
    with opened(tmp_path, keep_tool_results=1) as session:  # nor when the setting is off again
        assert sent(session.prepare(body(*later)))[:3] == first
        assert sent(session.prepare(body(*fork)))[:3] == first


def test_what_the_model_has_seen_is_not_folded_then(tmp_path):
    given = body(*noisy(assistant("noted"), user("go on")))
    with opened(tmp_path, **SHRINKS) as session:
        assert session.prepare(given).body is given


def test_neither_words_of_the_user_nor_pins_are_folded(tmp_path):
    with opened(tmp_path, **SHRINKS) as session:
        session.pin("requirements", NOISE)
        prepared = session.prepare(body(user(NOISE)))
        assert {action.kind for action in prepared.actions} == {"pinned"}
        said = [part["text"] for part in parts(sent(prepared)[0])]
        assert said[0] == NOISE
        assert any(NOISE in part for part in said[1:])


def test_what_cannot_be_stored_is_sent_whole(tmp_path):
    given = body(*noisy())
    with opened(tmp_path, **SHRINKS) as session:
        with refusing(tmp_path, "decisions"):
            prepared = session.prepare(given)
        assert shown(prepared)["t"] == NOISE
        assert any("could not be stored" in warning for warning in prepared.warnings)
        answered = noisy(assistant("noted"), user("go on"))
        assert shown(session.prepare(body(*answered)))["t"] == NOISE, "it was sent so, it stays so"


def test_thinking_that_came_after_it_stays(tmp_path):
    model: dict[str, Any] = {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}
    answer = assistant(thinking("hm"), text("noted"))
    with opened(tmp_path, **SHRINKS) as session:
        session.prepare(body(*noisy(), **model))
        later = session.prepare(body(*noisy(answer, user("go on")), **model))
        assert {action.kind for action in later.actions} == {"folded"}
        assert sent(later)[3] == answer


def test_nothing_that_was_sent_is_rewritten_by_it(tmp_path):
    with opened(tmp_path, append_only=True, **SHRINKS) as session:
        assert {action.kind for action in session.prepare(body(*noisy())).actions} == {"folded"}


def test_when_the_window_shrinks_it_loses_lines_like_any_other(tmp_path):
    with opened(tmp_path, budget_tokens=2_000, **SHRINKS) as session:
        session.prepare(body(*noisy()))
        prepared = session.prepare(body(*noisy(*rounds(30))))
        assert prepared.tokens_after <= 2_000
        assert prepared.tokens_before - prepared.tokens_after == sum(one.tokens_saved for one in prepared.actions)
    with opened(tmp_path, budget_tokens=2_000, **SHRINKS) as session:
        assert session.prepare(body(*noisy(*rounds(30)))) == prepared


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "gemini"])
def test_every_form_carries_it(tmp_path, wire):
    asked: list[Json]
    if wire == "gemini":
        asked = [
            {"role": "user", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": NOISE}}}]},
        ]
    elif wire == "openai-chat":
        function = {"name": "ls", "arguments": "{}"}
        asked = [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": NOISE},
        ]
    else:
        asked = [
            {"role": "user", "content": "hello"},
            {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": NOISE},
        ]
    name = {"gemini": "contents", "openai-chat": "messages", "openai-responses": "input"}[wire]
    with opened(tmp_path, **SHRINKS) as session:
        prepared = session.prepare({"model": "gpt-5", name: asked}, wire=wire)
        assert {action.kind for action in prepared.actions} == {"folded"}
        assert "1,999 more lines like it" in json.dumps(prepared.body)
        assert session.prepare({"model": "gpt-5", name: asked}, wire=wire).body == prepared.body
