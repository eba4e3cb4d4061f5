"""What left is told where nothing was sent yet, once, and changes only when something leaves."""

from pathlib import Path

import pytest

from tests.builders import Json, assistant, body, opened, parts, problems, rounds, sent, user
from undrift.values.window import Prepared

SAYS = "[These calls"
HOW: Json = {"budget_tokens": 4_000, "keep_tool_results": 1, "left_note_share": 0.05}


def history(count: int) -> list[Json]:
    return [user("hello"), *rounds(count)]


def notes(prepared: Prepared) -> list[str]:
    texts = [part.get("text", "") for message in sent(prepared) for part in parts(message)]
    return [text for text in texts if text.startswith(SAYS)]


def test_a_note_says_what_left_and_its_references_bring_it_back(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        prepared = session.prepare(body(*history(60)))
        (note,) = notes(prepared)
        *_, line = note.split("\n")
        ref = line.split(" ")[0]
        assert session.recall(ref).startswith("answer ")
        assert parts(sent(prepared)[-1])[-1]["text"] == note
        assert prepared.tokens_after <= 4_000
        assert prepared.tokens_before - prepared.tokens_after == sum(one.tokens_saved for one in prepared.actions)
        assert problems(sent(prepared)) == ()
        assert "noted" in {one.kind for one in prepared.actions}


def test_it_stays_until_something_leaves_again_and_is_then_replaced(tmp_path: Path):
    seen: list[str] = []
    with opened(tmp_path, **HOW) as session:
        before: list[Json] = []
        for count in range(30, 120):
            prepared = session.prepare(body(*history(count)))
            now = notes(prepared)
            assert len(now) <= 1
            assert prepared.tokens_after <= 4_000
            if seen and now == seen[-1:]:
                assert sent(prepared)[: len(before)] == before, "a turn in which nothing leaves adds at the end only"
            seen += [text for text in now if text not in seen]
            before = sent(prepared)
    assert len(seen) > 2


def test_a_restart_a_fork_and_an_older_turn_see_the_same(tmp_path: Path):
    given = history(60)
    with opened(tmp_path, **HOW) as session:
        first = session.prepare(body(*given))
        later = session.prepare(body(*given, assistant("done"), user("go on"), *rounds(40, first=60)))
        assert notes(later) != notes(first)
        assert session.prepare(body(*given)) == first
    with opened(tmp_path, **HOW) as session:
        assert session.prepare(body(*given)) == first
        fork = session.prepare(body(*given, assistant("otherwise"), user("and now")))
        assert notes(fork) == notes(first)


def test_none_where_the_share_is_none_or_the_budget_is_full(tmp_path: Path):
    with opened(tmp_path, **{**HOW, "left_note_share": 0}) as session:
        assert notes(session.prepare(body(*history(60)))) == []
    with opened(tmp_path, "tight", budget_tokens=400, keep_tool_results=1, left_note_share=1) as session:
        prepared = session.prepare(body(user("w" * 900), *rounds(30)))
        assert notes(prepared) == []
        assert prepared.tokens_after <= 400


@pytest.mark.parametrize("policy", ["worth", "recency"])
def test_both_policies_tell(tmp_path: Path, policy: str):
    with opened(tmp_path, policy=policy, **HOW) as session:
        assert len(notes(session.prepare(body(*history(60))))) == 1


def test_a_purge_takes_the_words_of_the_note_along(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        given = history(60)
        (note,) = notes(session.prepare(body(*given)))
        ref = note.rsplit("\n", 1)[1].split(" ")[0]
        session.purge(ref)
        assert notes(session.prepare(body(*given))) == []
        assert all(note.encode()[-60:] not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
