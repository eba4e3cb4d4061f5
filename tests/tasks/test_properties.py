"""Tasks in any order, with restarts, two agents, stacks, and a second process: what each completion lets go, by a plain model."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.stores.builders import commit
from undrift.core.tasks.life import TaskChange, change_many, completions, current, tag
from undrift.errors import StoreError, SummaryRejected, TaskError
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Moment, Tasks

IDS = ["a", "../b", "<!-- sigma-task: a -->"]
AGENTS = ["main", "second"]
ENDS = ["completed", "cancelled", "delegated", "pending"]

agents = st.sampled_from(AGENTS)
ids = st.sampled_from(IDS)
Line = tuple[int, str]


class Model:
    """What is known of one task, in words of a list: the lines it has produced since it last ended for good."""

    def __init__(self, agent: str) -> None:
        self.status = "pending"
        self.agent = agent
        self.summary = ""
        self.items: list[int] = []  # of the history, made while it was on top
        self.calls: list[str] = []
        self.let_go: list[tuple[list[int], list[str], str]] = []  # by each completion: items, calls, summary
        self.worked = False  # since it last ended for good


class AnyOrder(RuleBasedStateMachine):
    """Agents that say anything of any task at any time; what is refused must change nothing."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore.open(Path(self.folder.name) / "home")
        self.tasks = self.stale = Tasks()
        self.number = 0
        self.seen: list[str] = []
        self.owned: set[str] = set()
        self.model: dict[str, Model] = {}
        self.stacks: dict[str, list[str]] = {agent: [] for agent in AGENTS}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.integrity() == ()
            self.store.close()
            self.folder.cleanup()

    # --------------------------------------------------------------------------------------------- what agents do

    @rule(agent=agents, calls=st.integers(1, 3))
    def an_agent_works(self, agent: str, calls: int) -> None:
        """One item more in the history: every agent's topmost task covers it, the calls are those of one agent."""
        self.number += 1
        made = [f"c{self.number}-{n}" for n in range(calls)]
        self.seen += made  # the whole history comes again with each request
        seen = self.seen if self.stacks[agent] else made
        self.tasks, tags = tag(self.tasks, agent, [(one, "bash") for one in seen])
        if self.stacks[agent]:
            self.model[self.stacks[agent][-1]].calls += [one for one in self.seen if one not in self.owned]
            self.owned |= set(self.seen)
        assert bool(tags) == bool(self.stacks[agent])
        if tags:
            commit(self.store, "s", "tag", at_ms=1, tags=tags)
        for stack in self.stacks.values():
            if stack:
                self.model[stack[-1]].items.append(self.number)

    @rule(agent=agents, task_id=ids, stack=st.booleans())
    def an_agent_takes_up(self, agent: str, task_id: str, stack: bool) -> None:
        self.call(agent, [(task_id, "in_progress")], stack=stack)

    @precondition(lambda self: any(self.stacks.values()))
    @rule(data=st.data(), status=st.sampled_from(["completed", "completed", *ENDS]))
    def an_agent_lets_go_of_what_it_has_in_progress(self, data: st.DataObject, status: str) -> None:
        agent = data.draw(st.sampled_from([agent for agent, stack in self.stacks.items() if stack]))
        self.call(agent, [(data.draw(st.sampled_from(self.stacks[agent])), status)])

    @precondition(lambda self: any(known.status != "in_progress" for known in self.model.values()))
    @rule(data=st.data(), agent=agents)
    def an_agent_takes_up_what_was_there_before(self, data: st.DataObject, agent: str) -> None:
        resting = [task_id for task_id, known in self.model.items() if known.status != "in_progress"]
        self.call(agent, [(data.draw(st.sampled_from(resting)), "in_progress")], stack=True)

    @rule(agent=agents, task_id=ids, status=st.sampled_from(ENDS))
    def an_agent_lets_go(self, agent: str, task_id: str, status: str) -> None:
        self.call(agent, [(task_id, status)])

    @rule(agent=agents, task_id=ids, status=st.sampled_from(ENDS), other=ids, stack=st.booleans())
    def an_agent_lets_go_and_takes_up(self, agent: str, task_id: str, status: str, other: str, stack: bool) -> None:
        if task_id != other:
            self.call(agent, [(other, "in_progress"), (task_id, status)], stack=stack)

    @rule(agent=agents, task_id=ids, same=st.booleans())
    def an_agent_completes_again(self, agent: str, task_id: str, same: bool) -> None:
        known = self.model.get(task_id)
        if known is not None and known.status == "completed":
            self.call(agent, [(task_id, "completed")], summary=known.summary if same else "another summary than before")

    @rule(agent=agents, task_id=ids, summary=st.sampled_from(["", "done", "  " * 20]))
    def an_agent_completes_without_a_summary(self, agent: str, task_id: str, summary: str) -> None:
        known = self.model.get(task_id)
        if known is None or known.status not in ("completed", "cancelled"):
            self.call(agent, [(task_id, "completed")], summary=summary)

    @rule()
    def the_process_restarts(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(Path(self.folder.name) / "home")
        assert self.store.tasks("s") == self.tasks
        self.tasks = self.store.tasks("s")

    @rule(agent=agents, task_id=ids)
    def another_process_speaks_that_knows_only_what_was(self, agent: str, task_id: str) -> None:
        """Whatever it thinks, the store takes it only where the tasks in question are what they were."""
        fields = {"id": task_id, "content": "old", "status": "in_progress"}
        try:
            done = change_many(self.stale, agent, [fields], self.now(), stack=True)
            commit(self.store, "s", "task", at_ms=1, tasks=done.updates)
        except TaskError:
            return
        except StoreError:
            assert self.store.tasks("s") == self.tasks
            return
        for update in done.updates:
            found = self.tasks.by_id.get(update.after.id)
            ordinal = found.ordinal if found else 0
            assert found in (
                update.before and replace(update.before, ordinal=ordinal),
                replace(update.after, ordinal=ordinal),
            )
        self.tasks = self.store.tasks("s")
        if done.updates:
            self.take_up(agent, task_id)

    @rule()
    def another_process_reads(self) -> None:
        self.stale = self.tasks

    # ------------------------------------------------------------------------------------- one call, and its model

    def now(self) -> Moment:
        return Moment(f"m{self.number}", self.number)

    def call(
        self, agent: str, said: Sequence[tuple[str, str]], *, stack: bool = False, summary: str | None = None
    ) -> None:
        given = f"what came of it, seen at {self.number}" if summary is None else summary
        updates: list[dict[str, Any]] = []
        for task_id, status in said:
            fields: dict[str, Any] = {"id": task_id, "content": f"do {task_id}", "status": status}
            if status == "completed":
                fields["result_summary"] = given
            if status == "delegated":
                fields |= {"acceptance_criteria": ["tests pass"], "delegated_to": "reviewer"}
            updates.append(fields)
        expected = self.refusal(agent, said, stack, given)
        before = self.tasks
        if expected is not None:
            with pytest.raises(expected) as raised:
                change_many(before, agent, updates, self.now(), stack=stack)
            assert type(raised.value) is expected
            return
        done = change_many(before, agent, updates, self.now(), stack=stack)
        if done.updates:
            commit(self.store, "s", "task", at_ms=1, tasks=done.updates)
            self.tasks = self.store.tasks("s")
        else:
            assert done.tasks is before
        self.play(agent, said, given, done)

    def refusal(self, agent: str, said: Sequence[tuple[str, str]], stack: bool, summary: str) -> type[TaskError] | None:
        """Say which error a call gets; its rules are told here once more, and apart from the program."""
        mine = list(self.stacks[agent])
        for task_id, status in sorted(said, key=lambda one: one[1] == "in_progress"):
            known = self.model.get(task_id)
            if known is None and status in ("completed", "cancelled"):
                return TaskError
            was = known.status if known else "pending"
            of_another = known is not None and was == "in_progress" and known.agent != agent
            if of_another and status != "cancelled":
                return TaskError
            if was == "completed" and status != "in_progress":
                if status == "completed" and known is not None and summary == known.summary:
                    continue
                return TaskError
            if status == "completed":
                if was == "cancelled":
                    return TaskError
                if len(summary.strip()) < 15:
                    return SummaryRejected
            if status == "in_progress":
                if mine and mine[-1] != task_id and not stack:
                    return TaskError
            elif task_id in mine:
                mine.remove(task_id)
        return None

    def play(self, agent: str, said: Sequence[tuple[str, str]], summary: str, done: TaskChange) -> None:
        completed = []
        for task_id, status in sorted(said, key=lambda one: one[1] == "in_progress"):
            known = self.model.setdefault(task_id, Model(agent))
            if status == "in_progress":
                self.take_up(agent, task_id)
            elif known.status != "completed":
                for stack in self.stacks.values():
                    if task_id in stack:
                        stack.remove(task_id)
                known.status = status
                if status == "completed":
                    completed.append(task_id)
                    known.summary = summary
                    if known.worked:
                        known.let_go.append((known.items, known.calls, summary))
                if status != "pending":
                    known.items, known.calls, known.worked = [], [], False
        assert list(done.completed) == completed

    def take_up(self, agent: str, task_id: str) -> None:
        known = self.model.setdefault(task_id, Model(agent))
        stack = self.stacks[agent]
        if task_id in stack:
            stack.remove(task_id)
        stack.append(task_id)
        known.status, known.agent, known.worked = "in_progress", agent, True

    # ------------------------------------------------------------------------------------------ what always holds

    @invariant()
    def each_task_is_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        assert {one.id: (one.status, one.agent) for one in self.tasks.by_id.values()} == {
            task_id: (known.status, known.agent) for task_id, known in self.model.items()
        }
        for agent in AGENTS:
            top = current(self.tasks, agent)
            assert (top.id if top else None) == (self.stacks[agent][-1] if self.stacks[agent] else None)
            on = [one.id for one in self.tasks.by_id.values() if one.is_worked_on and one.agent == agent]
            assert on == self.stacks[agent][-1:]

    @invariant()
    def each_completion_lets_go_of_its_own_work_and_of_nothing_else(self) -> None:
        """R3-03, R3-06, R3-07, A3-2, A3-21"""
        if not hasattr(self, "model"):
            return
        gone: list[str] = []
        for task_id, known in self.model.items():
            found = completions(self.tasks, task_id)
            assert [(covered(one.segments), list(one.call_ids), one.summary) for one in found] == known.let_go
            gone += [call_id for one in found for call_id in one.call_ids]
        assert len(gone) == len(set(gone))
        rests = {call_id for known in self.model.values() for call_id in known.calls}
        assert not rests & set(gone)

    @invariant()
    def ordinals_are_given_once_and_for_good(self) -> None:
        """AX-5"""
        if hasattr(self, "tasks"):
            given = [one.ordinal for one in self.tasks.by_id.values() if one.segments]
            assert sorted(given) == list(range(1, len(given) + 1))


def covered(segments: Sequence[Any]) -> list[int]:
    """Return the numbers of the items that came after a segment began, and not after it had ended."""
    return [n for one in segments for n in range(one.start.number + 1, one.end.number + 1)]


TestAnyOrder: Any = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=60, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow], report_multiple_bugs=False
)


@pytest.mark.parametrize("seed", range(6))
def test_a_long_life_of_few_tasks_keeps_every_completion_apart(seed: int):
    """Far more completions, reopenings and stacks of one task than a machine that tries everything comes to."""
    draw = random.Random(seed)
    life = AnyOrder()
    life.start()
    try:
        for _ in range(150):
            agent, ends = draw.choice(AGENTS), draw.choice(["completed", "completed", *ENDS])
            busy = life.stacks[agent]
            act = draw.randrange(4 if busy else 2)
            if act == 0:
                life.an_agent_works(agent, 1)
            elif act == 1:
                life.an_agent_takes_up(agent, draw.choice(IDS), True)
            elif act == 2:
                life.call(agent, [(draw.choice(busy), ends)])
            else:
                other = draw.choice(IDS)
                if other != busy[-1]:
                    life.call(agent, [(other, "in_progress"), (busy[-1], ends)], stack=draw.random() < 0.5)
            if draw.random() < 0.02:
                life.the_process_restarts()
            life.each_task_is_what_the_model_says()
            life.each_completion_lets_go_of_its_own_work_and_of_nothing_else()
            life.ordinals_are_given_once_and_for_good()
        assert min(len(known.let_go) for known in life.model.values()) >= 2
    finally:
        life.teardown()
