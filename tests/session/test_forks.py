"""A conversation under a new id shares with the session that it was forked from what both have seen, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, opened, rounds, sent, text, user
from tests.session.talk import MODELS
from tests.stores.builders import raw
from undrift.errors import InputError, RecallError
from undrift.session.session import Session
from undrift.stores.base import Context, Mark
from undrift.stores.segments import originals_of
from undrift.stores.sqlite import SqliteStore
from undrift.testing import Call, ModelTurn, Result, history_for, simulator_for
from undrift.values.window import Decision
from undrift.wire.forms import WIRES

BUDGET: Any = {"budget_tokens": 3_000, "keep_tool_results": 2}
START = user("Read the files, one after the other.")


def grown(session: Session, count: int = 30, first: int = 1) -> list[Json]:
    """Let a session read so many files; return the messages of the last request."""
    messages = [START]
    for number in range(count):
        messages += rounds(1, first=number, characters=800)
        if number >= first:
            session.prepare(body(*messages))
    return messages


def forked(messages: list[Json]) -> Json:
    return body(*messages, assistant(text("All files are read.")), user("Now go another way."))


def common(one: list[Any], other: list[Any]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_a_fork_sends_the_same_beginning(tmp_path: Path):
    with opened(tmp_path, "parent", **BUDGET) as parent:
        messages = grown(parent)
        before = parent.prepare(body(*messages))
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = fork.prepare(forked(messages))
    assert len(before.actions) > 20
    assert common(sent(before), sent(after)) == len(sent(before))
    assert after.warnings == ()
    with opened(tmp_path, "fork", **BUDGET) as again:
        assert sent(again.prepare(forked(messages))) == sent(after)


def test_a_fork_from_the_middle_shares_what_was_decided_until_then(tmp_path: Path):
    windows = {}
    with opened(tmp_path, "parent", **BUDGET) as parent:
        messages = [START]
        for number in range(30):
            messages += rounds(1, first=number, characters=800)
            windows[len(messages)] = sent(parent.prepare(body(*messages)))
    half = len(messages) // 2 + 1
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = fork.prepare(forked(messages[:half]))
    assert len(windows[half]) < half
    assert common(windows[half], sent(after)) == len(windows[half])


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_accepts_every_request_of_a_fork(tmp_path: Path, wire: str):
    model = {**MODELS, "anthropic": "claude-opus-5-5"}.get(wire, "gemini-3-pro")
    fields = {"thinking": {"type": "adaptive"}} if wire == "anthropic" else {}
    history, provider = history_for(wire, model=model, **fields), simulator_for(wire, model=model)

    def works(session: Session, number: int) -> list[Any]:
        prepared = session.prepare(history.body(), wire=wire, model=model)
        turn = ModelTurn("Next.", (Call("Read", {"path": f"{number}.py"}),), thinking=f"Which is file {number}?")
        answered = provider.send(prepared.body, prepared.headers, turn=turn, model=model)  # raises Refused
        session.record(answered.body, wire=wire)
        history.take(answered.body)
        history.answer([Result(f"line of file {number} " * 60)])
        given: list[Any] = next(
            prepared.body[name] for name in ("messages", "input", "contents") if name in prepared.body
        )
        return [*given]

    before: list[Any] = []
    history.say("Read the files.")
    with opened(tmp_path, "parent", **BUDGET) as parent:
        for number in range(20):
            before = works(parent, number)
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = works(fork, 20)
        assert fork.history()[0].kind == "fork"
        for number in range(21, 30):
            works(fork, number)
    assert common(before, after) >= len(before) // 2


def test_the_counts_of_a_fork_begin_with_those_of_its_parent(tmp_path: Path):
    with opened(tmp_path, "parent", token_counter="estimate", budget_tokens=10**6) as parent:
        messages = grown(parent, 10)
        plain = parent.prepare(body(*messages)).tokens_before
        parent.record({"usage": {"input_tokens": 2 * plain}})
        told = parent.prepare(body(*messages)).tokens_before
    with opened(tmp_path, "fork", token_counter="estimate", budget_tokens=10**6) as fork:
        assert 0 <= fork.prepare(forked(messages)).tokens_before - told < 100


def test_a_fork_recalls_its_own_text_under_the_reference_that_the_model_has_seen(tmp_path: Path):
    paste = user("\n".join(f"line {n} of a long paste" for n in range(900)))
    with opened(tmp_path, "parent", **BUDGET) as parent:
        messages = [START, *rounds(2), assistant(text("And?")), paste, *rounds(12, first=2, characters=800)]
        before = parent.prepare(body(*messages))
        shown = next(a.ref for a in before.actions if a.ref in json.dumps(sent(before)))
        whole = parent.recall(shown)
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = fork.prepare(forked(messages))
        assert shown in json.dumps(sent(after))
        assert shown not in {action.ref for action in after.actions}
        assert fork.recall(shown) == whole
        assert fork.original(shown).session_id == "fork"
    with opened(tmp_path, "parent", **BUDGET) as parent:
        parent.purge("session")
    with opened(tmp_path, "fork", **BUDGET) as fork:
        assert sent(fork.prepare(forked(messages))) == sent(after)
        assert fork.recall(shown) == whole


def test_nothing_else_of_the_parent_comes_along(tmp_path: Path):
    with opened(tmp_path, "a-parent-with-a-name", **BUDGET) as parent:
        parent.pin("requirements", "the secret pin")
        parent.scratchpad.write("the secret note of the agent")
        parent.start_task("a-task", content="the secret task")
        messages = grown(parent)
        parent.complete_task("a-task", "the secret summary of a task that is done")
        before = parent.prepare(body(*messages))
        side = [START, *rounds(30, first=100, characters=800)]
        refs = {action.ref for action in parent.prepare(body(*side)).actions} - {a.ref for a in before.actions}
        assert "secret pin" in str(sent(before))
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = fork.prepare(forked(messages))
        assert after.actions
        assert "secret" not in str(sent(after))
        assert fork.tasks() == ()
        assert refs
        for ref in refs:
            with pytest.raises((InputError, RecallError)):
                fork.recall(ref)
        assert "secret" not in str([fork.why(action.ref) for action in after.actions])
    connection = raw(tmp_path)
    tables = {
        name: f"SELECT * FROM {name} WHERE session_id = 'fork'" for name in ("operations", "decisions", "figures")
    }
    records = [connection.execute(sql).fetchall() for sql in tables.values()]
    for rows in (*records, list(originals_of(connection, "fork"))):
        assert rows
        assert "a-parent-with-a-name" not in str(rows)
        assert "secret" not in str(rows)
    connection.close()


def test_the_list_of_what_left_comes_along_if_it_names_nothing_else(tmp_path: Path):
    tool = {"name": "mcp__undrift__recall", "input_schema": {"type": "object"}}
    room: Any = {"budget_tokens": 12_000, "keep_tool_results": 1}
    messages = [START, *rounds(60, characters=1_200)]
    given = {**forked(messages), "tools": [tool]}
    with opened(tmp_path, "parent", **room) as parent:
        before = sent(parent.prepare(body(*messages, tools=[tool])))
        (note,) = [d for d in parent._store.decided("parent") if d.kind == "noted"]
    with opened(tmp_path, "fork", **room) as fork:
        assert common(before, sent(fork.prepare(given))) == len(before)
    with opened(tmp_path / "other", "parent", **room) as parent:
        parent.prepare(body(*messages, tools=[tool]))
        text = f"{note.detail['text'][:-1]}\n{'0' * 16} the secret of another block]"
        detail = {**note.detail, "text": text}
        connection = raw(tmp_path / "other")
        connection.execute("DELETE FROM decisions WHERE kind = 'noted'")
        connection.close()
        parent._store.commit(Context(parent._store.scope.of("parent"), 1_000), "prune", [replace(note, detail=detail)])
    with opened(tmp_path / "other", "fork", **room) as fork:
        after = fork.prepare(given)
        assert after.actions
        assert "secret" not in str(sent(after))


def test_a_history_without_an_answer_takes_nothing_over(tmp_path: Path):
    long = user("\n".join(f"line {n} of a long paste" for n in range(2_000)))
    with opened(tmp_path, "one", **BUDGET) as one:
        assert one.prepare(body(long)).actions
    with opened(tmp_path, "other", **BUDGET) as other:
        other.prepare(body(long))
        assert [operation.kind for operation in other.history()][:1] != ["fork"]


def test_a_session_that_has_decided_takes_nothing_over(tmp_path: Path):
    with opened(tmp_path, "parent", **BUDGET) as parent:
        messages = grown(parent)
    with opened(tmp_path, "other", **BUDGET) as other:
        other.prepare(body(user("Something else."), *rounds(30, first=50, characters=800)))
        other.prepare(forked(messages))
        assert "fork" not in [operation.kind for operation in other.history()]


def test_a_session_that_was_rewound_does_not_take_its_decisions_from_a_fork(tmp_path: Path):
    with opened(tmp_path, "parent", **BUDGET) as parent:
        messages = grown(parent)
    with opened(tmp_path, "fork", **BUDGET) as fork:
        fork.prepare(forked(messages))
        fork.rewind(0)
    with opened(tmp_path, "fork", budget_tokens=100_000) as fork:
        assert fork.prepare(forked(messages)).actions == ()


def test_decisions_that_would_break_the_history_are_not_taken(tmp_path: Path):
    """A store may hold half of a pair: another program wrote it, or a newer version."""
    with opened(tmp_path / "one", **BUDGET) as parent:
        messages = grown(parent)
        actions = parent.prepare(body(*messages)).actions
        call = next(a for a in actions if parent.original(a.ref).entry.meta("kind") == "call")
        decision = parent.why(call.ref)
    assert decision is not None
    with SqliteStore.open(tmp_path / "two") as store:
        half = Decision(call.entry_id, "pruned", "half of a pair", 1, "", {"at": decision.detail["at"]})
        store.commit(Context(store.scope.of("broken"), 1_000), "prune", [half])
        store.add_marks("broken", [Mark(f"anthropic {decision.detail['at']}", "place")])
    with opened(tmp_path / "two", budget_tokens=100_000) as fork:
        given = forked(messages)
        prepared = fork.prepare(given)
        assert prepared.body is given
        assert (prepared.warnings, prepared.actions) == ((), ())
