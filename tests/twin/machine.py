"""The state machines of `tests/wires`, played on twins: conversations of every form, with pauses and every setting of the turn.

``python -m tests.twin.machine REQUESTS [WIRE|tasks]... --other=PYTHON [--seed=N]``, PYTHON being an interpreter into which the
other version is installed; without it, this version is its own twin.
"""

import copy
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests import machines
from tests.builders import refusing, refusing_after
from tests.twin.twin import Other, Twin
from tests.wires.machine import MACHINES, Machine
from tests.wires.task_machine import TaskMachine
from undrift.errors import UndriftError
from undrift.settings import Settings
from undrift.settings.model_table import lookup
from undrift.testing import Call, ModelTurn, Refused, history_for
from undrift.wire.forms import form_of

__all__ = ["TWINS", "main", "play", "play_tasks", "use"]

_STEPS = 60


class _Paired:
    """What makes a machine of twins: it opens both, and time passes."""

    other: ClassVar[Other]
    settings: Settings
    now_ms = 1_000

    def opened(self) -> Any:
        """Open the session of both versions; without logs, as their texts name the home."""
        self.settings = replace(self.settings, debug_archive=False)
        return Twin(self.other, "s", self.folder.name, self.settings, lambda: self.now_ms)  # type: ignore[attr-defined]

    @rule(minutes=st.sampled_from([1, 4, 7, 70]))
    def wait(self, minutes: int) -> None:
        """Let a while pass, in which the provider's cache may go cold."""
        self.now_ms += 60_000 * minutes


def _drawn(given: dict[str, Any], data: Any, wire: str) -> dict[str, Any]:
    chosen = {
        **given,
        "prune_when": data.draw(st.sampled_from(["pauses", "cheapest", "over_budget"]), label="prune_when"),
        "policy": data.draw(st.sampled_from(["worth", "worth", "recency"]), label="policy"),
    }
    if wire == "anthropic":
        modes = ["drop_block", "drop_block", "strip", "keep", "server"]
        chosen["bound_thinking"] = data.draw(st.sampled_from(modes), label="thinking")
    return chosen


def _twin_of(machine: type[Machine]) -> type[Machine]:
    def drawn(self: Any, data: Any) -> dict[str, Any]:
        return _drawn(machine.drawn(self, data), data, self.wire)

    def send(self: Any, turn: ModelTurn) -> dict[str, Any]:
        """Send without a judgement: what is refused under these settings is another test's subject."""
        prepared = self.prepared()
        type(self).requests += 1
        self.now_ms += 500
        try:
            answered = self.simulator.send(prepared.body, prepared.headers, turn=turn, model=self.model)
        except Refused:  # an answer to something else stands in, so that the play goes on
            question = history_for(self.wire, model=self.model, **self.fields())
            question.say("?")
            answered = self.simulator.send(question.body(), turn=turn, model=self.model)
        self.session.record(answered.body, wire=self.wire)
        return dict(answered.body)

    return type(f"Twin{machine.__name__}", (_Talks, machine), {"drawn": drawn, "send": send, "requests": 0})


class _Talks(_Paired):
    """What the conversations of twins meet besides: faults at any commit, other processes, retries, broken histories."""

    earlier: list[bytes]

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """Start, with nothing sent."""
        self.earlier = []
        super().begin(data)  # type: ignore[misc]

    def prepared(self) -> Any:
        """Send the history, and keep it: it may be sent again much later."""
        machine = cast("Any", self)
        self.earlier.append(json.dumps(machine.history.body()).encode())
        return super().prepared()  # type: ignore[misc]

    def compared(self, body: Any, *, with_another: bool = False) -> None:
        """Prepare a body on both; what one refuses, both do."""
        machine = cast("Any", self)
        prepare = machine.session.prepare_with_another if with_another else machine.session.prepare
        with suppress(UndriftError):
            prepare(body, wire=machine.wire, model=machine.model)

    @rule(data=st.data())
    @precondition(lambda self: self.earlier)
    def send_an_earlier_request(self, data: Any) -> None:
        """The client sends again what it sent long ago."""
        self.compared(data.draw(st.sampled_from(self.earlier), label="earlier"))

    @rule(commits=st.integers(0, 4))
    @precondition(lambda self: self.may_ask)
    def fail_at_a_commit(self, commits: int) -> None:
        """Both stores take so many commits more, then none."""
        machine = cast("Any", self)
        with ExitStack() as stack:
            for home in machine.session.homes:
                stack.enter_context(refusing_after(Path(home), commits))
            self.compared(machine.history.body())

    @rule()
    @precondition(lambda self: self.may_ask and not self.other.is_another_version)
    def another_decides_meanwhile(self) -> None:
        """Another process decides about the same history while a turn is planned."""
        self.compared(cast("Any", self).history.body(), with_another=True)

    @rule(data=st.data(), act=st.sampled_from(["twice", "gone", "swapped"]))
    @precondition(lambda self: len(self.history) > 1)
    def send_a_broken_history(self, data: Any, act: str) -> None:
        """An item stands twice, is missing, or stands before its time."""
        machine = cast("Any", self)
        body = copy.deepcopy(machine.history.body())
        items = body[form_of(machine.wire).HISTORY]
        at = data.draw(st.integers(0, len(items) - 1), label="at")
        if act == "twice":
            items.insert(at, items[at])
        elif act == "gone":
            del items[at]
        else:
            items[at - 1], items[at] = items[at], items[at - 1]
        self.compared(body)


class TwinTasks(_Paired, TaskMachine):
    """Agents that tell of tasks, on twins; both stores fail at once."""

    def takes(self, calls: Sequence[Call], words: bool) -> Sequence[Any]:
        """Let the model answer; between two versions, one that binds its thinking does not think.

        Versions before the one that chooses tombstones behind the strip of thinking lose those of answers that begin with
        thinking: there the two differ by intent.
        """
        self.thinks = self.thinks and not (self.other.is_another_version and lookup(self.model).binds_thinking)
        return super().takes(calls, words)

    @contextmanager
    def failing(self, table: str) -> Iterator[None]:
        """Let both stores take nothing into a table."""
        with ExitStack() as stack:
            for home in cast("Any", self.session).homes:
                stack.enter_context(refusing(Path(home), table))
            yield


TWINS: dict[str, Any] = {wire: _twin_of(kind) for wire, kind in MACHINES.items()}


def use(other: Other) -> None:
    """Let all machines play against a process."""
    _Paired.other = other


def play_tasks(steps: int, first_seed: int, *, examples: int = 10, most_steps: int = 40) -> int:
    """Play the twins of sessions with tasks until so many steps were taken; return how many were.

    `examples`: at least 2, as the first takes no step. `most_steps`: of one example.
    """
    number, before = first_seed, TwinTasks.counts["step"]
    while TwinTasks.counts["step"] - before < steps:
        number += 1
        machines.play(TwinTasks, number, examples=examples, steps=most_steps, shrinks=False, said="tasks: ")
    return TwinTasks.counts["step"] - before


def play(wire: str, requests: int, first_seed: int, *, examples: int = 5) -> int:
    """Play the twins of a form until so many requests were sent; return how many were."""
    machine, number = TWINS[wire], first_seed
    while machine.requests < requests:
        number += 1
        machines.play(machine, number, examples=examples, steps=_STEPS, shrinks=False, said=f"{wire}: ")
    return int(machine.requests)


def main(arguments: list[str]) -> int:
    """Play all forms, or those named."""
    others = [one.removeprefix("--other=") for one in arguments if one.startswith("--other=")]
    first_seed, (requests, *wires) = machines.asked_for(arguments)
    with Other(*others) as other:
        use(other)
        for wire in wires or [*TWINS, "tasks"]:
            if wire == "tasks":
                print(f"tasks: {play_tasks(int(requests), first_seed)} steps, 0 differ", flush=True)
                continue
            print(f"{wire}: {play(wire, int(requests), first_seed)} requests, 0 differ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
