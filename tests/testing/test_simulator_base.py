"""The values that every simulator takes and gives, and the canonical form that they compare by."""

import pytest

from undrift.testing.simulators import Bill, ModelTurn, Refused, Simulator
from undrift.testing.simulators.anthropic import AnthropicSimulator
from undrift.testing.simulators.base import (
    betas_of,
    canonical,
    characters_by_four,
    digest_of,
    mark_of,
    parsed,
    tokens_of,
)


def test_a_bill_is_paid_in_prices_of_one_fresh_token() -> None:
    bill = Bill(fresh_tokens=100, read_tokens=1000, written_tokens=200, output_tokens=10)
    assert bill.cost(read_ratio=0.1, write_ratio=1.25, output_ratio=5) == 100 + 100 + 250 + 50


def test_tokens_are_characters_by_four_rounded_up_unless_the_caller_counts() -> None:
    assert [characters_by_four("x" * count) for count in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert tokens_of("äöüß".encode()) == 1
    assert tokens_of(b'{"a":1}', len) == 7


def test_values_that_are_equal_have_one_canonical_form() -> None:
    assert canonical({"b": 1, "a": [1, "x"]}) == canonical({"a": [1, "x"], "b": 1}) == b'{"a":[1,"x"],"b":1}'
    assert canonical({"a": [1, 2]}) != canonical({"a": [2, 1]})


def test_a_mark_depends_on_every_part_and_on_where_parts_divide() -> None:
    assert mark_of("a", 1, b"c") == mark_of("a", 1, b"c")
    assert len({mark_of("ab", "c"), mark_of("a", "bc"), mark_of("abc"), mark_of("ab", "d")}) == 4
    assert len(mark_of("x")) == 44
    assert digest_of(b"a", b"b") == digest_of(b"ab")


def test_a_body_comes_as_bytes_or_as_a_value() -> None:
    assert parsed(b'{"model":"m"}') == parsed({"model": "m"}) == {"model": "m"}
    with pytest.raises(ValueError):
        parsed(b"{")


def test_a_list_in_a_header_is_found_whatever_the_case_of_its_name() -> None:
    assert betas_of({"Anthropic-Beta": "one, two,,", "other": "three"}, "anthropic-beta") == {"one", "two"}
    assert betas_of(None, "anthropic-beta") == frozenset()


def test_a_refusal_says_status_text_and_rule() -> None:
    refused = Refused(400, "no", {"type": "error"}, rule="A1")
    assert (refused.status, refused.text, refused.body, refused.rule) == (400, "no", {"type": "error"}, "A1")
    assert str(refused) == "400: no"


def test_a_simulator_answers_what_it_is_told() -> None:
    provider: Simulator = AnthropicSimulator()
    body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Go."}]}
    assert provider.name == "anthropic"
    assert provider.send(body, turn=ModelTurn("Gone.")).body["content"] == [{"type": "text", "text": "Gone."}]
