"""Memories that a person edits, forgets, imports and exports."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import opened
from undrift.errors import InputError, RecallError
from undrift.memory.exchange import FORMAT, as_record, memory_of, records_of
from undrift.session.session import Session
from undrift.values.memory import MemoryEntry


def exported(session: Session) -> list[Any]:
    """As a file holds them."""
    found: list[Any] = json.loads(json.dumps([as_record(one) for one in session.memories()]))
    return found


def contents(session: Session) -> list[str]:
    return [one.content for one in session.memories() if not one.is_contradicted]


def without_order(entries: tuple[MemoryEntry, ...]) -> list[MemoryEntry]:
    return [replace(one, seq=0) for one in entries]


def test_an_edit_supersedes_the_old_words_with_the_trust_of_a_user(tmp_path: Path):
    with opened(tmp_path) as session:
        old = session.remember("The port is 8080.", type="req_context", source="a.md", speaker="Ann", scope="session")
        new = session.memory.edit(old.id, "The port is 9090, behind the proxy.")
        assert (new.type, new.source, new.speaker, new.scope) == ("req_context", "a.md", "Ann", "session")
        assert (new.trust, new.metadata["edits"]) == ("user", old.id)
        kept = session.memories()[0]
        assert (kept.contradicted_by_entry_id, kept.contradiction_rule) == (new.id, "edited")
        assert [hit.entry.id for hit in session.search("port", only_valid=True)] == [new.id]
        assert session.conflicts() == ()
        assert [one.kind for one in session.history()] == ["remember", "edit"]
        session.rewind(1)
        assert contents(session) == ["The port is 8080."]
        session.undo_rewind()
        assert contents(session) == ["The port is 9090, behind the proxy."]


def test_an_edit_settles_what_the_new_words_mean_for_others(tmp_path: Path):
    with opened(tmp_path) as session:
        other = session.remember("The main database is PostgreSQL.")
        old = session.remember("We like databases.")
        new = session.memory.edit(old.id, "Actually, the main database is SQLite.")
        by_id = {one.id: one for one in session.memories()}
        assert by_id[other.id].contradicted_by_entry_id == new.id


def test_an_edit_of_pinned_trusted_or_equal_words(tmp_path: Path):
    with opened(tmp_path) as session:
        spec = session.remember("The port is 8080.", trust="spec")
        assert session.memory.edit(spec.id, "The port is 9090.").trust == "user"
        mine = session.remember("The host is a.", trust="user")
        assert session.memory.edit(mine.id, " The host is a. ") == mine
        confirmed = session.remember("The region is b.")
        assert session.memory.edit(confirmed.id, "The region is b.").trust == "user"
        again = session.remember("The zone is c.", trust="user")
        draft = session.remember("We talked about zones.", trust="user")
        assert session.memory.edit(draft.id, "The zone is c.") == again
        assert sum(one.content == "The zone is c." for one in session.memories()) == 1


def test_what_is_superseded_or_not_there_is_not_edited(tmp_path: Path):
    with opened(tmp_path) as session:
        old = session.remember("The port is 8080.")
        new = session.memory.edit(old.id, "The port is 9090.")
        with pytest.raises(InputError, match=f"superseded by {new.id}: edit that one"):
            session.memory.edit(old.id, "The port is 7070.")
        with pytest.raises(RecallError, match="undrift memory list"):
            session.memory.edit("m0", "words")
        with pytest.raises(InputError, match="something in it"):
            session.memory.edit(new.id, " ")
        with pytest.raises(InputError, match="undrift's own"):
            session.memory.edit(new.id, "[Remembered: x")


def test_a_forgotten_memory_is_seen_by_no_one_and_comes_back_with_a_rewind(tmp_path: Path):
    with opened(tmp_path) as session:
        first, second = session.remember("The port is 8080."), session.remember("The host is a.")
        done = session.memory.forget(first.id, second.id, first.id)
        assert done.entries == (first, second)
        assert (session.memories(), session.search("port"), session.brief("host port")) == ((), (), "")
        with opened(tmp_path, "other") as other:
            assert (other.memories(), other.search("port")) == ((), ())
        session.rewind(done.seq - 1)
        assert contents(session) == ["The port is 8080.", "The host is a."]
        assert [hit.entry.id for hit in session.search("port", k=1)] == [first.id]
        session.undo_rewind()
        assert session.memories() == ()
        with pytest.raises(RecallError, match="no memory"):
            session.memory.forget(first.id)
        assert session.memory.forget().seq == 0


def test_what_a_session_may_not_read_it_may_not_change(tmp_path: Path):
    with opened(tmp_path, "one") as one:
        private = one.remember("The port is 8080.", scope="session")
    with opened(tmp_path, "two") as two:
        for change in (lambda: two.memory.edit(private.id, "x y"), lambda: two.memory.forget(private.id)):
            with pytest.raises(RecallError):
                change()


def test_what_another_process_changed_meanwhile_is_changed_on_top_of_it(tmp_path: Path):
    with opened(tmp_path, "one") as one, opened(tmp_path, "two") as two:
        old = one.remember("The port is 8080.")
        new = two.memory.edit(old.id, "The port is 9090.")
        with pytest.raises(InputError, match=new.id):
            one.memory.edit(old.id, "The port is 7070.")
        assert one.memory.forget(old.id, new.id).entries[0].contradicted_by_entry_id == new.id
        assert two.memories() == ()


# ------------------------------------------------------------------------------------------------------------- exchange


def test_an_export_reads_back_to_equal_memories_and_twice_adds_nothing(tmp_path: Path):
    with opened(tmp_path / "a") as session:
        session.remember(
            "The main database is PostgreSQL.", trust="user", valid_from_ms=5, metadata={"n": [1, {"a": None}]}
        )
        session.remember("Actually, the main database is SQLite.", trust="user", source="x.md")
        session.remember("We use PostgreSQL for the cache.", trust="user")
        session.remember("We use Redis for the cache.", scope="session", speaker="Ann\u202e")
        session.remember("The port is 8080 \ud800.", trust="tool", source="log", valid_to_ms=2**50)
        session.memory.edit(session.remember("Use tabs.").id, "Use spaces.")
        before, records = session.memories(), exported(session)
    assert any(one.is_contradicted for one in before)
    with opened(tmp_path / "b") as session:
        assert session.memory.take_in(records, dry_run=True).added
        assert session.memories() == ()
        done = session.memory.take_in(records)
        assert (len(done.added), done.known, done.superseded, done.refused) == (len(before), (), (), ())
        assert without_order(session.memories()) == without_order(before)
        assert [hit.entry.content for hit in session.search("database", k=1)] == [
            "Actually, the main database is SQLite."
        ]
        again = session.memory.take_in(records)
        assert (again.added, len(again.known)) == ((), len(before))
        assert exported(session) == records
        assert [one.kind for one in session.history()] == ["import"]


def test_imported_memories_meet_those_that_are_there(tmp_path: Path):
    with opened(tmp_path / "a") as session:
        session.remember("Actually, the main database is SQLite.", trust="user")
        records = exported(session)
    with opened(tmp_path / "b") as session:
        mine = session.remember("The main database is PostgreSQL.", trust="user", valid_from_ms=5)
        done = session.memory.take_in(records)
        assert done.superseded == (mine.id,)
        session.memory.forget(done.added[0].id)
        assert session.memory.take_in(records).added  # an import brings a forgotten one back
        assert [hit.entry.id for hit in session.search("SQLite", only_valid=True)] == [done.added[0].id]


def test_statements_of_one_text_never_supersede_each_other(tmp_path: Path):
    said = ("The main database is PostgreSQL.", "Actually, the main database is SQLite.")
    records = [{"content": one, "trust": "user", "source": "CLAUDE.md", "valid_from_ms": 7} for one in said]
    with opened(tmp_path) as session:
        done = session.memory.take_in(records)
        assert (len(done.added), done.superseded) == (2, ())
        assert [pair.reason for pair in session.conflicts()] == ["time"]
        assert done.added[0].seq < done.added[1].seq


def test_a_statement_is_known_even_if_it_was_changed_since(tmp_path: Path):
    records = [
        {"content": one, "trust": "user", "source": "CLAUDE.md", "valid_from_ms": 7}
        for one in ("Use tabs.", "Use  TABS.")
    ]
    with opened(tmp_path) as session:
        (entry,) = session.memory.take_in(records).added
        session.memory.edit(entry.id, "Use spaces.")
        assert session.memory.take_in(records).known == (entry.id,)
        assert contents(session) == ["Use spaces."]
        more = session.memory.take_in([{**records[0], "source": "AGENTS.md"}]).added
        assert [one.source for one in more] == ["AGENTS.md"]


def test_many_are_written_in_parts_and_found(tmp_path: Path):
    records = [{"content": f"The {number}th rule names folder{number}.", "trust": "user"} for number in range(250)]
    with opened(tmp_path) as session:
        assert len(session.memory.take_in(records).added) == 250
        assert [one.kind for one in session.history()] == ["import"] * 3
        assert session.memory.take_in(records).added == ()
        assert session.search("folder249", k=1)[0].entry.content == "The 249th rule names folder249."


def test_secrets_are_masked_and_texts_of_ours_refused(tmp_path: Path):
    key = "sk-ant-api03-" + "a1B2" * 24
    with opened(tmp_path) as session:
        given = [
            {"content": f"The key is {key}"},
            {"content": "[Remembered: x"},
            {"content": ""},
            {"id": "m1", "content": key},
        ]
        done = session.memory.take_in([*given, {"content": "Fine words.", "metadata": {"k": key}}])
        assert [number for number, _ in done.refused] == [1, 2]
        assert key not in json.dumps(exported(session))
        assert len(done.added) == 3


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"id": "m1"}, "content must be a text"),
        ({"id": "m1", "content": 3}, "content must be a text"),
        ({"id": "m1", "content": "x" * 100_001}, "100,001 characters"),
        ({"id": "m1", "content": "x", "trust": "god"}, "trust must be one of"),
        ({"id": "m1", "content": "x", "created_at_ms": -1}, "created_at_ms must be"),
        ({"id": "m1", "content": "x", "created_at_ms": 2**63}, "created_at_ms must be"),
        ({"id": "m1", "content": "x", "scope": "session"}, "needs the session_id"),
        ({"id": "m1", "content": "x", "metadata": [1]}, "metadata must be"),
        ({"id": "m1", "content": "x", "decay_weight": "much"}, "decay_weight must be"),
        ({"id": "m1", "content": "x", "source": ["a"]}, "source must be a text"),
    ],
)
def test_a_wrong_record_is_refused_with_the_reason(tmp_path: Path, record: dict[str, Any], reason: str):
    with opened(tmp_path) as session:
        done = session.memory.take_in([record, {"content": "Good words."}])
        assert [(number, reason in why) for number, why in done.refused] == [(0, True)]
        assert contents(session) == ["Good words."]


def test_a_record_of_a_stranger_changes_nothing_but_itself(tmp_path: Path):
    hostile = {
        "id": "not an id", "content": "The port is 8080.", "seq": 2**63 - 1, "slots": "x", "unknown": {},
        "metadata": {"conflicts": [1, {"with": 2}, {"with": "m1", "evidence": 3}]},
    }  # fmt: skip
    with opened(tmp_path) as session:
        (entry,) = session.memory.take_in([hostile]).added
        assert entry.id.startswith("m")
        assert (len(entry.id), entry.slots[0].value) == (17, "8080")
        assert session.conflicts() == ()
        session.remember("The port is 9090.", trust="user")  # the order of recording goes on
        assert session.search("port")
        session.purge(entry.id)
        edited = {**as_record(session.memories()[0]), "content": "The port is 7070 now."}
        assert session.memory.take_in([edited]).added[0].id != edited["id"]  # a file that was edited by hand


def test_what_is_no_export_says_so():
    assert records_of([{"a": 1}]) == [{"a": 1}]
    assert records_of({"format": FORMAT, "version": 1, "memories": []}) == []
    for value in ({}, 3, {"memories": 3}, [3], {"memories": [None]}):
        with pytest.raises(InputError, match="undrift memory export"):
            records_of(value)
    with pytest.raises(InputError, match="newer undrift"):
        records_of({"version": 2, "memories": []})


def test_a_record_leaves_out_what_has_its_default():
    entry = MemoryEntry("m0123456789abcdef", "words")
    assert set(as_record(entry)) == {
        "id", "content", "type", "trust", "scope", "created_at_ms", "valid_from_ms", "recorded_at_ms",
    }  # fmt: skip
    assert memory_of(as_record(entry), 0) == entry
