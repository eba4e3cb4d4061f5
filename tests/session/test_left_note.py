"""The note of what left: it comes where nothing was sent yet, changes only when something leaves, and brings it back."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.builders import Json, assistant, body, opened, parts, problems, rounds, sent, text, user
from undrift.core.window.left import left_allowance, listed_in
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore
from undrift.values.prepared import Prepared
from undrift.window.context import SessionContext

SAYS = "[Left this window"
RECALL: Json = {"name": "mcp__undrift__recall", "input_schema": {"type": "object"}}
SEARCH: Json = {"name": "mcp__undrift__search", "input_schema": {"type": "object"}}
HOW: Json = {"budget_tokens": 12_000, "keep_tool_results": 1}


@pytest.fixture(autouse=True)
def _twice_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short histories have a note of several lines."""
    monkeypatch.setattr("undrift.core.window.left._SHARE", 0.01)


def history(count: int) -> list[Json]:
    return [user("hello"), *rounds(count, characters=1_200)]


def asked(session: Session, *messages: Json, tools: tuple[Json, ...] = (RECALL,)) -> Prepared:
    return session.prepare(body(*messages, tools=list(tools)))


def notes(prepared: Prepared) -> list[str]:
    texts = [part.get("text", "") for message in sent(prepared) for part in parts(message)]
    return [text for text in texts if text.startswith(SAYS)]


def test_a_note_says_what_left_and_its_references_bring_it_back(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        prepared = asked(session, *history(60), tools=(RECALL, SEARCH))
        (note,) = notes(prepared)
        head, *_, line = note.split("\n")
        assert "The tool mcp__undrift__recall gives one back by its ref, mcp__undrift__search finds others" in head
        ref = line.split(" ")[0]
        assert session.recall(ref).startswith("answer ")
        assert parts(sent(prepared)[-1])[-1]["text"] == note
        assert prepared.tokens_after <= 12_000
        assert prepared.tokens_before - prepared.tokens_after == sum(one.tokens_saved for one in prepared.actions)
        assert problems(sent(prepared)) == ()
        assert "noted" in {one.kind for one in prepared.actions}


def test_the_command_is_named_where_the_agent_has_a_shell_for_it(tmp_path: Path):
    settings = Settings(token_counter="characters/4", **HOW)
    context = SessionContext.of("s", SqliteStore.open(tmp_path), settings, lambda: 1_000, home=tmp_path)
    with Session(context, names_recall="always") as session:
        (note,) = notes(asked(session, *history(60), tools=()))
    assert '"undrift recall ID" prints one, "undrift recall --find WORDS" finds others:\n' in note


def test_without_a_way_back_there_is_no_note_and_one_that_stands_leaves_at_the_next_prune(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        assert notes(asked(session, *history(60), tools=())) == []
    with opened(tmp_path / "other", **HOW) as session:
        assert len(notes(asked(session, *history(60)))) == 1
        assert len(notes(asked(session, *history(60), tools=()))) == 1
        assert notes(asked(session, *history(120), tools=())) == []


def test_it_changes_only_when_something_leaves_and_never_before_the_first_place_that_is_rewritten(tmp_path: Path):
    """The same history with and without the tool: no turn is rewritten that would not be in any case."""
    rewritten: dict[bool, list[int]] = {True: [], False: []}
    seen: list[str] = []
    for has_tool in rewritten:
        with opened(tmp_path / f"s{has_tool}", **HOW) as session:
            before: list[Json] = []
            for count in range(20, 160):
                prepared = asked(session, *history(count), tools=(RECALL,) if has_tool else ())
                now = sent(prepared)
                if before and now[: len(before)] != before:
                    rewritten[has_tool].append(count)
                elif has_tool and before:
                    assert notes(prepared) == seen[-1:]
                seen += [text for text in notes(prepared) if has_tool and text not in seen]
                assert len(notes(prepared)) <= 1
                assert prepared.tokens_after <= 12_000
                before = now
    assert len(seen) > 5
    assert len(rewritten[True]) <= len(rewritten[False]) + 1
    for older, newer in pairwise(seen):
        assert older.split("\n")[-1] != newer.split("\n")[-1]


def test_what_earlier_notes_said_is_counted_on(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        for count in range(20, 296, 4):
            asked(session, *history(count))
        prepared = asked(session, *history(296))
        (note,) = notes(prepared)
        _, counted, *lines = note.removesuffix("]").split("\n")
        gone = [one for one in prepared.actions if one.kind == "pruned" and ":" not in one.entry_id]
        assert int(counted.removesuffix(" others")) + len(lines) == len(gone) // 2
        assert all(line.split(" ", 1)[1].startswith("read ") for line in lines)


def test_notes_of_several_prunes_share_one_allowance(tmp_path: Path):
    """A prune that leaves the cached beginning alone leaves the note in it, too."""
    most = 0
    with opened(tmp_path, **{**HOW, "budget_tokens": 40_000}) as session:
        for count in range(100, 600, 3):
            prepared = asked(session, *history(count))
            found = notes(prepared)
            most = max(most, len(found))
            assert sum(len(note) // 4 for note in found) <= left_allowance(40_000)
            assert prepared.tokens_after <= 40_000
    assert most >= 1


def test_a_restart_a_fork_and_an_older_turn_see_the_same(tmp_path: Path):
    given = history(60)
    with opened(tmp_path, **HOW) as session:
        first = asked(session, *given)
        later = asked(session, *given, assistant("done"), user("go on"), *rounds(40, first=60, characters=1_200))
        assert notes(later) != notes(first)
        assert asked(session, *given) == first
    with opened(tmp_path, **HOW) as session:
        assert asked(session, *given) == first
        fork = asked(session, *given, assistant("otherwise"), user("and now"))
        assert notes(fork) == notes(first)


def test_after_a_restart_the_next_note_goes_on_from_the_one_that_stands(tmp_path: Path):
    given, more = history(60), [assistant("done"), user("go on"), *rounds(40, first=60, characters=1_200)]
    found = []
    for name, restarts in (("a", False), ("b", True)):
        session = opened(tmp_path / name, **HOW)
        asked(session, *given)
        if restarts:
            session.close()
            session = opened(tmp_path / name, **HOW)
        found.append(asked(session, *given, *more).body)
        session.close()
    assert found[0] == found[1]


def test_a_tool_that_comes_later_brings_a_note_at_the_end_without_a_rewrite(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        before = asked(session, *history(60), tools=())
        more = [*history(60), assistant("done"), user("go on")]
        prepared = asked(session, *more)
        (note,) = notes(prepared)
        assert sent(prepared)[: len(sent(before))] == sent(before)
        assert parts(sent(prepared)[-1])[-1]["text"] == note
        assert notes(asked(session, *more, assistant("yes"), user("and now?"))) == [note]


def test_the_answers_of_a_chat_are_listed_because_only_the_questions_stay(tmp_path: Path):
    chat: list[Json] = [user("question 0")]
    for number in range(60):
        chat += [assistant(text(f"Answer {number} is this. " + "w" * 1_200)), user(f"question {number + 1}")]
    with opened(tmp_path, **HOW) as session:
        prepared = asked(session, *chat)
        (note,) = notes(prepared)
        lines = note.removesuffix("]").split("\n")[2:]
        assert all(" answered Answer " in line for line in lines)
        assert len(lines) > 1
        assert session.recall(lines[-1].split(" ")[0]).startswith("Answer ")
        said = "".join(part["text"] for message in sent(prepared) for part in parts(message))
        assert all(f"question {number}" in said for number in range(61))


@pytest.mark.parametrize("policy", ["worth", "recency"])
def test_both_policies_tell(tmp_path: Path, policy: str):
    with opened(tmp_path, policy=policy, **HOW) as session:
        assert len(notes(asked(session, *history(60)))) == 1


def test_a_small_budget_has_no_note_and_a_full_one_neither(tmp_path: Path):
    with opened(tmp_path, **{**HOW, "budget_tokens": 4_000}) as session:
        assert notes(asked(session, *history(60))) == []
    with opened(tmp_path, "tight", **{**HOW, "keep_user_text_tokens": 50_000}) as session:
        prepared = asked(session, user("w" * 46_500), *rounds(30, characters=1_200))
        assert prepared.tokens_after <= 12_000
        assert notes(prepared) == []


def test_a_purge_takes_the_words_of_the_note_along(tmp_path: Path):
    with opened(tmp_path, **HOW) as session:
        given = history(60)
        (note,) = notes(asked(session, *given))
        ref = note.rsplit("\n", 1)[1].split(" ")[0]
        session.purge(ref)
        assert notes(asked(session, *given)) == []
        assert all(note.encode()[-60:] not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("is_reopened", [False, True])
def test_what_the_provider_has_compacted_itself_is_not_listed_any_more(tmp_path: Path, is_reopened: bool):
    compacted = assistant({"type": "compaction", "content": "They read files.", "encrypted_content": "c2ln"})
    later = [*history(60), compacted, user("go on"), *rounds(60, first=60, characters=1_200)]
    session = opened(tmp_path, **HOW)
    (before,) = notes(asked(session, *history(60)))
    if is_reopened:
        session.close()
        session = opened(tmp_path, **HOW)
    with session:
        prepared = asked(session, *later)
        (note,) = notes(prepared)
        assert problems(sent(prepared)) == ()
        assert not {one.ref for one in listed_in([before]).lines} & {one.ref for one in listed_in([note]).lines}
        assert notes(asked(session, *later)) == [note]
