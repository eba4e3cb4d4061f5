"""A property that fails for few inputs: not among the tests, for the fuzzer to find."""

from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 600))
def test_no_number_is_a_multiple_of_31(number):
    assert number % 31 or number < 31
