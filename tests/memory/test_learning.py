"""Memories that a session teaches: with their origin, once, within limits, and undone for good."""

from pathlib import Path

import pytest

from tests.builders import assistant, body, opened, user
from undrift.core.memory import lessons as of_lessons
from undrift.memory import learning
from undrift.session.session import Session
from undrift.values.window import ContextEntry

RULE = "Never edit the lock file by hand."


def words_of_user(text: str, number: int = 0) -> ContextEntry:
    about = {"kind": "text", "role": "user", "message": number, "line": number + 1}
    return ContextEntry(f"e{number}", "reasoning", text, 1, 1_700_000_000_000, about)


def contents(session: Session) -> list[str]:
    return [one.content for one in session.memories()]


def test_a_learned_memory_says_where_it_comes_from_and_the_next_session_finds_it(tmp_path: Path):
    with opened(tmp_path, "first") as session:
        (one,) = session.memory.learn([words_of_user("Fine.", 0), words_of_user(RULE, 6)])
        assert (one.source, one.trust, one.type, one.valid_from_ms) == (
            "session:first",
            "user",
            "user_preference",
            1_700_000_000_000,
        )
        assert one.metadata["learned"] == {"by": "never", "entry": "e6", "line": 7}
    with opened(tmp_path, "second") as session:
        assert [hit.entry.content for hit in session.search("lock file")] == [RULE]


def test_a_statement_that_was_ever_stored_is_not_learned_again(tmp_path: Path):
    with opened(tmp_path, "first") as session:
        (one,) = session.memory.learn([words_of_user(RULE)])
        assert session.memory.learn([words_of_user(RULE), words_of_user(f"fine. {RULE.upper()}", 3)]) == ()
        seq = session.memory.forget(one.id).seq
        assert session.memory.learn([words_of_user(RULE)]) == ()
        session.rewind(seq - 1)
        assert contents(session) == [RULE]
        session.remember("We use tabs in this project.")
    with opened(tmp_path, "second") as session:
        assert session.memory.learn([words_of_user("We use tabs in this project.")]) == ()


def test_secrets_are_masked_and_texts_of_ours_are_refused(tmp_path: Path):
    secret = "gh" + "p_" + "A1b2C3d4" * 4 + "E5f6"
    with opened(tmp_path) as session:
        session.memory.learn(
            [words_of_user(f"Never print {secret} in a log."), words_of_user("[Remembered: never push to main", 1)]
        )
        assert contents(session) == ["Never print [masked:github-token] in a log."]


def test_a_session_and_a_project_learn_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(learning, "_MOST_OF_SESSION", 2)
    monkeypatch.setattr(learning, "MOST_OF_PROJECT", 3)
    ports = [words_of_user(f"Never open port {number} to the world.", number) for number in range(9)]
    for name, most in (("one", 2), ("one", 2), ("two", 3), ("three", 3)):
        with opened(tmp_path, name) as session:
            session.memory.learn(ports[:4] if name == "one" else ports)
            assert len(session.memories()) == most
    assert of_lessons.MOST_OF_USER + of_lessons.MOST_OF_TRIED == 35


def test_the_newest_words_of_a_request_teach(tmp_path: Path):
    asked = user(RULE)
    with opened(tmp_path) as session:
        assert session.memory.learn() == ()
        session.prepare(body(user("Never push on a Friday."), assistant("Fine."), asked))
        assert [one.content for one in session.memory.learn()] == [RULE]
        session.prepare(body(asked, assistant("Fine."), user("go on")))
        assert session.memory.learn() == ()
