"""A history that is long enough to be read from where it goes on: the windows are those of one that is read whole each time."""

import json
from typing import Any

from undrift.session.session import Session
from undrift.settings import Settings

BUDGET = 3_000


def messages(rounds: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "Read all of it."}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"call_{number}", "name": "read", "input": {"path": f"{number}.py"}}
        text = "\n".join(f"value_{number}_{line} = {line}" for line in range(5))
        result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": text}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def marked(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history with a cache marker on its newest block, as a client moves it with each request."""
    last = dict(history[-1])
    last["content"] = [{**last["content"][-1], "cache_control": {"type": "ephemeral"}}]
    return [*history[:-1], last]


def test_they_are_the_same_through_growth_forks_other_heads_and_other_notations(tmp_path):
    whole = messages(150)
    fork = [*whole[:121], {"role": "assistant", "content": "Another way."}, {"role": "user", "content": "Go on."}]
    histories = [marked(whole[: 2 * number + 1]) for number in range(10, 120, 3)]
    histories += [fork, fork, whole[:181], whole[:41], whole[:201], whole[:203], whole[:205]]
    histories += [whole[: 205 + 2 * number] for number in range(20)]
    settings = Settings(budget_tokens=BUDGET)
    done: tuple[Any, ...] = ()
    with (
        Session.open("s", home=tmp_path / "bytes", settings=settings, clock=lambda: 1) as read_on,
        Session.open("s", home=tmp_path / "values", settings=settings, clock=lambda: 1) as read_whole,
    ):
        for number, history in enumerate(histories):
            head = {"metadata": {"user_id": str(number if 50 > number > 42 else 0)}, "model": "claude-sonnet-4-5"}
            body = {**head, "max_tokens": 10, "messages": history}
            space = (",", ": ") if number == 30 else (",", ":")
            given: Any = body if number % 11 == 10 else json.dumps(body, separators=space).encode()
            found, expected = read_on.prepare(given), read_whole.prepare(body)
            done = found.actions
            sent = found.body if isinstance(found.body, dict) else json.loads(found.body)
            assert sent == expected.body, number
            assert (found.actions, found.tokens_before, found.tokens_after, found.warnings) == (
                expected.actions,
                expected.tokens_before,
                expected.tokens_after,
                expected.warnings,
            ), number
    assert done
