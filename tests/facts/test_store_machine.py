"""A store of facts against a plain model: any order of acts, no difference, every index as if it were rebuilt."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.facts.builders import Clock, fact
from undrift.core.facts.book import FactBook
from undrift.core.facts.changes import EndedFacts, FactBatch
from undrift.core.facts.retrieve import retrieve, wanted
from undrift.facts import InMemorySessionFactStore, KeywordFactRetriever, SqliteSessionFactStore
from undrift.settings import Settings
from undrift.values.facts import FactQuery, SessionFact

SUBJECTS = st.sampled_from(["a.py", "b.py", "task:1", "task:2"])
RELATIONS = st.sampled_from(["modified_by", "summary", "requires", "must_fix", "issue", "odd"])
OBJECTS = st.sampled_from(["task:1", "task:2", "fix the login", "login by token"])
TASKS = st.sampled_from(["1", "2"])
ROLES = st.sampled_from(["implementer", "reviewer"])
TAGS = st.lists(st.sampled_from(["error", "test", "decision"]), max_size=2)
FACTS = st.builds(
    lambda subject, relation, about, task, role, tags, back: fact(
        subject, relation, about, task=task, role=role, tags=tuple(tags), valid_from=back
    ),
    SUBJECTS, RELATIONS, OBJECTS, TASKS, ROLES, TAGS, st.integers(0, 3_000),
)  # fmt: skip
ENDED = st.one_of(
    st.builds(EndedFacts, RELATIONS, SUBJECTS),
    st.builds(lambda relation, role, task: EndedFacts(relation, None, role, task), st.sampled_from(["requires", "must_fix", "issue"]), ROLES, TASKS),
)  # fmt: skip
MANY = {"requires", "must_fix", "issue"}


class Model:
    """Versions as dictionaries in a list, and each rule as it is written in the requirements."""

    def __init__(self) -> None:
        self.versions: list[dict[str, Any]] = []
        self.number = 0

    def valid(self) -> list[dict[str, Any]]:
        return [one for one in self.versions if one["to"] is None]

    def add(self, facts: list[SessionFact], ended: list[EndedFacts], now: int) -> None:
        said = {one.triple for one in facts}
        for one in self.valid():
            old = one["fact"]
            replaced = any(
                old.relation == new.relation
                and old.relation in MANY
                and old.source_role == new.source_role
                and (
                    old.source_task_id == new.source_task_id or (old.relation == "issue" and old.subject == new.subject)
                )
                for new in facts
            )
            gone = any(
                old.relation == end.relation
                and (
                    old.subject == end.subject
                    if end.subject is not None
                    else (old.source_role, old.source_task_id) == (end.source_role, end.source_task_id)
                )
                for end in ended
            )
            if (replaced or gone) and old.triple not in said:
                self.end(one, now)
        before = {one["number"] for one in self.versions}
        for new in facts:
            alike = [o for o in self.valid() if (o["fact"].subject, o["fact"].relation) == (new.subject, new.relation)]
            same = next((one for one in alike if one["fact"].object == new.object), None)
            for one in alike:
                if one is not same and new.relation not in MANY:
                    self.end(one, now)
            if same is None:
                self.number += 1
                self.versions.append({"number": self.number, "fact": new, "to": None, "seen": new.valid_from})
            elif same["number"] in before:
                same["seen"] = max(same["seen"], now)

    def end(self, one: dict[str, Any], now: int) -> None:
        one["to"] = max(now, one["fact"].valid_from)

    def compact(self, most: int) -> None:
        valid = sorted(self.valid(), key=lambda one: (one["seen"], one["number"]))
        ended = sorted((o for o in self.versions if o["to"] is not None), key=lambda one: (one["to"], one["number"]))
        gone = (
            ended + valid[: len(valid) - most] if len(valid) > most else ended[: max(0, len(self.versions) - 4 * most)]
        )
        self.versions = [one for one in self.versions if one not in gone]


class FactStoreMachine(RuleBasedStateMachine):
    """`make` gives the store under test."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.model = Model()
        self.store = self.make()

    def make(self) -> Any:
        return InMemorySessionFactStore(clock=self.clock)

    @rule(facts=st.lists(FACTS, max_size=4), ended=st.lists(ENDED, max_size=1))
    def add(self, facts: list[SessionFact], ended: list[EndedFacts]) -> None:
        self.store.add(FactBatch(facts, ended))
        self.model.add(facts, ended, self.clock.at_ms)

    @rule(subject=SUBJECTS, relation=RELATIONS)
    def invalidate(self, subject: str, relation: str) -> None:
        self.store.invalidate(subject, relation)
        self.model.add([], [EndedFacts(relation, subject)], self.clock.at_ms)

    @rule(most=st.integers(0, 6))
    def compact(self, most: int) -> None:
        self.store.compact(most)
        self.model.compact(most)

    @rule(later=st.integers(-200, 500))
    def move_the_clock(self, later: int) -> None:
        self.clock.at_ms = max(0, self.clock.at_ms + later)

    @invariant()
    def the_versions_are_those_of_the_model(self) -> None:
        found = [(v.sequence, v.fact.triple, v.fact.valid_to, v.fact.seen) for v in self.store.history()]
        assert found == [(o["number"], o["fact"].triple, o["to"], o["seen"]) for o in self.model.versions]
        valid = [one["fact"].triple for one in self.model.valid()]
        assert [one.triple for one in self.store.get_valid()] == valid
        assert self.store.count() == len(valid)
        for tag in ("error", "test", "decision"):
            tagged = [one["fact"].triple for one in self.model.valid() if tag in one["fact"].tags]
            assert [one.triple for one in self.store.get_valid_by_tags([tag])] == tagged

    @invariant()
    def every_index_is_as_if_it_were_made_anew(self) -> None:
        book = self.store._book
        again = FactBook(book.versions)
        for name in ("_versions", "_valid", "_by_key", "_by_batch", "_by_tag"):
            assert getattr(book, name) == getattr(again, name), name
        assert {
            key for index in (book._by_key, book._by_batch, book._by_tag) for key, held in index.items() if not held
        } == set()

    @invariant()
    def the_index_of_words_gives_what_a_look_at_each_fact_gives(self) -> None:
        for asked in (FactQuery("fix the login of task 1", "2", max_facts=3), FactQuery("a.py", "", tags=("error",))):
            found = KeywordFactRetriever(self.store).retrieve(asked)
            assert found == retrieve(self.store.get_valid(), wanted(asked))


class SqliteMachine(FactStoreMachine):
    """The same on disk, with restarts and rewinds."""

    def make(self) -> Any:
        self.home = Path(tempfile.mkdtemp())
        self.then: list[tuple[int, list[Any]]] = []
        return self.opened()

    def opened(self) -> SqliteSessionFactStore:
        return SqliteSessionFactStore(self.home, settings=Settings(), clock=self.clock)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.opened()

    @rule()
    def remember(self) -> None:
        self.then.append((self.store.store.last_seq("default"), list(self.store.history())))

    @precondition(lambda self: self.then)
    @rule(data=st.data())
    def every_moment_can_be_asked(self, data: st.DataObject) -> None:
        seq, versions = data.draw(st.sampled_from(self.then))
        assert list(self.store.history(as_of=seq)) == versions

    @precondition(lambda self: self.then)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        seq, versions = data.draw(st.sampled_from(self.then))
        self.store.rewind(seq)
        assert list(self.store.history()) == versions
        self.model.versions = [
            {"number": v.sequence, "fact": v.fact, "to": v.fact.valid_to, "seen": v.fact.seen} for v in versions
        ]
        self.store.rewind(seq)  # the same again changes nothing

    def teardown(self) -> None:
        assert self.store.store.integrity() == ()
        self.store.close()
        shutil.rmtree(self.home)


@pytest.mark.parametrize(("machine", "examples", "steps"), [(FactStoreMachine, 60, 30), (SqliteMachine, 8, 20)])
def test_a_store_does_what_the_plain_model_does(machine: type[FactStoreMachine], examples: int, steps: int):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
