"""The Anthropic simulator reads and writes its cache as the provider does."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.testing.anthropic_talk import OPUS, Talk, assistant, body, marked, result, use, user
from undrift.testing.simulators import AnthropicSimulator, ModelTurn


def tokens(text: str) -> int:
    """One token for each ``#`` of a block: sums that can be checked by eye."""
    return text.count("#")


def meter(request: Mapping[str, Any], by: AnthropicSimulator, now_ms: int | None = None) -> tuple[int, int, int]:
    """Return fresh, read and written tokens."""
    answer = by.send(request, turn=ModelTurn("ok"), now_ms=now_ms)
    usage = answer.body["usage"]
    counted = (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["cache_creation_input_tokens"],
    )
    assert counted == (answer.bill.fresh_tokens, answer.bill.read_tokens, answer.bill.written_tokens)
    return counted


def counting(minimum_tokens: int = 0) -> AnthropicSimulator:
    return AnthropicSimulator(minimum_tokens=minimum_tokens, count=tokens)


def test_without_a_marker_all_is_fresh() -> None:
    provider = counting()
    for _ in range(2):
        assert meter(body(user("#" * 10), system="#" * 5), provider) == (15, 0, 0)


def test_what_is_written_at_a_marker_is_read_by_the_next_request() -> None:
    provider = counting()
    assert meter(body(user(marked("#" * 10), "##"), system="#" * 5), provider) == (2, 0, 15)
    assert meter(body(user("#" * 10, marked("##"), "###"), system="#" * 5), provider) == (3, 15, 2)
    assert meter(body(user("#" * 10, "##", marked("###")), system="#" * 5), provider) == (0, 17, 3)


def test_an_edit_spoils_what_comes_after_it() -> None:
    provider = counting()
    system = [marked("#" * 5)]
    meter(body(user(marked("#" * 10)), system=system), provider)
    assert meter(body(user(marked("#" * 11)), system=system), provider) == (0, 5, 11)
    assert meter(body(user(marked("#" * 10)), system=[marked("#" * 6)]), provider) == (0, 0, 16)
    changed = body(user(marked("#" * 10)), system=system, tools=[{"name": "###"}])
    assert meter(changed, provider) == (0, 0, 18)


def test_a_setting_spoils_the_messages_alone() -> None:
    provider = counting()
    request = body(user(marked("#" * 10)), system=[marked("#" * 5)])
    meter(request, provider)
    assert meter({**request, "tool_choice": {"type": "none"}}, provider) == (0, 5, 10)
    assert meter({**request, "output_config": {"effort": "low"}}, provider) == (0, 5, 10)
    assert meter({**request, "thinking": {"type": "adaptive"}}, provider) == (0, 5, 10)
    assert meter({**request, "thinking": {"type": "adaptive", "display": "omitted"}}, provider) == (0, 15, 0)
    assert meter({**request, "metadata": {"user_id": "a"}}, provider) == (0, 15, 0)
    assert meter({**request, "model": "claude-opus-4-8"}, provider) == (0, 0, 15)


def test_only_what_ends_at_a_marker_is_written() -> None:
    provider = counting()
    meter(body(user("#" * 10, marked("#" * 5))), provider)
    assert meter(body(user(marked("#" * 10), "###")), provider) == (3, 0, 10)


@pytest.mark.parametrize(("between", "read"), [(18, 10), (19, 0)])
def test_a_marker_looks_back_over_twenty_positions(between: int, read: int) -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    request = body(user("#" * 10, *["#"] * between, marked("#")))
    assert meter(request, provider) == (0, read, 11 + between - read)


def test_a_second_marker_bridges_a_long_way() -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    assert meter(body(user("#" * 10, *["#"] * 10, marked("#"), *["#"] * 15, marked("#"))), provider) == (0, 10, 27)


def test_calls_made_at_once_and_their_results_count_one_position_each() -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    names = [f"c{number}" for number in range(30)]
    request = body(user("#" * 10), assistant(*map(use, names)), user(*[result(name, "#") for name in names]))
    request["messages"][-1]["content"].append(marked("#"))
    assert meter(request, provider) == (0, 10, 31)


def test_the_marker_of_the_whole_request_stands_on_the_last_block() -> None:
    provider = counting()
    whole = {"type": "ephemeral"}
    assert meter(body(user("#" * 10), cache_control=whole), provider) == (0, 0, 10)
    assert meter(body(user("#" * 10), user("##"), cache_control=whole), provider) == (0, 10, 2)


def test_a_short_prefix_is_silently_not_cached() -> None:
    provider = counting(minimum_tokens=10)
    for _ in range(2):
        assert meter(body(user(marked("#" * 9))), provider) == (9, 0, 0)
    assert meter(body(user(marked("#" * 10))), provider) == (0, 0, 10)


def test_an_entry_ends_after_five_minutes_unless_it_is_read() -> None:
    provider = counting()
    request = body(user(marked("#" * 10)))
    minute = 60_000
    assert meter(request, provider, 0) == (0, 0, 10)
    assert meter(request, provider, 4 * minute) == (0, 10, 0)
    assert meter(request, provider, 8 * minute) == (0, 10, 0)
    assert meter(request, provider, 13 * minute) == (0, 0, 10)


def test_an_entry_of_an_hour_lasts_an_hour_and_is_counted_apart() -> None:
    provider = counting()
    request = body(user(marked("#" * 3)), system=[marked("#" * 10, "1h")])
    answer = provider.send(request, turn=ModelTurn("ok"), now_ms=0)
    written = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 10}
    assert answer.body["usage"]["cache_creation"] == written
    assert meter(request, provider, 59 * 60_000) == (0, 10, 3)
    assert meter(request, provider, 119 * 60_000) == (0, 0, 13)


def test_an_entry_keeps_its_own_time_when_a_later_marker_asks_for_less() -> None:
    provider = counting()
    meter(body(user("on"), system=[marked("#" * 10, "1h")]), provider, 0)
    shorter = body(user("on"), system=[marked("#" * 10)])
    assert meter(shorter, provider, 30 * 60_000) == (0, 10, 0)
    assert meter(shorter, provider, 80 * 60_000) == (0, 10, 0)


def test_a_conversation_with_a_moving_marker_pays_for_each_part_once() -> None:
    talk = Talk(OPUS, counting())
    bills = []
    for _ in range(10):
        last = talk.messages[-1]["content"][-1]
        last["cache_control"] = {"type": "ephemeral"}
        bills.append(talk.step(content="#" * 50).bill)
        del last["cache_control"]
    assert [bill.fresh_tokens for bill in bills] == [0] * 10
    assert [bill.read_tokens for bill in bills[1:]] == [50 * number for number in range(9)]
    assert all(bill.written_tokens == 50 for bill in bills[1:])
