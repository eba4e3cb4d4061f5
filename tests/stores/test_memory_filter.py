"""A filter asks for what it says, whatever is in its values."""

import pytest

from undrift.errors import InputError
from undrift.stores.memory_filter import ALL, Filter, in_lance, in_sqlite, plain

HOSTILE = ["x' OR '1'='1", "'", "''", '"', "\\", "%27", "\0", "\ud800", "é", "e\u0301", "a\nb", "--", "", " ", "名"]


def test_no_condition_lets_all_through():
    assert in_sqlite(ALL, "l") == ("", [])
    assert in_lance(ALL) == ""


def test_conditions_are_joined_and_values_bound():
    only = Filter(scopes={"b", "a"}, types=["note"], until_seq=7)
    assert in_sqlite(only, "l") == ("l.scope IN (?, ?) AND l.type IN (?) AND l.seq <= ?", ["a", "b", "note", 7])
    assert in_lance(only) == "scope IN ('a', 'b') AND type IN ('note') AND seq <= 7"
    assert in_lance(Filter(sources=())) == "false"


def test_quotes_cannot_end_a_value():
    assert in_lance(Filter(sources=["x' OR '1'='1"])) == "source IN ('x'' OR ''1''=''1')"
    for text in HOSTILE:
        quoted = in_lance(Filter(sources=[text]))
        assert quoted.isascii()
        assert quoted.isprintable()
        assert quoted.count("'") % 2 == 0


def test_different_texts_stay_different():
    assert len({plain(text) for text in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize(
    "wrong",
    [{"scopes": "abc"}, {"sources": [1]}, {"types": 3}, {"until_seq": -1}, {"until_seq": True}, {"until_seq": "1"}],
)
def test_a_value_of_another_kind_is_refused(wrong):
    with pytest.raises(InputError, match="filter"):
        Filter(**wrong)
