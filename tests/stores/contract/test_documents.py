"""Documents: found by their paths, changed whole or not at all."""

from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError
from undrift.stores.base import Document

NAMES = ["", "..", "a/b", "[", '"]', "\\", "%", *HOSTILE_IDS]


def put(store: Any, *paths: tuple[str, ...], content: bytes = b"x", session: str = "s", kind: str = "k") -> None:
    def act(change: Any) -> None:
        for path in paths:
            change.put(kind, Document(path, {"n": [1, None]}, content))

    store.change_documents(session, act, at_ms=7, payload={"about": "test"})


def paths(store: Any, prefix: tuple[str, ...] = (), session: str = "s", **how: Any) -> list[tuple[str, ...]]:
    with store.documents(session) as kept:
        return [one.path for one in kept.under("k", prefix, **how)]


def test_a_document_is_found_by_its_path_session_and_kind(open_store: Opener, store: Any, home: Path):
    put(store, ("a", "b"), content=b"\0\xff")
    store.close()
    with open_store(home) as opened:
        again: Any = opened
        with again.documents("s") as kept:
            found = kept.find("k", ("a", "b"))
            assert (found.path, found.record, found.content) == (("a", "b"), {"n": [1, None]}, b"\0\xff")
            assert kept.find("k", ("a",)) is None
            assert kept.find("other", ("a", "b")) is None
        with again.documents("other") as kept:
            assert kept.find("k", ("a", "b")) is None
            assert kept.under("k") == []


@pytest.mark.parametrize("name", NAMES)
def test_a_prefix_finds_what_is_under_it_and_nothing_else(store: Any, name: str):
    inside = [(name,), (name, "a"), (name, "a", "b")]
    put(store, *inside, (f"{name}x",), (f"{name}x", "a"), ("other", name))
    assert sorted(paths(store, (name,))) == sorted(inside)
    assert sorted(paths(store, (name, "a"))) == sorted(inside[1:])
    assert len(paths(store)) == 6
    assert paths(store, (name, "zz")) == []


def test_they_come_in_the_order_of_their_paths_or_the_last_of_them(store: Any):
    put(store, *[(f"{n:03}", "x") for n in (4, 2, 0, 1, 3)])
    assert paths(store) == [(f"{n:03}", "x") for n in range(5)]
    assert paths(store, last=2) == [("003", "x"), ("004", "x")]
    assert paths(store, last=0) == []


def test_content_is_read_where_it_is_asked_for(store: Any):
    put(store, ("a",), content=b"long")
    with store.documents("s") as kept:
        assert [one.content for one in kept.under("k", with_content=False)] == [b""]
        assert [one.record for one in kept.under("k", with_content=False)] == [{"n": [1, None]}]
        assert [one.content for one in kept.under("k")] == [b"long"]


def test_a_new_version_has_a_greater_number_and_the_same_again_is_none(store: Any):
    numbers = []
    for content in (b"1", b"1", b"2"):
        put(store, ("a",), content=content)
        with store.documents("s") as kept:
            numbers.append(kept.find("k", ("a",)).number)
            assert kept.numbers("k") == {numbers[-1]}
    assert numbers[0] == numbers[1] < numbers[2]


def test_what_a_change_wrote_it_reads_and_what_it_closes_is_gone(store: Any):
    put(store, ("a",), ("b",))

    def act(change: Any) -> list[tuple[str, ...]]:
        change.close([change.find("k", ("a",))])
        change.put("k", Document(("c",), {}, b"new"))
        return [one.path for one in change.under("k")]

    assert store.change_documents("s", act, at_ms=1, payload={}) == [("b",), ("c",)]
    assert paths(store) == [("b",), ("c",)]
    assert [row.kind for row in store.operations("s")] == ["documents", "documents"]


def test_what_is_raised_in_a_change_undoes_it(store: Any):
    def act(change: Any) -> None:
        change.put("k", Document(("a",), {}, b"1"))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        store.change_documents("s", act, at_ms=1, payload={})
    assert paths(store) == []
    assert store.operations("s") == ()
    put(store, ("b",))
    assert paths(store) == [("b",)]


def test_what_json_cannot_hold_and_nobodys_session_are_refused(store: Any):
    with pytest.raises(InputError):
        store.change_documents("s", lambda change: change.put("k", Document(("a",), {"x": {1}})), at_ms=1, payload={})
    with pytest.raises(InputError, match="empty"):
        put(store, ("a",), session="")
    assert store.sessions() == ()


def test_owners_are_those_who_have_something(store: Any):
    put(store, ("a",), session="one")
    put(store, ("a",), session="two")
    put(store, ("a",), session="three", kind="other")
    put(store, ("a",), session="tw\ud800")
    store.change_documents("one", lambda change: change.close(change.under("k")), at_ms=1, payload={})
    assert store.document_owners("k") == ["two", "tw\ud800"]


def test_two_who_change_lose_nothing_of_each_other(open_store: Opener, store: Any, home: Path):
    def count(change: Any) -> None:
        found = change.find("k", ("n",))
        number = 0 if found is None else int(found.content)
        change.put("k", Document(("n",), {}, b"%d" % (number + 1)))

    with open_store(home) as opened:
        other: Any = opened
        for _ in range(5):
            store.change_documents("s", count, at_ms=1, payload={})
            other.change_documents("s", count, at_ms=1, payload={})
    with store.documents("s") as kept:
        assert [one.content for one in kept.under("k")] == [b"10"]
