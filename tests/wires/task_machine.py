"""Agents that tell of tasks in any order, with restarts, faults and forks, against a provider that refuses what real ones refuse.

What may leave is reckoned by a plain model of who worked on what when; what has left is compared with the history as it
was. ``python -m tests.wires.task_machine STEPS [--seed=N]`` plays for longer and prints what was counted.
"""

import copy
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests import machines
from tests.builders import refusing
from tests.paste_settings import PasteSettings
from tests.wires.machine import MACHINES
from tests.wires.task_model import TOOL, History, Model
from undrift.errors import StoreError, TaskError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.testing import Call, ClientHistory, ModelTurn, Result, history_for, simulator_for
from undrift.values.prepared import Prepared
from undrift.values.window import Action
from undrift.wire.form import Block

__all__ = ["TaskMachine", "main", "play"]

SUMMARY = "Every file was read: the number 7 stands in each of them."
INVENTED = "The number 4711 stands in src/never_seen.py, and nothing else was found."
IDS = ("a", "../b", "<!-- sigma-task: a -->")
TABLES = ("originals", "decisions", "operations", "tags", "tasks")
STEPS = 40
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what reaches the disk is another test's subject
_FORMS = [(wire, model) for wire, kind in MACHINES.items() for model in kind.models]
_SUMMARIES = (SUMMARY, INVENTED)
_ids = st.sampled_from(IDS)


# -------------------------------------------------------------------------------------------------------- the machine
class TaskMachine(RuleBasedStateMachine):
    """The rules, and after each request all that a user was promised of tasks."""

    counts: ClassVar[Counter[str]] = Counter()
    """Of all machines so far."""

    @initialize(data=st.data(), form=st.sampled_from(_FORMS))
    def begin(self, data: Any, form: tuple[str, str]) -> None:
        self.wire, self.model = form
        self.folder = tempfile.TemporaryDirectory(dir=_MEMORY)
        self.settings: Settings = PasteSettings(
            budget_tokens=data.draw(st.sampled_from([600, 1_500, 4_000, 1_000_000]), label="budget"),
            keep_tool_results=data.draw(st.integers(1, 3), label="keep"),
            keep_user_text_tokens=40,
            token_counter="characters/4",
            eviction_respects_anchor=data.draw(
                st.sampled_from(["on_failed_validation", "never", "always"]), label="anchor"
            ),
            rolling_tool_results=data.draw(st.sampled_from([0, 0, 3]), label="rolling"),
            tombstone_share=data.draw(st.sampled_from([0.05, 1.0]), label="share"),
            finished_tasks_shown=data.draw(st.sampled_from([0, 3]), label="shown"),
            debug_archive=data.draw(st.sampled_from([False, False, True]), label="archive"),
        )
        self.simulator = simulator_for(self.wire, model=self.model)
        fields = {"thinking": {"type": "adaptive"}} if self.wire == "anthropic" else {}
        self.histories: list[ClientHistory] = [history_for(self.wire, model=self.model, tools=("Read", TOOL), **fields)]
        self.as_bytes = data.draw(st.booleans(), label="bytes")
        self.session = self.opened()
        self.tasks = Model()
        # The newest item that this process was given; empty in a new session, None after a restart, until it is given one.
        self.at: str | None = ""
        self.last: tuple[Any, Prepared] | None = None
        self.answered, self.thinks, self.words, self.results = True, True, 0, 0
        self.said: set[str] = set()

    def opened(self) -> Session:
        return Session.open("s", home=self.folder.name, settings=self.settings, clock=lambda: 1_000)

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()
            self.folder.cleanup()

    @property
    def history(self) -> ClientHistory:
        return self.histories[-1]

    @property
    def may_ask(self) -> bool:
        return bool(self.history.items) and not self.history.open and not self.answered

    # ------------------------------------------------------------------------------------------------ the conversation

    @rule(size=st.integers(0, 60))
    @precondition(lambda self: not self.history.open)
    def say(self, size: int) -> None:
        self.count("step")
        self.words += 1
        text = f"user's word {self.words} ".ljust(size, "u")
        self.said.add(text)
        self.history.say(text)
        self.answered = False

    @rule(calls=st.integers(0, 3), words=st.booleans(), thinks=st.booleans())
    @precondition(lambda self: self.may_ask)
    def ask(self, calls: int, words: bool, thinks: bool) -> None:
        self.count("step")
        self.thinks = thinks
        self.takes([Call("Read", {"path": f"{n}.py"}) for n in range(calls)], words)

    @rule(sizes=st.lists(st.integers(0, 2_000), min_size=3, max_size=3), beside=st.booleans())
    @precondition(lambda self: bool(self.history.open))
    def answer(self, sizes: list[int], beside: bool) -> None:
        self.count("step")
        self.gives(sizes)
        if beside and self.wire == "anthropic":  # in one message with the results
            self.words += 1
            self.said.add(f"word {self.words} beside results")
            part = {"type": "text", "text": f"word {self.words} beside results"}
            self.history.items[-1] = {**self.history.items[-1], "content": [*self.history.items[-1]["content"], part]}

    @rule(rounds=st.lists(st.lists(st.integers(0, 1_500), min_size=1, max_size=3), min_size=1, max_size=5))
    @precondition(lambda self: not self.history.open)
    def work(self, rounds: list[list[int]]) -> None:
        """Round after round, as an agent does that nobody interrupts."""
        if not self.may_ask:
            self.say(0)
        for sizes in rounds:
            self.ask(len(sizes), len(sizes) > 1, self.thinks)
            self.answer([*sizes, 0, 0][:3], False)

    @rule(to=st.integers(0, 10))
    @precondition(lambda self: len(self.history) > 3 and not self.history.open)
    def go_back(self, to: int) -> None:
        self.count("step")
        places = [n for n, item in enumerate(self.history.items) if n and self.begins_turn(item)]
        if places:
            self.count("go back")
            self.history.cut(places[-1 - to % len(places)])
            self.answered = True
            self.say(0)

    def begins_turn(self, item: Any) -> bool:
        """Whether the user speaks in an item of his own."""
        content = item.get("content", item.get("parts"))
        first = content[0] if isinstance(content, list) else {"text": content}
        return item.get("role") == "user" and "text" in first

    @rule()
    @precondition(lambda self: self.may_ask and len(self.histories) < 3)
    def fork(self) -> None:
        self.count("step", "fork")
        self.histories.append(self.history.fork())

    @rule()
    @precondition(lambda self: len(self.histories) > 1 and not self.history.open)
    def turn_to_the_other(self) -> None:
        self.count("step")
        self.histories.insert(0, self.histories.pop())
        self.answered = self.history.items[-1].get("role") in ("assistant", "model")

    @rule(lines=st.integers(1, 3))
    @precondition(lambda self: self.last is not None)
    def write_notes(self, lines: int) -> None:
        self.count("step", "notes")
        self.session.scratchpad.append("a note\n" * lines)
        self.last = None

    # ------------------------------------------------------------------------------------------------------- the tasks

    @rule(task_id=_ids, stack=st.booleans(), criteria=st.booleans())
    def start(self, task_id: str, stack: bool, criteria: bool) -> None:
        self.count("step")
        more: dict[str, Any] = {"acceptance_criteria": ["the number 7"]} if criteria else {}
        self.tell(task_id, "in_progress", stack=stack, content=f"do {task_id}", **more)

    @rule(data=st.data(), summary=st.sampled_from([SUMMARY, SUMMARY, INVENTED, "too short", "  " * 20]))
    @precondition(lambda self: self.tasks.stack)
    def complete(self, data: Any, summary: str) -> None:
        self.count("step")
        task_id = data.draw(st.sampled_from(self.tasks.stack[::-1]), label="task")
        self.tell(task_id, "completed", summary=summary, result_summary=summary)
        if len(summary.strip()) < 15:
            assert self.tasks.status[task_id] != "completed"

    @rule(data=st.data())
    @precondition(lambda self: self.tasks.stack and self.at and self.may_ask)
    def complete_elsewhere(self, data: Any) -> None:
        """Another process, which knows no history, completes a task; perhaps the store refuses turns before one takes note."""
        mine, at = self.session, self.at
        self.session, self.at = self.opened(), None
        self.count("completed elsewhere")
        try:
            self.complete(data, SUMMARY)
        finally:
            self.session.close()
            self.session, self.at = mine, at
        for _ in range(data.draw(st.integers(0, 2), label="refused")):
            with self.failing("tasks"):
                self.takes([], words=True)
            self.say(0)
        self.prepared()

    @rule(task_id=_ids, same=st.booleans())
    def complete_again_or_unknown(self, task_id: str, same: bool) -> None:
        self.count("step")
        known = self.tasks.summaries.get(task_id, SUMMARY)
        was = self.tasks.status.get(task_id)
        if was in (None, "completed"):
            given = known if same else known + " And more."
            accepted = self.tell(task_id, "completed", summary=given, result_summary=given)
            assert accepted == (was is not None and same)

    @rule(task_id=_ids, status=st.sampled_from(["cancelled", "delegated", "pending"]))
    @precondition(lambda self: self.tasks.status)
    def let_go(self, task_id: str, status: str) -> None:
        self.count("step")
        more: dict[str, Any] = {}
        if status == "delegated":
            more = {"acceptance_criteria": ["x"], "delegated_to": "reviewer"}
        self.tell(task_id, status, **more)

    @rule(
        task_id=_ids,
        rounds=st.lists(st.integers(0, 900), min_size=1, max_size=4),
        summary=st.sampled_from(_SUMMARIES),
        given_up=st.booleans(),
    )
    @precondition(lambda self: not self.history.open)
    def do_a_task(self, task_id: str, rounds: list[int], summary: str, given_up: bool) -> None:
        """From its beginning to its end, on top of whatever goes on; perhaps after a first try that was given up."""
        for _ in range(1 + given_up):
            if self.tasks.status.get(task_id) == "in_progress":
                self.tell(task_id, "cancelled")
            self.start(task_id, stack=True, criteria=True)
            self.work([[size] for size in rounds])
        self.tell(task_id, "completed", summary=summary, result_summary=summary)

    @rule(data=st.data(), summary=st.sampled_from(_SUMMARIES), other=_ids, size=st.integers(0, 900))
    @precondition(lambda self: self.may_ask)
    def call_the_tool(self, data: Any, summary: str, other: str, size: int) -> None:
        """The model completes what it has in progress, reads, and takes up another task, all in one message."""
        self.count("step")
        given: list[dict[str, Any]] = []
        if self.tasks.stack:
            given.append({"id": self.tasks.stack[-1], "status": "completed", "result_summary": summary})
        if data.draw(st.booleans(), label="takes up"):
            given.append({"id": other, "status": "in_progress", "content": f"do {other}"})
        calls = [Call(TOOL, one) for one in given]
        answers = self.takes([*calls[:1], Call("Read", {"path": "7.py"}), *calls[1:]], words=True)
        for one, told in zip(given, answers, strict=True):
            if not told.is_error:
                self.takes_note(one["id"], one["status"], one.get("result_summary", ""))
        self.gives([size] * 3, answers)

    def tell(self, task_id: str, status: str, *, stack: bool = False, summary: str = "", **more: Any) -> bool:
        """Change a task; what is refused must change nothing. Return whether it was accepted."""
        before = self.session.tasks()
        try:
            self.session.change_tasks([{"id": task_id, "status": status, **more}], stack=stack)
        except (TaskError, StoreError) as error:
            assert self.session.tasks() == before
            self.count(f"refused: {type(error).__name__}")
            return False
        self.takes_note(task_id, status, summary)
        return True

    def takes_note(self, task_id: str, status: str, summary: str) -> None:
        self.count(status if self.tasks.status.get(task_id) != "completed" or status == "completed" else "reopened")
        so_far = {id_ for one in self.histories if self.at is None for id_ in History(self.wire, one.body()).numbers}
        self.tasks.told(task_id, status, self.at, summary, so_far)
        self.last = None

    # ------------------------------------------------------------------------------------------------------ what fails

    @rule(then_goes_on=st.booleans())
    @precondition(lambda self: self.at)
    def restart(self, then_goes_on: bool) -> None:
        """Another process goes on; the history that was sent last makes the same window for it."""
        self.count("step", "restart")
        self.session.close()
        self.session = self.opened()
        known, self.at = self.last, None
        if self.may_ask and then_goes_on:
            body = self.history.body()
            prepared = self.prepared()
            if known is not None and known[0] == body:
                assert (prepared.body, prepared.headers) == (known[1].body, known[1].headers)
                self.count("same bytes after a restart")

    def failing(self, table: str) -> AbstractContextManager[None]:
        """Let the store take nothing into a table."""
        return refusing(Path(self.folder.name), table)

    @rule(table=st.sampled_from(TABLES), then_dies=st.booleans())
    @precondition(lambda self: self.may_ask)
    def fail_to_write(self, table: str, then_dies: bool) -> None:
        """What is decided cannot be written, between the originals and the window; perhaps the process ends then."""
        self.count("step", f"fault: {table}")
        with self.failing(table):
            self.prepared(table)
        self.last = None
        if then_dies:
            self.restart(True)

    @rule(table=st.sampled_from(["tasks", "operations"]), task_id=_ids)
    def fail_to_tell(self, table: str, task_id: str) -> None:
        self.count("step")
        with self.failing(table):
            status = "completed" if task_id in self.tasks.stack else "in_progress"
            before = self.session.tasks()
            try:
                more = {"result_summary": SUMMARY} if status == "completed" else {"content": "x"}
                self.session.change_tasks([{"id": task_id, "status": status, **more}], stack=True)
            except (StoreError, TaskError):
                self.count("fault while telling")
            assert self.session.tasks() == before

    @rule()
    @precondition(lambda self: self.may_ask)
    def die_after_deciding(self) -> None:
        """The window is decided and never sent: the next process sends the very same."""
        self.count("step", "died after deciding")
        self.prepared()
        self.restart(True)

    # ------------------------------------------------------------------------------------------- requests, and answers

    def takes(self, calls: Sequence[Call], words: bool) -> Sequence[Any]:
        """Send the history and append the model's answer; return what its calls of the task tool came to."""
        self.results += 1
        text = f"model's word {self.results}" if words or not calls else ""
        turn = ModelTurn(text, tuple(calls), f"thought {self.results}" if self.thinks else None)
        prepared = self.prepared()
        again = self.prepared()
        assert (again.body, again.headers) == (prepared.body, prepared.headers), "the same history, other bytes"
        self.count("request")
        answered = self.simulator.send(prepared.body, prepared.headers, turn=turn, model=self.model)
        told = self.session.record(answered.body, wire=self.wire).task_results
        self.history.take(answered.body)
        self.answered = True
        return told

    def gives(self, sizes: Sequence[int], told: Sequence[Any] = ()) -> None:
        answers, results = iter(told), []
        for (_, tool), size in zip(self.history.open, [*sizes, 0, 0], strict=False):
            self.results += 1
            text = f"file {self.results} holds the number 7; it stands in each of them ".ljust(size, "r")
            results.append(Result(next(answers).text if tool == TOOL else text))
        self.history.answer(results)
        self.answered = False

    def prepared(self, faulty: str = "") -> Prepared:
        given = self.history.body()
        before = copy.deepcopy(given)
        body = json.dumps(given, ensure_ascii=False).encode() if self.as_bytes else given
        prepared = self.session.prepare(body, wire=self.wire, model=self.model)
        assert given == before
        history = History(self.wire, given)
        is_tagged = not any("could not be tagged" in one for one in prepared.warnings)
        if is_tagged or faulty == "tags":
            self.tasks.begins(history)
        if is_tagged:
            self.tasks.sees(history)
        self.at = history.newest
        self.last = (before, prepared)
        excused = bool(faulty) or any("over budget" in one for one in prepared.warnings)
        assert prepared.tokens_after <= prepared.budget_tokens or excused
        assert not any("refused" in one for one in prepared.warnings) or bool(faulty), prepared.warnings
        self.check(history, prepared)
        return prepared

    # ------------------------------------------------------------------------------------------------- what must hold

    def check(self, history: History, prepared: Prepared) -> None:
        pruned_calls = 0
        for action in prepared.actions:
            if action.kind in ("pinned", "noted") or action.entry_id not in history.blocks:
                continue  # ours: nobody else has its original
            role, block = history.blocks[action.entry_id]
            assert self.session.recall(action.ref) == block.text, "a lost original"
            pruned_calls += block.kind == "call"
            assert not (role == "user" and block.kind == "text"), "a user's text has left"
            if action.kind == "evicted":
                self.must_be_finished(action, role, block, history)
        if self.settings.eviction_respects_anchor == "never" and not prepared.warnings:
            self.nothing_finished_stays(history, {action.entry_id for action in prepared.actions})
        sent = prepared.body if isinstance(prepared.body, dict) else json.loads(prepared.body)
        shown = History(self.wire, sent)
        assert len(shown.calls) == len(history.calls) - pruned_calls, "a call has left that was not pruned"
        texts = iter([block.text for role, block in shown.blocks.values() if role == "user" and block.kind == "text"])
        for text in self.users_words(history):
            assert any(text in one for one in texts), f"{text!r} is not sent"

    def must_be_finished(self, action: Action, role: str, block: Block, history: History) -> None:
        """What was evicted belongs to a completed task, or it rolled out of an open one."""
        self.counts["evicted, counted at each request"] += 1
        if block.kind == "result":
            owner = self.tasks.owners.get(history.call_of[action.entry_id])
            rolls = self.settings.rolling_tool_results > 0
            assert owner is not None, "wrong: a result of no task"
            assert owner in self.tasks.completed or rolls, f"wrong: a result of {owner}"
            return
        assert (role, block.kind in ("text", "thinking")) == ("assistant", True), f"wrong: {role} {block.kind}"
        number = history.numbers[action.entry_id.rpartition(".")[0]]
        assert self.tasks.may_lose_words(number, history), "wrong: words of no completed task"

    def nothing_finished_stays(self, history: History, acted: set[str]) -> None:
        """Where no result is anchored, all that the model has seen of completed tasks has left."""
        answers = [
            history.numbers[key.rpartition(".")[0]] for key, (role, _) in history.blocks.items() if role == "assistant"
        ]
        for result, call in history.call_of.items():
            is_seen = history.numbers[result.rpartition(".")[0]] < max(answers)
            if is_seen and self.tasks.owners.get(call) in self.tasks.completed:
                assert result in acted, "missed: a result of a completed task"
                self.counts["finished results that have left, at each request"] += 1

    def users_words(self, history: History) -> Iterator[str]:
        for role, block in history.blocks.values():
            if role == "user" and block.kind == "text" and block.text in self.said:
                yield block.text

    def count(self, *what: str) -> None:
        type(self).counts.update(what)


# ------------------------------------------------------------------------------------------------------------ running
def play(steps: int, first_seed: int) -> Counter[str]:
    """Play until so many steps were taken; return what was counted.

    Raises:
        AssertionError: A promise was broken; Hypothesis has printed the steps, this prints the seed.
    """
    number, before = first_seed, Counter(TaskMachine.counts)
    while TaskMachine.counts["step"] - before["step"] < steps:
        number += 1
        machines.play(TaskMachine, number, examples=10, steps=STEPS, report_multiple_bugs=False)
    return TaskMachine.counts - before


def main(arguments: list[str]) -> int:
    """Play the steps that are asked for, and print what was counted."""
    first_seed, (steps,) = machines.asked_for(arguments)
    found = play(int(steps), first_seed)
    print(f"{found['step']} steps, {found['request']} requests: 0 wrong evictions, 0 lost originals, 0 refused")
    print(", ".join(f"{what} {count}" for what, count in sorted(found.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
