"""Texts that a person puts into a window, and undoes: once, in their place, and legal with all that comes after."""

from pathlib import Path

import pytest

from tests.builders import Json, body, opened, parts, problems, rounds, sent, user
from undrift.errors import InputError, RecallError

LONG = [user("hello"), *rounds(20)]
LONGER = [*LONG, *rounds(3, first=20)]
LONGEST = [*LONGER, *rounds(20, first=23)]
SMALL = 1_200


def with_words(words: str, messages: list[Json]) -> list[int]:
    return [n for n, m in enumerate(messages) if any(words in part.get("text", "") for part in parts(m))]


def a_result_that_left(session) -> str:
    prepared = session.prepare(body(*LONG))
    return next(a.ref for a in prepared.actions if session.recall(a.ref).startswith("answer 2:"))


def test_what_is_brought_back_stands_in_the_next_request_once_and_stays_until_a_prune(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        ref = a_result_that_left(session)
        back = session.bring_back(ref)
        assert session.bring_back(ref) == back, "it waits already"
        out = sent(session.prepare(body(*LONGER)))
        assert with_words("answer 2:", out) == [len(out) - 1]
        assert with_words("Brought back by the user", out) == [len(out) - 1]
        assert problems(out) == ()
        assert sent(session.prepare(body(*LONGER))) == out
    with opened(tmp_path, budget_tokens=SMALL) as session:
        assert sent(session.prepare(body(*LONGER))) == out
        later = sent(session.prepare(body(*LONGEST)))
        assert with_words("answer 2:", later) == [], "prunes have come since"
        assert problems(later) == ()
        assert session.recall(back).endswith(session.recall(ref))
        assert session.bring_back(ref) != back, "it left again"


def test_another_process_brings_it_back_while_the_session_is_open(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        ref = a_result_that_left(session)
        with opened(tmp_path, budget_tokens=SMALL) as beside:
            beside.bring_back(ref)
        assert with_words("answer 2:", sent(session.prepare(body(*LONGER))))


def test_what_is_taken_back_before_the_next_request_never_comes(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        ref = a_result_that_left(session)
        session.unpin(session.bring_back(ref))
        assert not with_words("answer 2:", sent(session.prepare(body(*LONGER))))
        session.bring_back(ref)
        assert with_words("answer 2:", sent(session.prepare(body(*LONGEST))))


def test_a_history_without_the_block_does_not_get_it(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        session.bring_back(a_result_that_left(session))
        other = sent(session.prepare(body(user("a title, please"), *rounds(2))))
        assert not with_words("answer 2:", other)
        assert with_words("answer 2:", sent(session.prepare(body(*LONGER))))


def test_what_is_larger_than_a_third_of_the_budget_is_refused(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        ref = a_result_that_left(session)
    with (
        opened(tmp_path, budget_tokens=200) as session,
        pytest.raises(InputError, match="a third of the budget of 200"),
    ):
        session.bring_back(ref)


def test_what_is_unknown_cannot_be_brought_back_or_taken_back(tmp_path: Path):
    with opened(tmp_path) as session:
        with pytest.raises(RecallError):
            session.bring_back("0" * 16)
        with pytest.raises(RecallError, match="no pin"):
            session.unpin("0" * 16)


def test_a_pin_that_was_taken_back_stays_where_it_was_sent_until_the_next_prune(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        session.prepare(body(user("hello"), *rounds(1)))
        ref = session.pin("requirements", "use tabs")
        few = [user("hello"), *rounds(3)]
        pinned = sent(session.prepare(body(*few)))
        assert with_words("use tabs", pinned)
        session.unpin(ref)
        assert sent(session.prepare(body(*few))) == pinned, "the cache still holds"
        out = sent(session.prepare(body(*LONG)))
        assert not with_words("use tabs", out)
        assert problems(out) == ()
        assert not with_words("use tabs", sent(session.prepare(body(user("another"), *rounds(1)))))
    with opened(tmp_path, budget_tokens=SMALL) as session:
        assert sent(session.prepare(body(*LONG))) == out


def test_a_pin_that_was_taken_back_and_not_sent_is_in_no_window_and_can_be_pinned_again(tmp_path: Path):
    with opened(tmp_path) as session:
        ref = session.pin("spec", "The port is 8080.")
        session.unpin(ref)
        assert not with_words("8080", sent(session.prepare(body(user("hello")))))
        assert session.pin("spec", "The port is 8080.") == ref
        assert with_words("8080", sent(session.prepare(body(*LONG))))


def test_a_rewind_knows_what_was_pinned_then(tmp_path: Path):
    with opened(tmp_path) as session:
        ref = session.pin("spec", "The port is 8080.")
        session.checkpoint("pinned")
        session.unpin(ref)
        session.rewind("pinned")
        assert with_words("8080", sent(session.prepare(body(user("hello")))))
        session.undo_rewind()
        assert not with_words("8080", sent(session.prepare(body(user("another")))))
    with opened(tmp_path) as session:
        assert not with_words("8080", sent(session.prepare(body(user("a third")))))


def test_a_purge_destroys_what_was_brought_back_and_names_what_holds_the_words_still(tmp_path: Path):
    with opened(tmp_path, budget_tokens=SMALL) as session:
        ref = a_result_that_left(session)
        words = session.recall(ref)
        back = session.bring_back(ref)
        session.prepare(body(*LONGER))
        done = session.purge(ref)
        assert done.copies, "the pin holds the words"
        session.purge(back)
        assert session.find("answer 2") == () or all(words not in one.snippet for one in session.find("answer 2"))
        assert problems(sent(session.prepare(body(*LONGEST)))) == ()
