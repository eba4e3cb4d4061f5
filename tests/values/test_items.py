"""The items of a history that only grows."""

import pytest

from undrift.values.items import Items
from undrift.values.window import Item


def items(count: int) -> list[Item]:
    return [Item(number, f"m{number}", "user", (), 1) for number in range(count)]


def test_they_are_those_that_were_there_however_long_the_list_grows():
    kept = items(3)
    found = Items(kept)
    kept.extend(items(2))
    assert (len(found), list(found), found[-1], found[1]) == (3, kept[:3], kept[2], kept[1])
    assert [found[1:], found[:-1], found[5:], found[::-1]] == [kept[1:3], kept[:2], [], kept[2::-1]]
    assert list(reversed(found)) == kept[2::-1]
    assert len(Items(kept, 1)) == 1
    with pytest.raises(IndexError):
        found[3]
