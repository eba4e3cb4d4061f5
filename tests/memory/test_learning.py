"""Memories that a session teaches: with their origin, once, within limits, and undone for good."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, opened, user
from undrift.core.memory import lessons as of_lessons
from undrift.memory import learning
from undrift.session.session import Session
from undrift.values.window import ContextEntry

CLIENT = "claude-cli/2.1.330 (external, cli)"
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


def test_what_a_person_forgot_or_has_still_is_not_learned_again(tmp_path: Path):
    with opened(tmp_path, "first") as session:
        (one,) = session.memory.learn([words_of_user(RULE)])
        assert session.memory.learn([words_of_user(RULE), words_of_user(f"fine. {RULE.upper()}", 3)]) == ()
        seq = session.memory.forget(one.id).seq
        assert session.memory.learn([words_of_user(RULE)]) == ()
        session.rewind(seq - 1)
        assert contents(session) == [RULE]
        session.remember("We use tabs in this project.", trust="spec")
    with opened(tmp_path, "second") as session:
        assert session.memory.learn([words_of_user("We use tabs in this project.")]) == ()


@pytest.mark.parametrize("trust", ["tool", "assistant"])
def test_the_same_words_of_less_trust_do_not_keep_the_users_out(trust: Any, tmp_path: Path):
    with opened(tmp_path) as session:
        session.remember(RULE, trust=trust, source="web")
        assert [one.trust for one in session.memory.learn([words_of_user(RULE)])] == ["user"]
        assert session.memory.learn([words_of_user(RULE)]) == ()


def test_what_a_rewind_took_back_is_learned_when_it_is_said_again(tmp_path: Path):
    with opened(tmp_path) as session:
        before = session.checkpoint()
        session.memory.learn([words_of_user(RULE)])
        session.rewind(before)
        assert contents(session) == []
        session.memory.learn([words_of_user(RULE)])
        assert contents(session) == [RULE]


SWAYS = ("We always use pnpm for the frontend.", "We never use pnpm for the frontend.")


def active(session: Session) -> list[str]:
    return [one.content for one in session.memories() if not one.is_contradicted]


def test_a_user_who_changes_back_is_remembered_with_the_last_word(tmp_path: Path):
    always, never = SWAYS
    with opened(tmp_path) as session:
        for words in (always, never, always):
            session.prepare(typed(user(words)))
            session.memory.learn(client=CLIENT)
            assert active(session) == [words]


def test_a_recording_that_is_read_again_does_not_bring_back_what_was_superseded(tmp_path: Path):
    always, never = SWAYS
    said = [words_of_user(words, number) for number, words in enumerate((always, never, always, never))]
    said = [replace(one, timestamp=one.timestamp + number) for number, one in enumerate(said)]
    with opened(tmp_path) as session:
        for entries, last in ((said[:3], always), (said, never), (said[:3], never), (said, never)):
            session.memory.learn(entries)
            assert active(session) == [last]


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


def test_notes_that_name_a_session_as_their_source_do_not_fill_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(learning, "_MOST_OF_SESSION", 1)
    with opened(tmp_path) as session:
        session.remember('A note with "learned": in it', trust="tool", source=learning.learned_from(session.id))
        assert len(session.memory.learn([words_of_user(RULE)])) == 1
        assert session.memory.learn([words_of_user("Never push on a Friday.", 1)]) == ()


def typed(*messages: Json, **more: Any) -> Json:
    return body(*messages, **{"tools": [{"name": "Bash", "input_schema": {"type": "object"}}], **more})


def learned(tmp_path: Path, request: Json, client: str = CLIENT) -> list[str]:
    with opened(tmp_path) as session:
        session.prepare(request)
        return [one.content for one in session.memory.learn(client=client)]


def test_the_newest_words_of_a_request_teach(tmp_path: Path):
    asked = user(RULE)
    with opened(tmp_path) as session:
        assert session.memory.learn(client=CLIENT) == ()
        session.prepare(typed(user("Never push on a Friday."), assistant("Fine."), asked))
        assert [one.content for one in session.memory.learn(client=CLIENT)] == [RULE]
        session.prepare(typed(asked, assistant("Fine."), user("go on")))
        assert session.memory.learn(client=CLIENT) == ()


@pytest.mark.parametrize("client", ["", "Anthropic/Python 1.0", "aider/0.86", "Mozilla/5.0 (claude-cli)"])
def test_a_client_whose_user_texts_may_be_outputs_of_tools_teaches_nothing(client: str, tmp_path: Path):
    assert learned(tmp_path, typed(user(RULE)), client) == []


def test_a_request_without_tools_teaches_nothing(tmp_path: Path):
    assert learned(tmp_path, body(user(RULE))) == []


@pytest.mark.parametrize(
    "answer",
    [
        "I look.\n<read_file>\n<path>README.md</path>\n</read_file>",
        "<run_command>ls</run_command>\nI wait for its output.",
        "Thought: I look.\nAction: read_file\nAction Input: README.md",
        "I look.\n\n```bash\ncat README.md\n```",
        '{"tool": "read_file", "path": "README.md"}',
    ],
)
def test_a_text_behind_an_answer_that_may_call_a_tool_by_its_words_teaches_nothing(answer: str, tmp_path: Path):
    assert learned(tmp_path, typed(user("Fix it."), assistant(answer), user(RULE))) == []


def test_a_second_text_in_the_users_name_leaves_a_doubt(tmp_path: Path):
    blocks = [{"type": "text", "text": text} for text in ("Explain @README.md", RULE)]
    assert learned(tmp_path, typed({"role": "user", "content": blocks})) == []
    set_up = user(f"This is the Gemini CLI. We are setting up the context for our chat.\n{RULE}")
    assert learned(tmp_path, typed(set_up), "GeminiCLI/0.61.0") == []
    assert learned(tmp_path, typed(set_up, user("Never push on a Friday.")), "GeminiCLI/0.61.0") == [
        "Never push on a Friday."
    ]
