"""Mappings of two parts that others share."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from undrift.values.detail import Detail

VALUES = st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from([0.0, 1.0, 2.5]) | st.text(max_size=3)
DETAILS = st.dictionaries(st.text(max_size=3), VALUES | st.lists(VALUES, max_size=2), max_size=5)


def written(value: Any) -> str:
    return json.dumps(value, default=dict)


@given(DETAILS, st.integers(0, 5), st.booleans())
def test_it_is_the_mapping_that_was_given_in_two_parts(whole, end, is_written):
    items = list(whole.items())
    own = dict(items[end:])
    found = Detail(dict(items[:end]), json.dumps(own).encode() if is_written else own)
    assert found == whole
    assert whole == found
    assert written(found) == written(whole)
    assert {**found, "more": 1} == {**whole, "more": 1}
    assert copy.deepcopy(found) == whole
    assert [found.get(name, 7) for name in [*whole, "more"]] == [*whole.values(), 7]
    assert [name in found for name in [*whole, "more"]] == [True] * len(whole) + [False]
    assert len(found) == len(whole)
    assert repr(found) == repr(whole)
