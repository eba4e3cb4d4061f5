"""Originals in segments: found and returned to the byte as before, and damage, purges and repeats touch no neighbour."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.stores.builders import add, database, noise, original, prune, raw, unpacked_segments
from undrift.errors import StoreCorrupt, StoreError
from undrift.stores.base import Aim, Context
from undrift.stores.packing import FORGED, framed, unframed
from undrift.stores.segments import SegmentReader, StoredSegment, texts
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import Decision, MaskedSpan, Original

SESSION = "s \ud800"


def many(count: int = 300, characters: int = 400) -> list[Original]:
    found = [
        original(f"e{number} \ud800\0", f"word{number} \ud800 \0 " + noise(characters + number), session=SESSION)
        for number in range(count)
    ]
    odd = original("odd", "a masked word", session=SESSION, metadata={"pair_id": "p", "input": [1, {"a": None}]})
    return [*found, Original(odd.ref, SESSION, "window", odd.entry, (MaskedSpan("key", 2, 6),))]


def filled(home: Path, given: list[Original]) -> SqliteStore:
    store = SqliteStore.open(home)
    store.commit(Context(Scope(SESSION), 1), "add", [*given, *map(prune, given)])
    return store


def segments(home: Path) -> list[Any]:
    connection = raw(home)
    found = connection.execute("SELECT number, originals, content FROM segments ORDER BY number").fetchall()
    connection.close()
    return found


def test_the_texts_of_numbers_come_in_their_order_as_they_were_stored(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("a", "one"), original("b", "\ud800 \0 two"), original("c", ""))
        with store._database.using() as connection:
            found = dict(texts(connection, [3, 1, 2, 9]))
    assert list(found.items()) == [(1, b"one"), (2, b"\xed\xa0\x80 \0 two"), (3, b"")]


def test_what_is_packed_at_once_is_found_and_returned_to_the_byte(home: Path):
    given = many()
    with filled(home, given) as store:
        assert len(segments(home)) > 1
        assert [store.original(one.ref) for one in given] == given
        assert [store.original(one.ref).masked for one in given] == [one.masked for one in given]
        assert [store.by_entry(SESSION, one.entry.id) for one in given] == given
        assert [hit.ref for hit in store.find("word17")] == [given[17].ref]
        assert [hit.ref for hit in store.find("word17", session_id=SESSION)] == [given[17].ref]
        assert store.find("word17", session_id="another") == ()
        assert store.sessions()[0].originals == len(given)
        assert store.integrity() == ()
        store.rebuild_search()
        assert [hit.ref for hit in store.find("word17")] == [given[17].ref]


def test_small_commits_are_packed_together_once_they_have_enough_bytes(home: Path):
    given = many(60, 900)
    with SqliteStore.open(home) as store:
        for one in given:
            store.commit(Context(Scope(SESSION), 1), "add", [one, prune(one)])
        (*packed,) = segments(home)
        assert 0 < sum(originals for _, originals, _ in packed) < len(given)
        assert [store.original(one.ref) for one in given] == given
        assert store.sessions()[0].originals == len(given)
        assert store.pack(1 << 20)
        assert store.pack(1 << 20) == 0
        assert [store.original(one.ref) for one in given] == given
        assert store.integrity() == ()


def test_the_same_again_is_skipped_and_another_content_is_refused(home: Path):
    given = many(100)
    with filled(home, given) as store:
        before = segments(home)
        store.commit(Context(Scope(SESSION), 2), "add", [*given, *map(prune, given)])
        assert segments(home) == before
        other = Original(given[5].ref, SESSION, "window", original(given[5].entry.id, noise(20_000)).entry)
        with pytest.raises(StoreError, match="another original is stored"):
            store.commit(Context(Scope(SESSION), 3), "add", [other])
        assert segments(home) == before
        assert store.original(given[5].ref) == given[5]


def test_a_damaged_segment_names_each_of_its_originals_and_hides_no_other(home: Path):
    given = many()
    with filled(home, given) as store:
        number, originals, content = segments(home)[1]
        connection = raw(home)
        damaged = bytearray(content)
        damaged[len(damaged) // 2] ^= 4
        connection.execute("UPDATE segments SET content = ? WHERE number = ?", (bytes(damaged), number))
        refs = {ref for (ref,) in connection.execute("SELECT ref FROM originals WHERE segment = ?", (number,))}
        connection.close()
        assert len(refs) == originals
        for one in given:
            if one.ref in refs:
                with pytest.raises(StoreCorrupt, match=one.ref):
                    store.original(one.ref)
            else:
                assert store.original(one.ref) == one
        problems = store.integrity()
        assert all(any(ref in problem for problem in problems) for ref in refs)
        lost = next(place for place, one in enumerate(given) if one.ref in refs)
        (hit,) = store.find(f"word{lost}")
        assert (hit.ref, "damaged" in hit.snippet) == (given[lost].ref, True)
        store.commit(Context(Scope(SESSION), 2), "add", given)  # nothing is new, and what cannot be read stays
        fresh = original("fresh", noise(20_000), session=SESSION)
        store.commit(Context(Scope(SESSION), 3), "add", [fresh])
        assert store.original(fresh.ref) == fresh


def test_a_purge_of_one_reference_rewrites_one_segment(home: Path):
    given = many()
    with filled(home, given) as store:
        before = segments(home)
        done = store.purge([Aim("original", SESSION, given[150].ref)], blank, at_ms=5)
        assert done is not None
        assert done.removed["originals"] == 1
        store.clean(done)
        after = segments(home)
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
        assert [store.original(one.ref) for one in given if one is not given[150]] == given[:150] + given[151:]
        assert store.integrity() == ()
        secret = given[150].entry.content[-40:].encode()
        assert not any(secret in held for held in (*unpacked_segments(home), database(home).read_bytes()))
        assert store.purge([Aim("session", SESSION)], blank, at_ms=6) is not None
        assert segments(home) == []
        assert store.integrity() == ()


@pytest.mark.parametrize(
    "change", ["segment = segment + 1", "place = place + 1", "place = -1", "segment = 99", "source = 'pin'"]
)
def test_a_changed_row_gives_out_no_other_original(home: Path, change: str):
    given = many()
    with filled(home, given) as store:
        connection = raw(home)
        connection.execute(f"UPDATE originals SET {change} WHERE ref = ?", (given[3].ref,))
        connection.close()
        if change != "source = 'pin'":
            with pytest.raises(StoreCorrupt, match=given[3].ref):
                store.original(given[3].ref)
        assert store.original(given[4].ref) == given[4]
        assert any(given[3].ref in problem or "segment" in problem for problem in store.integrity())


def test_a_segment_that_says_a_false_length_takes_no_memory(home: Path):
    given = many()
    with filled(home, given) as store:
        connection = raw(home)
        connection.execute("UPDATE segments SET raw_bytes = 1 << 40")
        connection.close()
        with pytest.raises(StoreCorrupt, match="SHA-256"):
            store.original(given[0].ref)


def blank(decision: Decision) -> Decision:
    return Decision(decision.entry_id, decision.kind, "purged", 0, "")


def test_a_row_of_a_packed_original_is_small(home: Path):
    with filled(home, many()):
        connection: apsw.Connection = raw(home)
        found = connection.execute("SELECT max(length(content) + length(session_id)) FROM originals").fetchall()
        connection.close()
    assert found == [(0,)]


@pytest.mark.parametrize("raw_bytes", [b"", b"{}", b'{"ids":["a"]}' * 99, b"[" * 201])
def test_a_reading_is_stored_compressed_where_that_is_shorter(raw_bytes: bytes):
    stored = framed(raw_bytes)
    assert unframed(stored) == raw_bytes
    assert len(stored) <= len(raw_bytes)
    for forged in (stored[:-1] if stored[:1] == b"\1" else b"\1", b"\1" + b"\xff" * 20, b"\1"):
        with pytest.raises(FORGED):
            unframed(forged)


def test_what_another_process_writes_between_two_reads_is_no_damage(home: Path, monkeypatch: pytest.MonkeyPatch):
    given, new, read = many(40, 900), many(80, 901)[41:80], SegmentReader.segment
    with filled(home, given) as store, SqliteStore.open(home) as other:
        aims = [Aim("original", SESSION, given[0].ref)]
        moves: list[Callable[[], object]] = [lambda: other.purge(aims, blank, at_ms=5)]

        def moved(self: SegmentReader, number: int) -> StoredSegment:
            while moves:
                moves.pop()()
            return read(self, number)

        monkeypatch.setattr(SegmentReader, "segment", moved)
        assert store.original(given[1].ref) == given[1]
        moves.append(lambda: other.commit(Context(Scope(SESSION), 6), "add", new))
        assert store.integrity() == ()
        assert not moves
