"""`Session.purge`: nothing of it is left in any file, what stays still works, and the log names no content."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

from tests.builders import assistant, body, database_of, opened, parts, rounds, sent, user
from tests.task_sessions import SUMMARY, TaskSession
from undrift.cli import main
from undrift.errors import GoneError, InputError, RecallError, StoreBusy, StoreError
from undrift.integrations.documents import DocumentChange, Documents
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores import purging
from undrift.stores.backup import back_up
from undrift.stores.base import Document
from undrift.stores.projects import place_for
from undrift.stores.rule_book import BookedRule, RuleBook, book_of, keep_book
from undrift.stores.sqlite import SqliteStore
from undrift.values.rule import rule_id

CANARY = "zqx9canary7qxz"
SECRET = f"the vault {CANARY} opens at nine, said the \u201cporter\u201d\nand nobody else knows it"


def files_with(home: Path, text: str) -> list[str]:
    """Files that hold the text in any form, as grep would find them; the database is closed meanwhile."""
    folded = text.lower().encode()
    return [
        str(p.relative_to(home)) for p in sorted(home.rglob("*")) if p.is_file() and folded in p.read_bytes().lower()
    ]


def is_sound(home: Path) -> bool:
    with SqliteStore.open(home) as store:
        assert store.integrity() == ()
    return True


def paste(home: Path, times: int = 20) -> tuple[Session, str, list]:
    """A session that has let a tool's result go which holds the canary."""
    session = opened(home, budget_tokens=900, debug_archive=True, policy="recency")
    history = [user("Go."), *rounds(1), *rounds(12, first=1)]
    history[2]["content"][0]["content"] = f"{SECRET} " * times
    prepared = session.prepare(body(*history))
    refs = [action.ref for action in prepared.actions if action.kind == "pruned"]
    (ref,) = [one for one in refs if CANARY in session.recall(one)]
    return session, ref, history


def test_an_original_is_gone_from_every_byte_and_its_block_stays_out_of_the_window(tmp_path: Path):
    session, ref, history = paste(tmp_path)
    before = session.prepare(body(*history))
    assert session.find(CANARY)
    assert files_with(tmp_path, CANARY)
    done = session.purge(ref)
    assert (done.kind, done.removed["originals"], done.traces, done.copies) == ("original", 1, (), ())
    assert session.find(CANARY) == ()
    with pytest.raises(RecallError):
        session.recall(ref)
    after = session.prepare(body(*history))
    assert sent(after) == sent(before)
    session.close()
    assert files_with(tmp_path, CANARY) == []
    again = opened(tmp_path, budget_tokens=900)
    assert sent(again.prepare(body(*history))) == sent(before)
    again.close()
    assert is_sound(tmp_path)


def test_each_action_can_be_recalled_after_a_purge(tmp_path: Path):
    session, ref, history = paste(tmp_path)
    before = session.prepare(body(*history)).actions
    session.purge(ref)
    windows = [session.prepare(body(*turn)) for turn in (history, [*history, *rounds(3, first=20)])]
    for action in (one for prepared in windows for one in prepared.actions):  # as the README does
        assert session.recall(action.ref)
    assert set(before) - set(windows[0].actions) == {action for action in before if action.ref == ref}


def test_what_a_purge_took_is_named_with_its_day_and_so_is_the_refusal_to_recall_it(tmp_path: Path):
    session, ref, history = paste(tmp_path)
    before = session.prepare(body(*history))
    session.purge(ref)
    after = session.prepare(body(*history))
    said = "its original was purged on "
    (gone,) = after.gone
    assert (gone.kind, gone.ref, gone.reason.startswith(said)) == ("purged", ref, True)
    assert gone.entry_id in {action.entry_id for action in before.actions}
    assert (before.gone, after.action_count) == ((), before.action_count - 1)
    assert "1 gone" in repr(after)
    assert "gone" not in repr(before)
    for asked in (ref, gone.entry_id):
        with pytest.raises(GoneError, match=said):
            session.recall(asked)
    assert session.why(ref).reason == gone.reason  # type: ignore[union-attr]
    session.close()
    for command in (["recall", ref], ["recall", ref, "--why"]):
        assert said in CliRunner().invoke(main, [*command, "--home", str(tmp_path)]).output


def test_the_same_purge_again_cleans_and_removes_nothing(tmp_path: Path):
    session, ref, _ = paste(tmp_path)
    session.purge(ref)
    again = session.purge(ref)
    assert again.removed == {}
    assert again.traces == ()
    session.close()
    assert files_with(tmp_path, CANARY) == []


def test_the_log_says_that_something_was_purged_and_not_what(tmp_path: Path):
    session, ref, _ = paste(tmp_path)
    session.purge(ref)
    last = session.history()[-1]
    assert (last.kind, last.payload) == ("purge", {"what": "original", "removed": {"originals": 1}})


def test_a_memory_goes_with_its_versions_its_words_its_slots_and_what_others_quote_of_it(tmp_path: Path):
    session = opened(tmp_path)
    old = session.remember(f"We use PostgreSQL for {CANARY}.", trust="user", speaker="ann")
    new = session.remember(f"We use SQLite for {CANARY}.", trust="assistant")
    (conflict,) = session.conflicts()
    assert conflict.older.id == old.id
    session.checkpoint("here")
    kept = session.remember("The parser is written in Rust.")
    assert session.purge(old.id).copies != ()  # the other one says it too
    done = session.purge(new.id)
    assert (done.kind, done.traces, done.copies) == ("memory", (), ())
    assert [one.id for one in session.memories()] == [kept.id]
    assert session.conflicts() == ()
    assert {hit.entry.id for hit in session.search(f"what is used for {CANARY}")} <= {kept.id}
    assert [one.id for one in session.memories(known_at="here")] == []
    session.close()
    assert files_with(tmp_path, CANARY) == []
    assert files_with(tmp_path, "PostgreSQL") == []
    assert is_sound(tmp_path)


def test_a_superseded_pair_loses_one_and_the_other_still_answers(tmp_path: Path):
    session = opened(tmp_path)
    old = session.remember("The main database is PostgreSQL.", trust="user")
    new = session.remember("Actually, the main database is SQLite.", trust="user")
    assert session.search("main database")[0].entry.id == new.id
    session.purge(new.id)
    (hit,) = session.search("main database")
    assert hit.entry.id == old.id
    assert hit.entry.is_contradicted  # what was learned since is not unlearned
    session.close()
    assert is_sound(tmp_path)


def test_a_task_goes_with_all_it_let_go_and_keeps_a_tombstone(tmp_path: Path):
    session = TaskSession(tmp_path, debug_archive=True)
    session.starts("leak", "all tests pass", content=f"Read {CANARY}")
    session.works(0, 3, f"{SECRET}: the number 7, all the tests pass: 12 passed")
    refs = session.completes("leak", f"Every file was read: 7 stands in each, all tests pass ({CANARY}).")
    assert refs
    log = session.session._context.exports.log_path("s", "leak")
    assert log.exists()
    session.does("other", 10)
    done = session.session.purge("task:leak")
    assert done.kind == "task"
    assert done.removed["tasks"] >= 1
    assert done.removed["files"] == 1
    assert done.traces == done.copies == ()
    assert not log.exists()
    assert [task.id for task in session.session.tasks()] == ["other"]
    shown = json.dumps(sent(session.session.prepare(body(*session.history))))
    assert "[Task leak completed. Raw logs purged.]" in shown
    assert SUMMARY in shown  # of the other one
    session.close()
    assert files_with(tmp_path, CANARY) == []
    assert is_sound(tmp_path)


def test_a_session_is_gone_with_what_it_remembered_and_its_scratchpad(tmp_path: Path):
    other = opened(tmp_path, "other")
    kept = other.remember("The parser is written in Rust.")
    session, _, history = paste(tmp_path)
    session.pin("spec", f"Never open {CANARY}.")
    session.scratchpad.write(f"## Now\n{SECRET}\n")
    session.remember(SECRET)
    session.start_task("t", content=SECRET)
    session.prepare(body(*history))
    done = session.purge("session")
    assert (done.kind, done.traces, done.copies) == ("session", (), ())
    assert session.tasks() == ()
    assert [one.id for one in session.memories()] == [kept.id]
    assert session.find(CANARY) == ()
    session.close()
    assert [one.id for one in other.memories()] == [kept.id]
    other.close()
    assert files_with(tmp_path, CANARY) == []
    assert is_sound(tmp_path)
    again = opened(tmp_path, budget_tokens=900)  # the client goes on with its history as it is
    assert again.prepare(body(*history)).actions


def test_a_pin_is_purged_and_stands_in_no_window_any_more(tmp_path: Path):
    session = opened(tmp_path)
    ref = session.pin("spec", SECRET)
    assert CANARY in json.dumps(sent(session.prepare(body(user("Go.")))))
    session.purge(ref)
    prepared = session.prepare(body(user("Go.")))
    assert CANARY not in json.dumps(sent(prepared))
    session.close()
    assert files_with(tmp_path, CANARY) == []
    assert is_sound(tmp_path)


def test_copies_elsewhere_in_the_home_are_named_and_not_touched(tmp_path: Path):
    session = opened(tmp_path)
    entry = session.remember(SECRET)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "note.txt").write_text(SECRET)
    session.scratchpad.write(SECRET)
    done = session.purge(entry.id)
    assert done.traces == (f"archives/s/{session.scratchpad.path.name}", "hooks/note.txt")
    assert (tmp_path / "hooks" / "note.txt").exists()


def test_a_backup_in_the_home_is_named_though_its_texts_are_compressed(tmp_path: Path):
    session, ref, _ = paste(tmp_path, times=300)  # a text that is packed with the commit
    session.close()
    back_up(tmp_path, tmp_path / "earlier.db")
    assert b"opens at nine" not in (tmp_path / "earlier.db").read_bytes()  # so that a look at the bytes would not do
    session = opened(tmp_path)
    assert session.purge(ref).traces == ("earlier.db",)


def test_large_files_are_named_and_searched_only_if_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(purging, "_MOST_BYTES", 1_000)
    session = opened(tmp_path)
    first, second = session.remember(SECRET), session.remember(f"Again, {SECRET}", speaker="bob")
    (tmp_path / "small.txt").write_text(SECRET)
    (tmp_path / "large.txt").write_text("-" * 2_000 + SECRET)
    done = session.purge(first.id)
    assert (done.traces, done.copies) == (("small.txt",), ())
    assert {"undrift.db", "large.txt"} <= set(done.unsearched)
    whole = session.purge(second.id, search_files=True)
    assert (whole.traces, whole.unsearched) == (("large.txt", "small.txt"), ())


def test_a_record_that_says_the_same_is_named(tmp_path: Path):
    session = opened(tmp_path)
    entry = session.remember(SECRET)
    other = session.remember(f"Bob repeated: {SECRET}", speaker="bob", source="elsewhere")
    done = session.purge(entry.id)
    assert done.copies == (f"memory {other.id}",)
    assert done.traces == ()


def test_going_back_before_a_purge_brings_nothing_back(tmp_path: Path):
    session = opened(tmp_path)
    entry = session.remember(SECRET)
    here = session.checkpoint("here")
    session.remember("The parser is written in Rust.")
    session.purge(entry.id)
    session.rewind(here)
    assert session.memories() == ()
    session.undo_rewind()
    assert [one.content for one in session.memories()] == ["The parser is written in Rust."]


def test_twelve_sessions_purge_at_once_and_none_is_refused(tmp_path: Path):
    def work(name: int) -> list[str]:
        with opened(tmp_path / "home", f"s{name}", busy_timeout_ms=60_000) as session:
            refs = [session.pin("spec", f"pin {number} of {name}") for number in range(3)]
            return [session.purge(ref).kind for ref in refs]

    with ThreadPoolExecutor(12) as threads:
        kinds = [kind for found in threads.map(work, range(12)) for kind in found]
    assert kinds == ["original"] * 36


def test_the_session_of_another_process_reads_anew_before_it_writes(tmp_path: Path):
    session, ref, history = paste(tmp_path)
    other = opened(tmp_path, budget_tokens=900)
    session.purge(ref)
    history += rounds(12, first=20)
    prepared = other.prepare(body(*history))
    assert all(action.ref != ref for action in prepared.actions)
    assert parts(sent(prepared)[0])


@pytest.mark.parametrize(
    "what", ["0123456789abcdef", "task:none", "m0123456789abcdef", "x\x1b[2J\0\ud800", "session\0"]
)
def test_an_unknown_name_is_refused_and_nothing_happens(tmp_path: Path, what: str):
    session = opened(tmp_path)
    session.remember("The parser is written in Rust.")
    before = session.history()
    with pytest.raises(RecallError, match="nothing under"):
        session.purge(what)
    assert session.history() == before


@pytest.mark.parametrize("what", ["", None, 7])
def test_what_is_no_name_is_refused(tmp_path: Path, what):
    with pytest.raises(InputError):
        opened(tmp_path).purge(what)


def test_what_only_another_session_or_agent_sees_is_not_purged(tmp_path: Path):
    one = opened(tmp_path, "one")
    entry = one.remember(SECRET, scope="session")
    with pytest.raises(RecallError):
        opened(tmp_path, "two").purge(entry.id)
    assert one.memories() == (entry,)


def test_a_store_that_refuses_leaves_everything_as_it_was(tmp_path: Path):
    session, ref, _ = paste(tmp_path)
    connection = apsw.Connection(str(tmp_path / "undrift.db"))
    connection.execute("BEGIN IMMEDIATE")
    database_of(session).busy_timeout_ms = 0
    database_of(session)._drop()
    with pytest.raises(StoreError):
        session.purge(ref)
    connection.execute("ROLLBACK")
    connection.close()
    assert CANARY in session.recall(ref)


def test_assistant_words_that_were_evicted_are_blank_in_the_window(tmp_path: Path):
    session = TaskSession(tmp_path)
    refs = session.does("leak")
    assert refs
    session.session.purge(refs[0])
    shown = sent(session.session.prepare(body(*session.history)))
    assert "[Task leak completed. Raw logs purged.]" in json.dumps(shown)
    assert assistant("Done.") in shown


def test_a_cut_paste_says_that_its_original_was_purged(tmp_path: Path):
    session = opened(tmp_path, budget_tokens=1_200, keep_user_text_tokens=100)
    lines = "".join(f"{number}: {CANARY if number == 200 else 'a line of a log'}\n" for number in range(400))
    history = [user("Go."), assistant("Yes."), user(lines), *rounds(4), assistant("Done."), user("And now?")]
    (cut,) = [one for one in session.prepare(body(*history)).actions if one.kind == "cut"]
    session.purge(cut.ref)
    shown = json.dumps(sent(session.prepare(body(*history))))
    assert "left the window; the original was purged]" in shown
    session.close()
    assert files_with(tmp_path, CANARY) == []
    assert is_sound(tmp_path)


def test_a_reader_in_the_way_refuses_the_cleaning_and_a_second_purge_does_it(tmp_path: Path):
    session = opened(tmp_path, busy_timeout_ms=50)
    entry = session.remember(SECRET)
    reader = apsw.Connection(str(tmp_path / "undrift.db"))
    reader.execute("BEGIN; SELECT count(*) FROM operations")
    with pytest.raises(StoreBusy):
        session.purge(entry.id)
    assert session.memories() == ()
    reader.execute("ROLLBACK")
    reader.close()
    assert session.purge(entry.id).removed == {}
    session.close()
    assert files_with(tmp_path, CANARY) == []


@pytest.mark.skipif(
    "not __import__('importlib.util').util.find_spec('lancedb')", reason="needs the extra `lancedb`: make lance"
)
def test_the_folder_of_another_index_of_vectors_is_cleaned_as_well(tmp_path: Path):
    session = opened(tmp_path, embedder="wordllama", vector_index="lance")
    gone = [session.remember(f"{SECRET}, number {number}", scope="session").id for number in range(3)]
    kept = [session.remember(f"The service {number} is written in Rust.").id for number in range(300)]
    assert session.search("vault porter")[0].entry.id in gone  # hands rows over to the folder
    with database_of(session).using() as connection:
        select = "SELECT vector FROM memory_vectors v JOIN memory_lines l USING (number) WHERE l.id = ?"
        vector: Any = connection.execute(select, (gone[0],)).fetchall()[0][0]
    found = bytes(vector)[:64]
    assert any(found in path.read_bytes() for path in (tmp_path / "vectors").rglob("*") if path.is_file())
    for one in gone:
        session.purge(one)
    assert {hit.entry.id for hit in session.search("service Rust")} <= set(kept)
    session.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and found in path.read_bytes()]
    assert files_with(tmp_path, CANARY) == []


def documented(home: Path) -> None:
    """Files and items that frameworks keep under a session, some in two versions, some closed, and those of another."""
    with Documents.open(home, settings=Settings()) as kept:
        for session in ("s", "other"):
            for number, path in enumerate((("a", "notes.md"), ("a", "b/c"), ("ab",), ("d",))):
                for version in (1, 2):
                    text = f"{SECRET} {session} {number} {version}".encode()
                    kept.change(session, put(path, text), about="files: write")
            kept.change(session, lambda change: change.close(change.under("file", ("d",))), about="files: delete")


def put(path: tuple[str, ...], content: bytes):
    def act(change: DocumentChange) -> None:
        change.put("file", Document(path, {"bytes": len(content)}, content))
        change.put("index", Document(path, {}, content))

    return act


def left(home: Path, session: str) -> list[tuple[str, ...]]:
    with Documents.open(home, settings=Settings()) as kept, kept.reading(session) as now:
        return [one.path for one in now.under("file")]


@pytest.mark.parametrize(
    ("what", "versions", "stays"),
    [
        ("document:/a/notes.md", 4, [("a", "b/c"), ("ab",)]),
        ("document:a", 8, [("ab",)]),
        ('document:["a", "b/c"]', 4, [("a", "notes.md"), ("ab",)]),
        ("document:d", 4, [("a", "b/c"), ("a", "notes.md"), ("ab",)]),
    ],
)
def test_documents_of_frameworks_go_in_every_version_and_kind(
    tmp_path: Path, what: str, versions: int, stays: list[tuple[str, ...]]
):
    documented(tmp_path)
    with Session.open("s", home=tmp_path, settings=Settings()) as session:
        done = session.purge(what)
        assert (done.kind, done.removed, done.traces) == ("document", {"documents": versions}, ())
        assert any(one.startswith("document ") for one in done.copies), "the other session says the same"
        assert session.purge(what).removed == {}
    assert left(tmp_path, "s") == stays
    assert len(left(tmp_path, "other")) == 3
    assert is_sound(tmp_path)


def test_a_session_goes_with_the_documents_that_frameworks_keep_under_it(tmp_path: Path):
    documented(tmp_path)
    for name in ("s", "other"):
        with Session.open(name, home=tmp_path, settings=Settings()) as session:
            done = session.purge("session")
            assert done.removed["documents"] == 16
            assert done.traces == ()
            assert bool(done.copies) == (name == "s")
    assert files_with(tmp_path, CANARY) == []
    assert is_sound(tmp_path)


@pytest.mark.parametrize(
    "what", ["document:", "document:/", "document:nowhere", "document:[]", "document:[" * 3_000, "document:\0"]
)
def test_a_document_that_is_not_there_is_refused(tmp_path: Path, what: str):
    documented(tmp_path)
    with Session.open("s", home=tmp_path, settings=Settings()) as session, pytest.raises(RecallError):
        session.purge(what)
    assert len(left(tmp_path, "s")) == 3


def test_what_the_hooks_keep_of_a_session_and_its_own_rules_go_with_it(tmp_path: Path):
    place = place_for(None, str(tmp_path / "home"), tmp_path)
    folders = [tmp_path / "home" / "hooks" / f"claude-{name}" for name in ("s1", "s2")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "rules.json").write_text(f'{{"typed": "{CANARY}"}}')
    (folders[0] / "out").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").write_text("mine")
    own, other = (BookedRule(rule_id(f"Never {x}."), f"Never {x}.", "session", f"claude:{x}") for x in ("s1", "s2"))
    everywhere = BookedRule(rule_id("Never push."), "Never push.", "project")
    keep_book(place, "project", RuleBook((own, other, everywhere)))
    with Session.open("claude:s1", home=tmp_path / "home") as session:
        done = session.purge("session")
        assert (done.kind, dict(done.removed)) == ("session", {"files": 2, "rules": 1})
        assert dict(session.purge("session").removed) == {}
    assert [one.name for one in folders[0].iterdir()] == ["purged"]
    assert (folders[1] / "rules.json").exists()
    assert (tmp_path / "mine").read_text() == "mine"
    linked = tmp_path / "other" / "hooks"
    linked.parent.mkdir()
    linked.symlink_to(tmp_path / "home" / "hooks")
    with Session.open("claude:s2", home=linked.parent) as session:
        session.purge("session")
    assert (folders[1] / "rules.json").exists(), "no link is followed"
    assert book_of(place, "project").added == (other, everywhere)
