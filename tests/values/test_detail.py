"""Mappings that share what they have in common."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from undrift.values.detail import Detail, Shared

VALUES = st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from([0.0, 1.0, 2.5]) | st.text(max_size=3)
DETAILS = st.dictionaries(st.text(max_size=3), VALUES | st.lists(VALUES, max_size=2), max_size=5)


def written(value: Any) -> str:
    return json.dumps(value, default=dict)


@given(st.lists(DETAILS, max_size=6))
def test_each_is_the_mapping_that_was_given_in_its_order_and_with_its_types(given_ones):
    shared = Shared()
    for one in given_ones:
        found = shared.detail(one)
        assert found == one
        assert one == found
        assert written(found) == written(one)
        assert {**found, "more": 1} == {**one, "more": 1}
        assert copy.deepcopy(found) == one


def test_equal_texts_are_one_object_and_one_is_not_true():
    shared = Shared()
    first, second = (shared.detail({"at": f"a{end}", "whole": value}) for value, end in ((1, "b"), (True, "b")))
    assert first["at"] is second["at"]
    assert (first["whole"], second["whole"] is True) == (1, True)
    assert isinstance(first, Detail)
    assert first.get("nothing") is None
    assert repr(first) == "{'at': 'ab', 'whole': 1}"
