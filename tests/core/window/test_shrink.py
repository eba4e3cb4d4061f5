"""Which results are folded when a window is pruned: plain ones that may leave."""

from typing import Any

import pytest

from undrift.core.text.tokens import characters_per_4
from undrift.core.window.shrink import lean
from undrift.core.window.thinking import key_of
from undrift.values.window import ContextEntry

LISTING = "\n".join(f"{n:6}→row {n} of a listing" for n in range(1, 100))


def entry(text: str, *, type_: Any = "tool_result", **meta: Any) -> ContextEntry:
    metadata = {"role": "user", "kind": "result", "message": "m", **meta}
    return ContextEntry("e", type_, text, characters_per_4(text), 0, metadata)


def leaner(one: ContextEntry) -> dict[str, Any]:
    found, window = lean([one], (), count=characters_per_4, ref_of=str)
    assert [e.token_count for e in window] == [found[e.id].tokens if e.id in found else e.token_count for e in [one]]
    return {id_: each.fold for id_, each in found.items()}


OTHERS = [
    {"type_": "spec"},
    {"type_": "summary"},
    {"kind": "text", "type_": "reasoning"},
    {"kind": "call", "role": "assistant", "type_": "reasoning"},
    {"mixed": "parts"},
]


@pytest.mark.parametrize("other", OTHERS)
def test_only_plain_results_are_folded(other):
    assert (leaner(entry(LISTING)), leaner(entry(LISTING, **other))) == ({"e": "all"}, {})


def test_what_must_stay_as_it_is_is_not_folded():
    one = entry(LISTING, pair_id="p")
    assert lean([one], {key_of(one)}, count=characters_per_4, ref_of=str) == ({}, [one])


def test_where_little_is_saved_nothing_is_folded():
    assert leaner(entry("1→a\n2→b\n3→c\n4→d\n" + "a line that is no listing\n" + LISTING.replace("→", " "))) == {}


def test_what_is_folded_already_stays_so():
    one = lean([entry(LISTING, fold="all")], (), count=characters_per_4, ref_of=str)[0]["e"]
    assert (one.fold, one.tokens) == ("all", characters_per_4(LISTING))
    assert leaner(entry("same line\n" * 100, fold="noise")) == {"e": "all"}
