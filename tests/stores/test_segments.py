"""The texts of originals by their numbers, and where they lie."""

from pathlib import Path

from tests.stores.builders import add, original
from undrift.stores.segments import texts
from undrift.stores.sqlite import SqliteStore


def test_the_texts_of_numbers_come_in_their_order_as_they_were_stored(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("a", "one"), original("b", "\ud800 \0 two"), original("c", ""))
        with store._database.using() as connection:
            found = dict(texts(connection, [3, 1, 2, 9]))
    assert list(found.items()) == [(1, b"one"), (2, b"\xed\xa0\x80 \0 two"), (3, b"")]
