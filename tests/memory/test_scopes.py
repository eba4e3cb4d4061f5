"""Memories of a project, and those that hold in every project of one person."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from undrift.errors import RecallError, StoreError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.projects import place_of, user_records
from undrift.values.project import Place


def place(home: Path, name: str) -> Place:
    folder = home.parent / name
    folder.mkdir(exist_ok=True)
    return place_of(home, folder, shares=True)


def opened(home: Path, name: str = "a", session: str = "s", **settings: Any) -> Session:
    """A session of a project in a home that keeps each project apart."""
    counted = itertools.count(1_700_000_000_000, 1_000)
    given = Settings(**{"embedder": "none", **settings})
    return Session.open(session, home=place(home, name), settings=given, clock=lambda: next(counted))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def found(session: Session, query: str, **more: Any) -> list[str]:
    return [hit.entry.content for hit in session.search(query, **more)]


def test_each_scope_is_seen_by_those_that_it_names(home: Path):
    with opened(home) as session:
        session.remember("The port of this project is 8080.")
        session.remember("My port habit: I like 9090.", scope="user", trust="user")
        session.remember("The port of this session is 7070.", scope="session")
    seen = {
        ("a", "s"): 3,
        ("a", "t"): 2,
        ("b", "s"): 1,
    }
    for (name, session_id), number in seen.items():
        with opened(home, name, session_id) as session:
            assert len(session.memories()) == len(session.search("port")) == number, (name, session_id)
            assert [one.scope for one in session.memories()][-1] == "user"
            assert ("scope=user" in session.brief("port")) is True


def test_what_holds_everywhere_lies_in_a_store_of_its_own_and_nowhere_else(home: Path):
    with opened(home) as session:
        session.remember("The ornithopter lands at noon.", scope="user")
    own = user_records(place(home, "a"))
    assert own == home / "user"
    assert b"ornithopter" in b"".join(one.read_bytes() for one in own.glob("undrift.db*"))
    with opened(home, "b") as session:
        session.remember("The ornithopter of this project is new.")
        assert len(session.memories()) == 2
    for path in (home / "projects").rglob("undrift.db*"):
        assert b"lands at noon" not in path.read_bytes()


def test_without_anything_that_holds_everywhere_no_store_is_made_for_it(home: Path):
    with opened(home) as session:
        session.remember("The port is 8080.")
        session.search("port")
        session.brief("port")
        session.conflicts()
        session.prune_memories(dry_run=False)
        with pytest.raises(RecallError):
            session.purge("m0123456789abcdef")
    assert not (home / "user").exists()


def test_a_home_of_one_project_keeps_both_in_its_store(tmp_path: Path):
    with Session.open("s", home=tmp_path / "one", settings=Settings(embedder="none")) as session:
        entry = session.remember("I like tabs.", scope="user", trust="user")
        assert found(session, "tabs") == ["I like tabs."]
        session.memory.forget(entry.id)
        assert session.memories() == ()
    assert not (tmp_path / "one" / "user").exists()
    with Session.open("t", home=tmp_path / "one") as session:
        assert session.memories() == ()


# ------------------------------------------------------------------------------------------------------------- ranking

PROJECT = (
    "The deploy port of billing is 8080.",
    "Never deploy on Fridays.",
    "The main database is SQLite.",
    "The database of billing is backed up at noon.",
    "We deploy billing with a script.",
)
EVERYWHERE = (
    "I like short answers.",
    "Deploy nothing without asking me.",
    "My editor is vim.",
    "Every database needs a backup.",
)
QUERIES = (
    "which database",
    "deploy port of billing",
    "when do we deploy",
    "database backup at noon",
    "editor",
    "nothing here",
)


@pytest.mark.parametrize("embedder", ["none", "wordllama"])
def test_the_projects_hits_keep_their_order_and_their_scores(home: Path, embedder: str):
    with opened(home, embedder=embedder) as session:
        for text in PROJECT:
            session.remember(text)
        before = {query: session.search(query, k=20) for query in QUERIES}
        for text in EVERYWHERE:
            session.remember(text, scope="user", trust="user")
        for query, hits in before.items():
            now = [hit for hit in session.search(query, k=20) if hit.entry.scope != "user"]
            assert [(one.entry.id, one.decayed_score) for one in now] == [
                (x.entry.id, x.decayed_score) for x in hits
            ], query


@pytest.mark.parametrize("embedder", ["none", "wordllama"])
def test_a_better_fit_comes_first_wherever_it_lies(home: Path, embedder: str):
    with opened(home, embedder=embedder) as session:
        for text in PROJECT:
            session.remember(text)
        for text in EVERYWHERE:
            session.remember(text, scope="user", trust="user")
        assert found(session, "deploy port of billing", k=1) == ["The deploy port of billing is 8080."]
        assert found(session, "every database needs a backup", k=1) == ["Every database needs a backup."]
        assert found(session, "my editor", k=1) == ["My editor is vim."]
        scores = [hit.decayed_score for hit in session.search("deploy database backup", k=20)]
        assert scores == sorted(scores, reverse=True)


def test_one_word_of_a_rare_kind_does_not_pass_a_memory_with_more_of_the_question(home: Path):
    with opened(home) as session:
        session.remember("The deploy port is 9090.")
        session.remember("Formatting is done by ruff.", scope="user", trust="user")
        assert found(session, "deploy port formatting") == ["The deploy port is 9090.", "Formatting is done by ruff."]


def test_age_lowers_no_project_memory_below_one_that_fits_less(home: Path):
    with opened(home) as session:
        session.remember("The deploy port of billing is 9090.")
        session.remember("Ports are for ships, I say.", scope="user", trust="user")
        for number in range(30):
            session.start_task(f"t{number}")
            session.update_task(f"t{number}", status="cancelled")
        session.start_task("last", phase_index=3)
        assert found(session, "deploy port of billing")[0] == "The deploy port of billing is 9090."


def test_what_holds_everywhere_has_no_age(home: Path):
    with opened(home) as session:
        session.start_task("one", phase_index=2)
        entry = session.remember("I like tabs.", scope="user", trust="user")
        assert (entry.task_id, entry.phase_index, entry.task_index) == ("unknown", 0, 0)
        (hit,) = session.search("tabs")
        assert (hit.decayed_score, hit.why["age_tasks"]) == (hit.raw_score, 0)


# ----------------------------------------------------------------------------------------------------------- conflicts


def test_a_project_that_decides_otherwise_comes_first_and_both_say_so(home: Path):
    with opened(home, "b") as session:
        mine = session.remember("The main database is PostgreSQL.", scope="user", trust="user")
    with opened(home) as session:
        own = session.remember("The main database is SQLite.")
        assert (own.is_contradicted, own.metadata) == (False, {})
        hits = session.search("main database PostgreSQL")  # words of the other one
        assert [(hit.entry.id, hit.why["disputes"]) for hit in hits] == [(own.id, [mine.id]), (mine.id, [own.id])]
        (pair,) = session.conflicts()
        assert ({pair.newer.id, pair.older.id}, pair.reason) == ({own.id, mine.id}, "scope")
        brief = session.brief("main database")
        assert f"disputes {mine.id}" in brief
        assert f"disputes {own.id}" in brief
    with opened(home, "c") as session:
        assert (session.conflicts(), len(session.search("main database"))) == ((), 1)


def test_the_projects_side_is_shown_even_if_it_has_no_word_of_the_question(home: Path):
    with opened(home) as session:
        own = session.remember("The main database is SQLite.")
        mine = session.remember("The main database is PostgreSQL.", scope="user", trust="user")
        assert [hit.entry.id for hit in session.search("PostgreSQL", k=2)] == [own.id, mine.id]


def test_a_tools_words_in_a_project_come_behind_the_users(home: Path):
    with opened(home) as session:
        own = session.remember("The main database is SQLite.", trust="tool", source="log")
        mine = session.remember("The main database is PostgreSQL.", scope="user", trust="user")
        assert [hit.entry.id for hit in session.search("main database")] == [mine.id, own.id]


def test_in_one_store_the_project_comes_first_too(tmp_path: Path):
    with Session.open("s", home=tmp_path, settings=Settings(embedder="none")) as session:
        own = session.remember("The main database is SQLite.")
        mine = session.remember("The main database is PostgreSQL.", scope="user", trust="user")
        assert [hit.entry.id for hit in session.search("main database")] == [own.id, mine.id]
        assert len(session.conflicts()) == 1


def test_a_correction_supersedes_in_its_own_scope(home: Path):
    with opened(home) as session:
        old = session.remember("My main editor is Emacs.", scope="user", trust="user")
    with opened(home, "b") as session:
        new = session.remember("Actually, my main editor is vim.", scope="user", trust="user")
        assert {one.id: one.contradicted_by_entry_id for one in session.memories()} == {old.id: new.id, new.id: None}


# ------------------------------------------------------------------------------------------------ what a person changes


def test_edit_forget_import_and_purge_find_the_store(home: Path):
    with opened(home) as session:
        own = session.remember("The port is 8080.")
        mine = session.remember("I like tabs.", scope="user", trust="user")
        edited = session.memory.edit(mine.id, "I like spaces.")
        assert edited.scope == "user"
        done = session.memory.forget(own.id, edited.id)
        assert (done.entries, done.seq > 0, done.user_seq > 0) == ((own, edited), True, True)
        records = [
            {"content": "A rule of mine.", "scope": "user", "trust": "user"},
            {"content": " "},
            {"content": "A rule of the project.", "trust": "user"},
            {"content": "", "scope": "user"},
        ]
        assert len(session.memory.take_in(records, dry_run=True).added) == 2
        taken = session.memory.take_in(records)
        assert [number for number, _ in taken.refused] == [1, 3]
        assert session.memory.take_in(records).added == ()
    with opened(home, "b") as session:
        assert [one.content for one in session.memories() if not one.is_contradicted] == ["A rule of mine."]
        (rule,) = [one for one in session.memories() if not one.is_contradicted]
        purged = session.purge(rule.id)
        assert (purged.kind, purged.removed) == ("memory", {"memories": 1})
        assert session.purge(edited.id).removed == {"memories": 1}  # a forgotten one
        assert b"rule of mine" not in b"".join(one.read_bytes() for one in (home / "user").glob("undrift.db*"))


def test_a_rewind_of_a_session_leaves_them_and_their_own_history_takes_them_back(home: Path):
    with opened(home) as session:
        mine = session.remember("I like tabs.", scope="user", trust="user")
        session.remember("The port is 8080.")
        session.rewind(0)
        assert session.memories() == (mine,)
        assert [hit.entry for hit in session.search("tabs", known_at=0)] == [mine]  # as they are now
        session.memory.forget(mine.id)
    with Session.open("user", home=home / "user") as own:
        assert [one.kind for one in own.history()] == ["remember", "forget"]
        own.rewind(own.history()[0].seq)
    with opened(home, "b") as session:
        assert session.memories() == (mine,)
        assert found(session, "tabs") == ["I like tabs."]


def test_pruning_leaves_them(home: Path):
    with opened(home) as session:
        session.remember("My main editor is Emacs.", scope="user", trust="user")
        session.remember("Actually, my main editor is vim.", scope="user", trust="user")
        session.start_task("x", phase_index=9)
        assert session.prune_memories(threshold=0.5, dry_run=False).stale == ()
        assert len(session.memories()) == 2


def test_two_sessions_write_them_at_once(home: Path):
    with opened(home) as one, opened(home, "b") as two:
        first = one.remember("My main editor is Emacs.", scope="user", trust="user")
        assert two.remember("My main editor is Emacs.", scope="user", trust="user") == first
        second = two.remember("Actually, my main editor is vim.", scope="user", trust="user")
        assert found(one, "main editor", only_valid=True) == [second.content]


def test_a_damaged_store_of_the_user_stops_no_request(home: Path):
    with opened(home) as session:
        session.remember("I like tabs.", scope="user", trust="user")
    (home / "user" / "undrift.db-wal").unlink(missing_ok=True)
    (home / "user" / "undrift.db").write_bytes(b"SQLite format 3\0" + b"x" * 9_000)
    given = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "tabs or spaces?"}]}
    with opened(home, memory_tokens=300) as session:
        prepared = session.prepare(given)
        assert prepared.body == given
        assert "the memories could not be searched" in " ".join(prepared.warnings)
        session.remember("The port is 8080.")  # the project's own memories are written as before
        with pytest.raises(StoreError, match="user"):
            session.search("port")


def test_the_window_gets_what_holds_everywhere(home: Path):
    with opened(home, "b") as session:
        session.remember("I like tabs.", scope="user", trust="user")
    given = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "tabs or spaces?"}]}
    with opened(home, memory_tokens=300) as session:
        assert "scope=user: I like tabs." in str(session.prepare(given).body)
