"""The estimate never fails, never under-counts badly, and behaves like a count."""

import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.tokens import characters_per_4, counter, estimate, token_count
from undrift.errors import InputError

any_text = st.text(st.characters())  # lone surrogates included
# Runs of few characters: where the counts of pairs and fours meet a border most often.
few = st.text("aA0 .\n é漢🙂\ud800", max_size=40)

LOG = "".join(
    f"-rw-r--r-- 1 root root {n * 7919 % 90000:>6} 2026-0{n % 9 + 1}-1{n % 10} "
    f"0{n % 10}:4{n % 6}:1{n % 9}.{n * 31337 % 1000000:06} lib{n}.so.{n % 7}\n"
    for n in range(200)
)
PROSE = (
    "The window of a long session fills up, and something has to leave it before the next request can be sent. " * 40
)
CODE = (
    "def pruned(entries, budget):\n    for entry in sorted(entries, key=by_age):\n        total += entry.tokens\n" * 40
)
JSON = json.dumps(
    [{"id": f"item-{n}", "price": n * 1.5, "tags": ["new", "sale"], "stock": None} for n in range(100)], indent=2
)
HAN = "会话的上下文窗口会逐渐被填满必须先移除一些内容才能发送下一个请求。" * 40
HEX = "".join(f"{n * 2654435761 % 2**32:08x}" for n in range(400))


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [  # characters per token of a byte-pair vocabulary, as published for these kinds
        pytest.param(LOG, 1.7, 2.5, id="listing with numbers"),
        pytest.param(PROSE, 3.6, 5.2, id="prose"),
        pytest.param(CODE, 3.2, 4.8, id="code"),
        pytest.param(JSON, 2.4, 3.8, id="JSON"),
        pytest.param(HAN, 1.1, 2.0, id="Chinese"),
        pytest.param(HEX, 1.4, 2.0, id="hashes"),
    ],
)
def test_each_kind_of_text_has_its_own_density(text, least, most):
    assert least <= len(text) / estimate(text) <= most


def test_dense_text_costs_more_than_four_characters_a_token_say():
    for text in (LOG, HAN, HEX, JSON):
        assert estimate(text) > 1.1 * characters_per_4(text)


def test_indentation_costs_less_than_its_characters():
    assert estimate(" " * 400) < 100
    assert estimate("\n    x" * 50) < 2 * estimate("\nx" * 50) + 50


def test_the_empty_text_costs_nothing_and_every_other_text_something():
    assert estimate("") == characters_per_4("") == token_count("") == 0
    for text in (" ", "\n", "a", "\ud800", "\x00", "🙂"):
        assert estimate(text) >= 1


@given(any_text)
def test_every_string_has_a_count(text):
    assert (estimate(text) == 0) == (text == "")
    assert estimate(text) == estimate(text) == token_count(text)
    assert isinstance(estimate(text), int)


@given(any_text | few, any_text | few)
def test_a_concatenation_costs_what_its_parts_cost(left, right):
    assert abs(estimate(left + right) - estimate(left) - estimate(right)) <= 4


@given(few, st.integers(1, 50))
def test_a_repeated_text_never_costs_less_than_once(text, times):
    assert estimate(text * times) >= estimate(text)


@given(any_text)
def test_characters_per_four_round_up(text):
    assert characters_per_4(text) * 4 - len(text) in range(4)


def test_the_names_of_the_counters():
    assert counter("estimate") is estimate
    assert counter("characters/4") is characters_per_4


@pytest.mark.parametrize("name", ["", "Estimate", "tiktoken", "tiktoken:", "words", "characters/5"])
def test_an_unknown_counter_is_refused_by_name(name):
    with pytest.raises(InputError, match="token counter must be"):
        counter(name)


def test_a_missing_package_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)  # what an absent package looks like to an import
    with pytest.raises(InputError, match=r"undrift\[exact\]"):
        counter("tiktoken:o200k_base")


def test_an_exact_counter_counts_with_the_named_encoding(monkeypatch):
    def get_encoding(name):
        if name != "by_words":
            raise ValueError(f"unknown encoding {name}")
        return SimpleNamespace(encode_ordinary=str.split)

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(get_encoding=get_encoding))
    assert counter("tiktoken:by_words")("three small words") == 3
    with pytest.raises(InputError, match=r"tiktoken:nothing.*unknown encoding nothing"):
        counter("tiktoken:nothing")
