"""Operations that a server numbered get numbers in a file, and each session keeps its order."""

from random import Random

from undrift.stores.moving.numbers import numbers_in_file
from undrift.stores.moving.values import LogPlace, Numbered


def test_operations_with_older_clocks_than_their_changes_of_memories_keep_their_order():
    operations = [Numbered("s", seq, 0, seq, "turn") for seq in range(1, 5)]
    found = numbers_in_file(operations, [LogPlace("s", 2), LogPlace("s", 4)], {}, ())
    assert found == {"s": {1: 1, 2: 2, 3: 3, 4: 4}}


def test_changes_of_memories_follow_each_other_as_they_did_there():
    operations = [
        Numbered("s", 1, 0, 1, "turn"),
        Numbered("s", 2, 0, 2, "remember"),
        Numbered("t", 1, 0, 9, "remember"),
    ]
    found = numbers_in_file(operations, [LogPlace("t", 1), LogPlace("s", 2)], {}, ())
    assert found["t"][1] < found["s"][2]


def test_numbers_grow_within_a_session_at_any_clocks():
    random = Random(1)
    for _ in range(300):
        operations = [
            Numbered(session, seq, random.randrange(4), random.randrange(9), "turn")
            for session in "st"
            for seq in range(1, 7)
        ]
        places = [LogPlace(one.session, one.seq) for one in operations]
        moments = random.sample(places, random.randrange(6))
        for numbers in numbers_in_file(operations, moments, {}, ()).values():
            assert [numbers[seq] for seq in sorted(numbers)] == sorted(numbers.values())
