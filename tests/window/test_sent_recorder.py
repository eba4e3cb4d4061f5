"""The marks of what a session sent: they name each request exactly, over restarts and ways back, and hold no text."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Json, body, parts, rounds, sent, user
from undrift.core.window.sent_prompt import SentRecord, block_mark, prompt_at, size_of
from undrift.session.identity import Recognised
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores import sent_prompts
from undrift.stores.opening import open_store
from undrift.stores.projects import place_at
from undrift.stores.sent_prompts import sent_lines, sent_sessions
from undrift.values.clock import now_ms
from undrift.values.scope import Scope
from undrift.window import sent_recorder
from undrift.window.context import SessionContext
from undrift.window.sent_recorder import SentRecorder, records_in, restored_in

FIRST = user("hello")
SMALL = 1_200


def opened(home: Path, **given: Any) -> Session:
    place = place_at(home)
    store = open_store(place, Scope())
    context = SessionContext.of("s", store, Settings(budget_tokens=SMALL, **given), now_ms, home=place)
    return Session(context, recognised=Recognised("s", "given"), sent=SentRecorder(context))


def marks_of(messages: list[Json]) -> list[str]:
    """The marks of the blocks that a list of messages holds, by another way than the engine's."""
    found = []
    for part in (part for message in messages for part in parts(message)):
        if part["type"] == "text":
            found.append(block_mark("text", part["text"]))
        elif part["type"] == "tool_use":
            found.append(block_mark("call", json.dumps(part["input"])))
        else:
            content = part["content"]
            found.append(block_mark("result", content if isinstance(content, str) else content[0]["text"]))
    return [mark[:17] for mark in found]


def noted(home: Path) -> list[str]:
    """The marks of the newest noted request."""
    records = records_in(home, "s")
    items = prompt_at(records, records[-1].sum)
    assert items is not None
    return [mark[:17] for item in items for mark in item.marks or ()]


def test_each_request_is_named_block_by_block_as_it_was_sent(tmp_path: Path):
    history: list[Json] = [FIRST]
    with opened(tmp_path) as session:
        for number in range(24):
            history += rounds(1, first=number)
            if number == 9:
                session.pin("requirements", "use tabs")
            assert noted_after(session, history, tmp_path) == marks_of(sent(session.prepare(body(*history))))
    records = records_in(tmp_path, "s")
    assert sum(bool(one.edits) for one in records) > 2, "something left"
    assert max(len(json.dumps(line)) for line in sent_lines(tmp_path, "s")) < 8_000


def noted_after(session: Session, history: list[Json], home: Path) -> list[str]:
    session.prepare(body(*history))
    return noted(home)


def test_a_restart_goes_on_where_the_file_ends(tmp_path: Path):
    history = [FIRST, *rounds(30)]
    with opened(tmp_path) as session:
        session.prepare(body(*history[:41]))
        session.prepare(body(*history[:51]))
    with opened(tmp_path) as session:
        out = sent(session.prepare(body(*history)))
    records = records_in(tmp_path, "s")
    assert [bool(one.before) for one in records] == [False, True, True]
    assert len(records[-1].new) == 10
    assert noted(tmp_path) == marks_of(out)


def test_a_client_that_goes_back_begins_a_new_chain(tmp_path: Path):
    history = [FIRST, *rounds(30)]
    with opened(tmp_path) as session:
        session.prepare(body(*history))
        back = sent(session.prepare(body(*history[:31], user("Another way."))))
        assert noted(tmp_path) == marks_of(back)


def test_torn_and_forged_lines_are_passed_over(tmp_path: Path):
    with opened(tmp_path) as session:
        session.prepare(body(FIRST, *rounds(3)))
        (path,) = (tmp_path / "sent").iterdir()
        assert sent_sessions(tmp_path) == ["s"]
        head, whole = path.read_bytes().splitlines(keepends=True)
        forged = json.loads(whole) | {"tokens": 1, "kept": 7}
        path.write_bytes(
            head + b'{"at_ms": \nnull\n[1]\n"x"\n' + json.dumps(forged).encode() + b"\n" + whole + whole[:20]
        )
        (one,) = records_in(tmp_path, "s")
        assert one == SentRecord.of(json.loads(whole))


def test_a_file_that_cannot_be_written_costs_the_note_alone(tmp_path: Path):
    (tmp_path / "sent").write_text("in the way")
    with opened(tmp_path) as session:
        assert sent(session.prepare(body(FIRST))) == [FIRST]
    assert records_in(tmp_path, "s") == []


def test_a_purge_deletes_the_marks_and_no_text_is_in_them(tmp_path: Path):
    with opened(tmp_path) as session:
        session.prepare(body(FIRST, *rounds(20)))
        (path,) = (tmp_path / "sent").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert b"answer" not in path.read_bytes()
        ref = next(a.ref for a in session.prepare(body(FIRST, *rounds(20))).actions)
        session.purge(ref)
        assert not path.exists()
        session.prepare(body(FIRST, *rounds(22)))
        assert records_in(tmp_path, "s")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["text", "call", "result", "thinking", "image", "other"]), st.text(max_size=200))
def test_a_mark_knows_kind_and_size_and_does_not_mind_white_space(kind: str, words: str):
    mark = block_mark(kind, words)
    assert size_of(mark) == len(words)
    assert block_mark(kind, f" {words}\n\t ")[:17] == mark[:17]
    assert block_mark(kind, words + ".")[:17] != mark[:17]


def test_a_lone_surrogate_has_a_mark():
    assert block_mark("text", "\ud800") != block_mark("text", "\ud801")


def test_a_purged_text_has_no_mark_again_and_later_requests_are_named(tmp_path: Path):
    with opened(tmp_path) as session:
        history = [FIRST, *rounds(20)]
        session.prepare(body(*history))
        prepared = session.prepare(body(*history))
        ref = next(a.ref for a in prepared.actions if session.recall(a.ref).startswith("answer 2:"))
        mark = block_mark("result", session.recall(ref))
        session.purge(ref)
        out = sent(session.prepare(body(*history, *rounds(1, first=20))))
        assert noted(tmp_path) == marks_of(out), "a new chain begins"
    with opened(tmp_path) as session:
        session.prepare(body(*history[:31], user("Another way.")))
    (path,) = (tmp_path / "sent").iterdir()
    assert mark not in path.read_text()


def test_a_file_that_is_full_is_emptied_and_what_follows_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sent_prompts, "_MOST_BYTES", 4_000)
    monkeypatch.setattr(sent_prompts.has_sent, "__kwdefaults__", {"most_bytes": 4_000})
    history = [FIRST]
    with opened(tmp_path) as session:
        for number in range(30):
            history += rounds(1, first=number)
            assert noted_after(session, history, tmp_path) == marks_of(sent(session.prepare(body(*history))))


def test_an_unknown_history_reads_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with opened(tmp_path) as session:
        session.prepare(body(FIRST, *rounds(4)))
    read = []

    def reading(folder: Path, session_id: str) -> list[SentRecord]:
        read.append(session_id)
        return records_in(folder, session_id)

    monkeypatch.setattr(sent_recorder, "records_in", reading)
    with opened(tmp_path) as session:
        for number in range(5):
            session.prepare(body(user(f"title {number}"), *rounds(2)))
    assert len(read) == 1


def test_what_is_replaced_behind_the_count_is_noted(tmp_path: Path):
    with opened(tmp_path) as session:
        session.prepare(body(FIRST, *rounds(2)))
        recorder = session._preparer._sent
        assert recorder is not None
        recorder.note_restored(2)
    (record,) = records_in(tmp_path, "s")
    assert restored_in(tmp_path, "s") == {record.sum: 2}
