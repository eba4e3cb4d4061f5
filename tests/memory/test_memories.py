"""What a session remembers: what is true now, what it took the place of, what stays open, and what was known when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from undrift.errors import InputError, RecallError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.memory import MemoryEntry

HOUR_MS = 3_600_000
START_MS = 1_700_000_000_000


class Clock:
    """Goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        self.now_ms += 1_000
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(tmp_path: Path, clock: Clock) -> Iterator[Session]:
    with opened(tmp_path, clock) as one:
        yield one


def opened(home: Path, clock: Clock, session_id: str = "s", **settings: Any) -> Session:
    return Session.open(session_id, home=home, settings=Settings(embedder="none", **settings), clock=clock)


def now(session: Session, entry: MemoryEntry) -> MemoryEntry:
    return next(one for one in session.memories() if one.id == entry.id)


def found(session: Session, query: str, **how: Any) -> list[str]:
    return [hit.entry.content for hit in session.search(query, **how)]


def test_where_the_user_lives_now_comes_first_and_the_earlier_home_is_marked(session: Session):
    old = session.remember("I live in Lyon", trust="user")
    session.remember("The cat is called Mina", trust="user")
    new = session.remember("I moved to Porto last month", trust="user")
    hits = session.search("Where do I live?")
    assert [(hit.entry.id, hit.why["disputes"]) for hit in hits] == [(new.id, [old.id]), (old.id, [new.id])]
    assert [one.newer.id for one in session.conflicts()] == [new.id]
    assert [now(session, one).is_contradicted for one in (old, new)] == [False, False]
    assert found(session, "Where do I live?", as_of_ms=old.valid_from_ms) == ["I live in Lyon"]
    assert found(session, "Where do I live?", types=["task_outcome"]) == []


def test_a_changed_amount_in_a_long_message_is_named_at_the_question(session: Session):
    more = " I would like to hear what you think of it, so please take your time." * 6
    older = session.remember(f"I'm struggling with my weekly goal of 1,200 words.{more}", speaker="user")
    newer = session.remember(f"My weekly goal was just adjusted to 1,350 words.{more}", speaker="user")
    hits = session.search("How many words is my weekly goal?")
    assert [(hit.entry.id, hit.why["disputes"]) for hit in hits] == [(newer.id, [older.id]), (older.id, [newer.id])]
    assert session.conflicts() == ()


def test_what_is_similar_is_compared_beyond_those_that_rank_before_it(tmp_path: Path, clock: Clock):
    pytest.importorskip("wordllama", reason="needs the extra `vectors`")
    for embedder, loses in (("none", False), ("wordllama", True)):
        settings = Settings(embedder=embedder)
        with Session.open("s", home=tmp_path / embedder, settings=settings, clock=clock) as session:
            old = session.remember("The importer skips empty rows.")
            for number in range(30):
                session.remember(f"Skip importer, skip rows, empty importer, empty rows, importer rows {number}")
            session.remember("The importer does not skip empty rows.")
            assert now(session, old).is_contradicted is loses


def test_the_example_of_the_seed(session: Session):
    session.start_task("t1")
    old = session.remember("Use PostgreSQL")
    session.update_task("t1", status="cancelled")
    session.start_task("t2")
    new = session.remember("Use SQLite")
    lost = now(session, old)
    assert (lost.contradicted_by_task_id, lost.contradicted_by_entry_id) == ("t2", new.id)
    assert lost.contradicted_at_ms == new.recorded_at_ms
    assert lost.contradiction_rule
    assert lost.valid_to_ms == new.valid_from_ms
    assert not now(session, new).is_contradicted
    assert found(session, "PostgreSQL") == ["Use SQLite", "Use PostgreSQL"]  # the current value first, though not hit
    assert found(session, "PostgreSQL", only_valid=True) == []
    assert session.conflicts() == ()
    penalised = next(hit for hit in session.search("PostgreSQL") if hit.entry.id == old.id)
    assert penalised.decayed_score == pytest.approx(0.6 * max(penalised.raw_score * penalised.why["kept"], 0.05))


def test_what_arrives_late_is_placed_by_when_it_held(session: Session):
    third = session.remember("The gateway listens on port 9000.", valid_from_ms=START_MS + 30 * HOUR_MS)
    first = session.remember("The gateway listens on port 7000.", valid_from_ms=START_MS + 10 * HOUR_MS)
    second = session.remember("The gateway listens on port 8000.", valid_from_ms=START_MS + 20 * HOUR_MS)
    assert not now(session, third).is_contradicted
    assert now(session, second).contradicted_by_entry_id == third.id
    assert now(session, first).contradicted_by_entry_id == third.id  # its first mark stays
    for hour, port in ((15, 7000), (25, 8000), (35, 9000)):
        text = f"The gateway listens on port {port}."
        assert found(session, "gateway port", as_of_ms=START_MS + hour * HOUR_MS) == [text]
    assert found(session, "gateway port", only_valid=True) == ["The gateway listens on port 9000."]
    assert found(session, "gateway port", as_of_ms=START_MS + 5 * HOUR_MS) == []


def test_what_was_known_then_is_told_without_going_back(session: Session):
    session.remember("The gateway listens on port 7000.")
    then = session.checkpoint("before")
    session.remember("The gateway listens on port 8000.")
    assert found(session, "gateway port", known_at=then) == ["The gateway listens on port 7000."]
    assert found(session, "gateway port", known_at="before") == ["The gateway listens on port 7000."]
    assert [entry.is_contradicted for entry in session.memories(known_at="before")] == [False]
    assert len(session.memories()) == 2
    with pytest.raises(RecallError):
        session.memories(known_at="never")


def test_the_same_words_are_one_memory(session: Session):
    one = session.remember("Use   tabs for indentation.")
    assert session.remember("use tabs for INDENTATION.") == one
    assert len(session.history()) == 1
    others = [
        session.remember("We use tabs for indentation.", speaker="Ada"),
        session.remember("Use tabs for indentation.", scope="session"),
        session.remember("Use tabs for indentation.", trust="user"),
        session.remember("Use tabs for indentation.", type="user_preference"),
    ]
    assert len({one.id, *(other.id for other in others)}) == 5


def test_what_repeats_a_part_of_another_memory_reinforces_it(session: Session):
    one = session.remember("The billing service uses PostgreSQL; the gateway listens on port 8080.")
    two = session.remember("PostgreSQL is the database of the billing service.")
    assert two.metadata.get("reinforces") == [one.id]
    assert not now(session, one).is_contradicted


@pytest.mark.parametrize("trust", ["tool", "assistant"])
def test_what_is_vouched_for_less_supersedes_nothing(session: Session, trust: Any):
    old = session.remember("The billing service uses PostgreSQL.", trust="user")
    new = session.remember("The billing service uses SQLite.", trust=trust)
    assert not now(session, old).is_contradicted
    (conflict,) = session.conflicts()
    assert (conflict.newer.id, conflict.older.id, conflict.reason) == (new.id, old.id, "trust")
    assert "sqlite" in conflict.evidence[1].lower()
    assert (0 < conflict.confidence <= 1, bool(conflict.rule)) == (True, True)


def test_an_open_conflict_is_settled_by_somebody_who_may(session: Session):
    session.remember("The billing service uses PostgreSQL.", trust="user")
    session.remember("The billing service uses SQLite.", trust="assistant")
    assert len(session.conflicts()) == 1
    session.remember("The billing service uses MySQL.", trust="user")
    assert session.conflicts() == ()
    assert found(session, "billing service", only_valid=True) == ["The billing service uses MySQL."]


def test_a_loser_takes_nobody_with_it(session: Session):
    one = session.remember("The billing service uses PostgreSQL.")
    two = session.remember("The billing service uses SQLite.")
    three = session.remember("The billing service uses MySQL.")
    assert now(session, one).contradicted_by_entry_id == two.id  # not the third: a mark is set once
    assert now(session, two).contradicted_by_entry_id == three.id
    assert found(session, "PostgreSQL")[0] in ("The billing service uses SQLite.", "The billing service uses MySQL.")


def test_what_is_of_one_scope_does_not_end_what_is_of_another(tmp_path: Path, clock: Clock):
    with opened(tmp_path, clock) as one, opened(tmp_path, clock, "t") as other:
        ours = one.remember("The billing service uses PostgreSQL.")
        other.remember("The billing service uses SQLite.", scope="session")
        assert not now(one, ours).is_contradicted
        assert [conflict.reason for conflict in other.conflicts()] == ["scope"]
        assert one.conflicts() == ()
        assert found(one, "SQLite") == []
        shared = other.remember("The billing service uses MySQL.")
        assert now(one, ours).contradicted_by_entry_id == shared.id


def test_the_better_answer_comes_first_however_old_it_is(session: Session):
    session.remember("The nightly backup of the main shop writes to the north bucket.")
    session.remember("The nightly backup of the main shop is on the status page, at its top.")
    for number in range(9):
        session.remember(f"Filler words {number}")
    assert "bucket" in found(session, "Where does the nightly backup of the main shop write?")[0]


def test_a_tools_words_pass_no_users(session: Session):
    session.remember("The deploy key of the gateway is rotated on Mondays.", trust="user")
    session.remember("The deploy key of the gateway is what the log says: rotated never.", trust="tool")
    assert found(session, "When is the deploy key of the gateway rotated?")[0].endswith("Mondays.")


def test_ours_is_not_remembered_again(session: Session):
    for text in ("[Pinned requirements]\nKeep it small.", "[active_context.md: notes]", "[Remembered] x", " ", ""):
        with pytest.raises(InputError):
            session.remember(text)
    assert session.history() == ()


def test_nothing_is_inferred_from_a_tool(session: Session):
    assert session.remember("The billing service uses PostgreSQL.", trust="tool").slots == ()
    assert session.remember("The mail service uses PostgreSQL.", trust="user").slots


def test_secrets_are_masked(session: Session, tmp_path: Path):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    one = session.remember(f"The key is {key}.", metadata={"key": key}, source=key)
    assert key not in repr(one)
    assert all(key.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("text", ["\x00", "a\ud800b", "x" * 2_000_000, "'; DROP TABLE memories; --", '"*" NEAR('])
def test_texts_may_hold_anything(session: Session, text: str):
    one = session.remember(f"note {text}", source=text[:50], speaker=text[:50], metadata={"a": text[:50]})
    assert now(session, one) == one
    session.search(text)
    assert session.search("note")[0].entry == one


@pytest.mark.parametrize(
    "fields",
    [{"type": "nonsense"}, {"trust": "me"}, {"scope": "world"}, {"valid_from_ms": 5, "valid_to_ms": 4}, {"valid_from_ms": -2},
     {"metadata": {"a": object()}}, {"status": "maybe"}],
)  # fmt: skip
def test_wrong_values_are_refused_and_nothing_is_written(session: Session, fields: Any):
    with pytest.raises(InputError):
        session.remember("words", **fields)
    assert session.memories() == ()


def test_a_search_that_asks_for_nothing_finds_nothing(session: Session):
    session.remember("words")
    assert session.search("words", k=0) == ()
    assert session.search("") == ()
    assert session.search("words", types=["lesson_learned"]) == ()
    with pytest.raises(InputError):
        session.search(b"words")  # type: ignore[arg-type]


def test_a_question_about_nothing_that_is_there_has_no_hits(tmp_path: Path, clock: Clock):
    with Session.open("s", home=tmp_path, settings=Settings(embedder="wordllama"), clock=clock) as session:
        for text in ("The main database is SQLite.", "Never deploy on Fridays.", "The launch moved to April 10."):
            session.remember(text)
        for query in ("How do I cook rice?", "What is the capital of France?", "When does it go live?"):
            assert session.search(query) == (), query
            assert session.brief(query) == ""
        assert session.search("release day")[0].entry.content == "The launch moved to April 10."


def test_it_is_all_there_after_a_restart(tmp_path: Path, clock: Clock):
    with opened(tmp_path, clock) as session:
        session.remember("The billing service uses PostgreSQL.", trust="user")
        session.remember("The billing service uses SQLite.")
        before = (session.memories(), session.conflicts(), session.search("billing"))
    with opened(tmp_path, clock) as again:
        assert (again.memories(), again.conflicts(), again.search("billing")) == before


@pytest.mark.parametrize(
    "question", ["recipe for lentil soup", "What is the capital of Peru?", "Which airline flies to Lima?"]
)
def test_a_question_that_nothing_answers_gets_no_hit_and_no_brief(session: Session, question: str):
    for host, port in (("bastion", 2222), ("build server", 2200), ("database host", 2022)):
        session.remember(f"SSH on the {host} listens on port {port}.", trust="user")
    session.remember("Omar is the manager of the data team.", trust="user")
    assert session.search(question) == ()
    assert session.brief(question, 500) == ""
    assert len(session.search("SSH port of the bastion")) >= 1
