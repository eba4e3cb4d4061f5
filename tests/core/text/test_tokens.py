"""The estimate never fails, never under-counts badly, and behaves like a count."""

import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.token_weights import BLOCKS, BYTE_RUNS, CLASS_RUNS, LEADS, MARKED_RUNS
from undrift.core.text.tokens import characters_per_4, counter, estimate, token_count
from undrift.errors import InputError

EVERY = dict(CLASS_RUNS)[b""]  # found at every character

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


MINIFIED = (
    "function t(e,n){var r=e.length;if(!r)return null;for(var o=0;o<r;o++)n(e[o],o)&&(e[o].k=!0);return e}"
    "var u=Object.assign,s=new Map;u(t.prototype,{get:function(e){return s.get(e)||void 0},set:function(e,n){s.set(e,n)}});"
) * 10
GERMAN = (
    "Das Fenster einer langen Sitzung füllt sich, und bevor die nächste Anfrage gesendet werden kann, muss etwas "
    "entfernt werden. Nichts davon geht verloren: Jeder Eintrag bleibt gespeichert und kann später gesucht werden. "
) * 10
RUSSIAN = (
    "Окно длинной сессии постепенно заполняется, и прежде чем отправить следующий запрос, нужно что-то удалить. "
    "Ничего не теряется: каждая запись сохраняется, и её можно найти позже. "
) * 10


@pytest.mark.parametrize(
    ("text", "exact"),
    [  # tokens of o200k_base
        pytest.param(LOG, 7_198, id="listing with numbers"),
        pytest.param(PROSE, 921, id="prose"),
        pytest.param(CODE, 1_000, id="code"),
        pytest.param(MINIFIED, 780, id="minified code"),
        pytest.param(JSON, 4_302, id="JSON"),
        pytest.param(HAN, 960, id="Chinese"),
        pytest.param(GERMAN, 411, id="German"),
        pytest.param(RUSSIAN, 451, id="Russian"),
        pytest.param(HEX, 1_814, id="hashes"),
    ],
)
def test_each_kind_of_text_is_estimated_within_a_fifth_of_its_exact_count(text, exact):
    # Everyday Chinese is over: the weight of a Han character is between those of common and of rare ones.
    assert -0.2 <= estimate(text) / exact - 1 <= (0.3 if text is HAN else 0.2)


def test_no_character_beyond_ascii_costs_less_than_nothing():
    for low, high, weight in LEADS:
        extras = [extra for prefixes, extra in BLOCKS if low <= prefixes[0][0] <= high]
        assert weight + EVERY + min([0, *extras]) > 0


@pytest.mark.parametrize("run", [run for run, weight in (*CLASS_RUNS, *BYTE_RUNS, *MARKED_RUNS) if weight < 0])
def test_a_run_that_a_vocabulary_merges_still_costs_something(run):
    text = run.decode("latin-1").replace("\xd0", "д").replace("\xe0", "न").replace("\xc3", "é").replace("\xd5", "א")
    assert estimate(PROSE + text * 600) > estimate(
        PROSE
    )  # spaces cost a token for 150: the least of the whole hides it
    assert estimate(text * 600) >= estimate(text * 300)


def test_dense_text_costs_more_than_four_characters_a_token_say():
    for text in (LOG, HAN, HEX, JSON):
        assert estimate(text) > 1.1 * characters_per_4(text)


def test_control_characters_cost_about_a_token_each():
    assert 0.7 < estimate("\b" * 500 + "N") / 500 < 2  # as in a manual page, whose bold letters are struck over
    assert estimate("N\bNA\bAM\bME\bE" * 40) > 2 * estimate("NAME" * 80)
    assert estimate("\x1b[1m" * 40) > estimate("[1m" * 40)


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
    assert abs(estimate(left + right) - estimate(left) - estimate(right)) <= 16


@given(few, st.integers(1, 50))
def test_a_repeated_text_costs_hardly_less_than_once(text, times):
    """By up to 2 tokens it can: a vocabulary has long runs of a space, a dash or a digit as one token."""
    assert estimate(text * times) >= estimate(text) - 2


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
