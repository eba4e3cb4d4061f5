"""What is said again in other words lies under the first memory, with its source, speaker, trust and time."""

from pathlib import Path
from typing import Any

import pytest

from undrift.core.memory.restatements import MOST_KEPT, RESTATED, restatements, times_restated
from undrift.memory.exchange import as_record
from undrift.session.session import Session
from undrift.settings import Settings

SETTINGS = Settings(embedder="none", token_counter="characters/4")


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path)


def opened(home: str, name: str = "s") -> Session:
    return Session.open(name, home=home, settings=SETTINGS)


def said_again(session: Session) -> dict[str, list[str]]:
    return {one.content: [again["content"] for again in restatements(one)] for one in session.memories()}


def test_each_restatement_keeps_its_words_source_speaker_trust_and_time(home: str):
    with opened(home) as session:
        first = session.remember("The billing service listens on port 8443.", source="readme", speaker="Ada")
        again = session.remember("billing-service port: 8443", source="chat", speaker="Bob")
        assert (again.id, again.content, again.source) == (first.id, first.content, first.source)
        (kept,) = restatements(again)
        assert {name: kept[name] for name in ("content", "source", "speaker", "trust", "session_id")} == {
            "content": "billing-service port: 8443",
            "source": "chat",
            "speaker": "Bob",
            "trust": "assistant",
            "session_id": "s",
        }
        assert kept["recorded_at_ms"] >= first.recorded_at_ms
        assert session.memories() == (again,)
        assert session.history()[-1].payload == {"memory": first.id, "superseded": []}
        before = len(session.history())
        assert session.remember("billing-service port: 8443", source="chat", speaker="Bob") == again
        assert len(session.history()) == before


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"speaker": "Ada", "content": "I live in Lisbon."}, {"speaker": "Bob", "content": "My home is in Lisbon, I live there."}),
        ({"scope": "session"}, {}),
        ({"type": "lesson_learned"}, {}),
        ({"trust": "tool"}, {"trust": "user"}),
        ({"trust": "user"}, {"trust": "tool"}),
        ({}, {"valid_to_ms": 9_000_000_000_000}),
        ({}, {"valid_from_ms": 5}),
        ({"source": "task:t1"}, {}),
        ({"metadata": {"learned": {}}}, {}),
    ],
)  # fmt: skip
def test_another_speaker_of_himself_scope_type_stratum_or_time_is_another_memory(home: str, first: Any, second: Any):
    with opened(home) as session:
        session.remember(**{"content": "Priya lives in Lisbon.", **first})
        session.remember(**{"content": "Priya's home is in Lisbon", **second})
        assert all(not one for one in said_again(session).values())
        assert len(session.memories()) == 2


def test_less_trust_lies_below_and_changes_nothing_above(home: str):
    with opened(home) as session:
        own = session.remember("Priya lives in Lisbon.", trust="user")
        again = session.remember("Priya's home is in Lisbon", trust="assistant")
        assert (again.id, again.content, again.trust) == (own.id, own.content, "user")
        assert restatements(again)[0]["trust"] == "assistant"


def test_more_trust_stands_in_front_with_its_own_words(home: str):
    with opened(home) as session:
        old = session.remember("Priya lives in Lisbon.", trust="assistant")
        new = session.remember("Priya's home is in Lisbon", trust="user")
        assert (new.content, new.trust, restatements(new)) == ("Priya's home is in Lisbon", "user", ())
        closed = next(one for one in session.memories() if one.id == old.id)
        assert (closed.contradicted_by_entry_id, closed.contradiction_rule) == (new.id, RESTATED)
        assert session.conflicts() == ()


def test_what_contradicts_anything_is_a_memory_of_its_own(home: str):
    with opened(home) as session:
        session.remember("The gateway listens on port 8080.", trust="user")
        session.remember("The gateway listens on port 9090.", trust="assistant")
        session.remember("The gateway's port: 9090", trust="user")
        assert all(not one for one in said_again(session).values())


def test_a_rewind_and_its_undoing_take_a_restatement_away_and_back(home: str):
    with opened(home) as session, opened(home, "other") as other:
        session.remember("Priya lives in Lisbon.")
        other.checkpoint("before")
        other.remember("Priya's home is in Lisbon")
        assert said_again(session) == {"Priya lives in Lisbon.": ["Priya's home is in Lisbon"]}
        other.rewind("before")
        assert said_again(session) == said_again(other) == {"Priya lives in Lisbon.": []}
        other.undo_rewind()
        assert said_again(session) == {"Priya lives in Lisbon.": ["Priya's home is in Lisbon"]}


def test_a_purged_session_leaves_no_words_under_the_memories_of_others(home: str):
    with opened(home) as session, opened(home, "other") as other:
        session.remember("Priya lives in Lisbon.")
        session.remember("Priya is based in Lisbon.", source="plan")
        other.remember("Priya's home is in Lisbon", source="zanzibar")
        assert times_restated(session.memories()[0]) == 2
        assert other.purge("session").traces == ()
        assert said_again(session) == {"Priya lives in Lisbon.": ["Priya is based in Lisbon."]}
        assert session.purge(session.memories()[0].id).traces == ()
        assert session.memories() == ()
    assert not any(word in path.read_bytes() for path in Path(home).rglob("*.db*") for word in (b"zanzibar", b"Lisbon"))


def test_what_another_session_said_stays_when_the_first_one_is_purged(home: str):
    with opened(home) as session, opened(home, "other") as other, opened(home, "third") as third:
        first = session.remember("Priya lives in Lisbon.", source="zanzibar", trust="user")
        again = other.remember("Priya's home is in Lisbon", source="plan", metadata={"page": 3})
        third.remember("Priya is based in Lisbon.", source="mail", trust="user")
        assert again.id == first.id
        done = session.purge("session")
        assert done.traces == ()
        (kept,) = other.memories()
        assert (kept.content, kept.source, kept.trust, kept.session_id) == (
            "Priya is based in Lisbon.", "mail", "user", "third",
        )  # fmt: skip
        assert said_again(session) == said_again(other) == {kept.content: ["Priya's home is in Lisbon"]}
        assert [hit.entry.id for hit in other.search("where is Priya based?")] == [kept.id] != [first.id]
        assert session.search("zanzibar") == ()
        third.purge("session")
        (last,) = other.memories()
        assert (last.content, last.source, last.metadata) == ("Priya's home is in Lisbon", "plan", {"page": 3})
        assert last.recorded_at_ms == again.metadata[RESTATED][0]["recorded_at_ms"]
        other.purge("session")
        assert other.memories() == ()
    assert not any(word in path.read_bytes() for path in Path(home).rglob("*.db*") for word in (b"zanzibar", b"Lisbon"))


def test_a_rewind_takes_back_what_stayed_of_another_session_and_its_undoing_brings_it_back(home: str):
    with opened(home) as session, opened(home, "other") as other:
        session.remember("Priya lives in Lisbon.", metadata={"conflicts": [{"with": ["x"]}]})
        other.checkpoint("before")
        other.remember("Priya's home is in Lisbon")
        session.purge("session")
        kept = other.memories()
        assert [one.content for one in kept] == ["Priya's home is in Lisbon"]
        other.rewind("before")
        assert (other.memories(), other.search("Lisbon")) == ((), ())
        other.undo_rewind()
        assert other.memories() == kept
        assert [hit.entry for hit in other.search("Lisbon")] == list(kept)
        session.memory.forget(kept[0].id)
        assert other.search("Lisbon") == ()


def test_a_large_purge_in_steps_leaves_what_others_said(home: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("undrift.stores.purge_steps._ROWS", 1)
    places = ["Lisbon", "Porto", "Lyon"]
    with opened(home) as session, opened(home, "other") as other:
        for number, place in enumerate(places):
            session.remember(f"Person{number} lives in {place}.")
            other.remember(f"Person{number}'s home is in {place}")
        session.purge("session")
        assert {one.content for one in other.memories()} == {
            f"Person{x}'s home is in {y}" for x, y in enumerate(places)
        }


def test_what_a_session_wrote_down_as_the_words_of_another_one_goes_with_it(home: str):
    forged = {
        "content": "zanzibar",
        "source": "",
        "speaker": "",
        "trust": "assistant",
        "session_id": "other",
        "recorded_at_ms": 1,
    }
    with opened(home) as session, opened(home, "other") as other:
        session.remember("Priya lives in Lisbon.", metadata={RESTATED: [forged]})
        session.purge("session")
        assert other.memories() == ()
        session.remember("Priya lives in Porto.", metadata={RESTATED: [forged]})
        other.remember("Priya's home is in Porto")
        session.purge("session")
        assert [one.content for one in other.memories()] == ["Priya's home is in Porto"]


@pytest.mark.parametrize("what", ["session", "memory"])
def test_a_memory_is_active_again_once_the_more_trusted_one_that_said_the_same_is_destroyed(home: str, what: str):
    with opened(home) as session, opened(home, "other") as other:
        first = session.remember("Priya lives in Lisbon.", trust="assistant")
        new = other.remember("Priya's home is in Lisbon", trust="user")
        assert session.memories()[0].contradicted_by_entry_id == new.id
        other.purge(what if what == "session" else new.id)
        assert session.memories() == (first,)


def test_a_memory_stays_superseded_by_what_another_session_said_again(home: str):
    with opened(home) as session, opened(home, "other") as other, opened(home, "third") as third:
        session.remember("Priya lives in Lisbon.", trust="assistant")
        other.remember("Priya's home is in Lisbon", trust="user")
        third.remember("Priya is based in Lisbon.", trust="user")
        other.purge("session")
        old, new = session.memories()
        assert (new.content, new.is_contradicted) == ("Priya is based in Lisbon.", False)
        assert old.contradicted_by_entry_id == new.id
        third.purge("session")
        assert [one.is_contradicted for one in session.memories()] == [False]


def test_an_export_reads_back_with_its_restatements_and_adds_nothing_twice(home: str, tmp_path: Path):
    with opened(home) as session:
        session.remember("Priya lives in Lisbon.", source="a")
        session.remember("Priya's home is in Lisbon", source="b")
        records = [as_record(one) for one in session.memories()]
        given = [{"content": "Priya is based in Lisbon.", "source": "c"}]
        done = session.memory.take_in(given)
        assert (done.added, done.known, done.superseded) == ((), (session.memories()[0].id,), ())
        assert session.memory.take_in(given).known == done.known
        assert times_restated(session.memories()[0]) == 2
    with opened(str(tmp_path / "another")) as other:
        other.memory.take_in(records)
        assert said_again(other) == {"Priya lives in Lisbon.": ["Priya's home is in Lisbon"]}
        edited = other.memory.edit(other.memories()[0].id, "Priya lives in Porto.")
        assert restatements(edited) == ()


def test_only_the_first_ones_keep_their_words(home: str):
    with opened(home) as session:
        entry = session.remember("Priya lives in Lisbon.")
        for number in range(MOST_KEPT + 2):
            entry = session.remember("Priya's home is in Lisbon", source=f"s{number}")
        assert (len(restatements(entry)), times_restated(entry)) == (MOST_KEPT, MOST_KEPT + 2)


def test_few_wordings_are_compared_and_none_hides_a_contradiction(home: str):
    def forged(count: int, content: str) -> dict[str, Any]:
        said = {
            "content": content,
            "source": "",
            "speaker": "",
            "trust": "user",
            "session_id": "s",
            "recorded_at_ms": 1,
        }
        return {RESTATED: [said] * count}

    with opened(home) as session:
        many = session.remember("Priya lives in Lisbon.", metadata=forged(MOST_KEPT + 9, "Priya lives by the river."))
        assert len(restatements(many)) == MOST_KEPT
        wrong = session.remember(
            "The server runs on port 5433.", metadata=forged(1, "The server runs on port 5432."), trust="user"
        )
        newer = session.remember("The server runs on port 5432", trust="user")
        assert newer.id != wrong.id
        assert [one.id for one in session.memories() if "server" in one.content and not one.is_contradicted] == [
            newer.id
        ]


@pytest.mark.parametrize("held", [5, ["x"], [{"content": 1}], [{"content": "a"}], {"content": "a"}])
def test_metadata_of_another_form_is_no_restatement(home: str, held: Any):
    with opened(home) as session:
        entry = session.remember("Priya lives in Lisbon.", metadata={RESTATED: held, "restated_more": "x"})
        assert (restatements(entry), times_restated(entry)) == ((), 0)
        again = session.remember("Priya's home is in Lisbon")
        assert times_restated(again) == 1
        session.purge("session")
