"""Marks: by them a conversation leads to its session."""

from pathlib import Path

from tests.stores.builders import Opener
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.stores.base import KnownMark, Mark
from undrift.stores.contract import Store


def test_marks_lead_to_the_session_that_left_them(store: Store):
    birth, turn, answer = Mark("b", "birth"), Mark("t", "turn"), Mark("a", "answer")
    assert store.add_marks("s", [birth, answer])
    assert store.find_marks(["a", "b", "t"]) == (KnownMark(birth, "s", 1, False), KnownMark(answer, "s", 1, False))
    assert store.add_marks("s", [turn])
    assert store.find_marks(["t", "b"]) == (KnownMark(birth, "s", 1, True), KnownMark(turn, "s", 1, True))
    assert store.find_marks([]) == store.find_marks(["x", "'", "\0"]) == ()
    assert (store.sessions(), store.operations("s"), store.last_seq("s")) == ((), (), 0)


def test_of_several_sessions_with_a_mark_the_newest_is_named_and_all_are_counted(store: Store):
    birth = Mark("b", "birth")
    for session in ("one", "two", "one", "three"):
        store.add_marks(session, [birth])
    store.add_marks("two", [Mark("t", "turn")])
    store.add_marks("four", [Mark("b", "answer")])
    assert store.find_marks(["b"]) == (
        KnownMark(birth, "three", 3, False),
        KnownMark(Mark("b", "answer"), "four", 1, False),
    )


def test_a_mark_stays_what_it_first_was(store: Store):
    store.add_marks("s", [Mark("m", "birth"), Mark("m", "turn")])
    store.add_marks("s", [Mark("m", "turn")])
    assert store.find_marks(["m"]) == (KnownMark(Mark("m", "birth"), "s", 1, False),)


def test_a_claim_counts_once(open_store: Opener, store: Store, home: Path):
    store.add_marks("s", [Mark("b", "birth")])
    with open_store(home) as other:
        assert other.add_marks("s", [Mark("mine", "turn")], is_claim=True)
        assert not store.add_marks("s", [Mark("yours", "turn"), Mark("a", "answer")], is_claim=True)
        assert store.add_marks("t", [Mark("yours", "turn")], is_claim=True)
        assert other.find_marks(["yours", "a"]) == (KnownMark(Mark("yours", "turn"), "t", 1, True),)


def test_marks_are_there_after_a_reopening(open_store: Opener, store: Store, home: Path):
    texts = [f"mark {number}" for number in range(len(HOSTILE_IDS))]
    for session, mark in zip(HOSTILE_IDS, texts, strict=True):
        store.add_marks(session, [Mark(mark, "answer")])
    before = store.find_marks(texts)
    store.close()
    with open_store(home) as again:
        assert again.find_marks(texts) == before
        assert again.integrity() == ()
    assert [known.session_id for known in before] == HOSTILE_IDS


def test_only_the_oldest_marks_of_the_same_session_are_dropped(store: Store):
    store.add_marks("other", [Mark("other", "turn")])
    store.add_marks("s", [Mark("birth", "birth")])
    for first in range(0, 3_000, 100):
        store.add_marks("s", [Mark(f"{number}", "turn") for number in range(first, first + 100)])
    kept = [known.mark.text for known in store.find_marks([*map(str, range(3_000)), "other", "birth"])]
    assert kept[:2] == ["other", "birth"]
    assert kept[2:] == [str(number) for number in range(3_002 - len(kept), 3_000)]
    assert 500 <= len(kept) <= 2_000
