"""The estimated memory of an open session."""

from undrift.session.footprint import Footprint


def test_the_histories_of_a_session_are_counted_by_their_beginning():
    footprint = Footprint()
    empty = footprint.bytes
    first = footprint.add(b"a", 1_000, 10, has_id=True)
    assert first > 10 * 1_000
    assert footprint.add(b"a", 2_000, 10, has_id=True) == 3_200
    assert footprint.add(b"b", 1_000, 10, has_id=True) == first
    assert footprint.add(b"a", 1_000, 10, has_id=True) == -3_200
    assert footprint.add(b"b", 1_000, 10, has_id=False) > 0  # its history is kept once more, to know it again
    for number in range(20):
        footprint.add(bytes([number]), 1_000, 10, has_id=True)
    assert footprint.bytes == empty + 8 * first
