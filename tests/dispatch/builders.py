"""Plans, results and agents for the tests of dispatches; nothing here starts a program."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from undrift import Settings
from undrift.core.dispatch.classify import HeuristicComplexityClassifier
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.dispatch import DispatchRuntimeManager, Reply, RoutingTable, stored_manager
from undrift.facts import (
    InMemorySessionFactStore,
    KeywordFactRetriever,
    RuleBasedFactExtractor,
    SqliteSessionFactStore,
)

__all__ = ["Scripted", "block", "done", "in_memory", "needs_changes", "ok", "on_disk", "task"]


def block(**fields: Any) -> str:
    """What an agent prints: words, and a result."""
    return f"I looked at it.\nBEGIN_DISPATCH_RESULT\n{json.dumps(fields)}\nEND_DISPATCH_RESULT\n"


def done(task_id: str, **fields: Any) -> str:
    values: dict[str, Any] = {"task_id": task_id, "status": "completed", "summary": f"Did {task_id}."}
    return block(**(values | fields))


def ok(task_id: str, **fields: Any) -> str:
    return block(**({"task_id": task_id, "assessment": "approved"} | fields))


def needs_changes(task_id: str, *fixes: str, **fields: Any) -> str:
    return block(**({"task_id": task_id, "assessment": "needs_changes", "required_fixes": list(fixes)} | fields))


def task(task_id: str, prompt: str = "Change src/app.py so that it works.", **fields: Any) -> PlanTask:
    return PlanTask(task_id, prompt, **fields)


def in_memory(**options: Any) -> DispatchRuntimeManager:
    facts = InMemorySessionFactStore()
    return DispatchRuntimeManager(
        HeuristicComplexityClassifier(),
        RoutingTable(),
        facts,
        RuleBasedFactExtractor(),
        KeywordFactRetriever(facts),
        **options,
    )


def on_disk(home: Path, run_id: str = "run") -> tuple[DispatchRuntimeManager, SqliteSessionFactStore]:
    """A dispatcher of a run in a store; to be closed by the caller."""
    facts = SqliteSessionFactStore(home, run_id=run_id, settings=Settings())
    return stored_manager(facts, Settings()), facts


class Scripted:
    """Agents that answer what a function says, and remember what they were sent."""

    def __init__(self, answer: Callable[[CompiledPrompt], str | Reply]) -> None:
        self._answer = answer
        self.prompts: list[CompiledPrompt] = []

    @classmethod
    def of(cls, outputs: Sequence[str | Reply]) -> "Scripted":
        """Agents that give these outputs, one after the other."""
        left = list(outputs)
        return cls(lambda _: left.pop(0))

    def answer(self, prompt: CompiledPrompt) -> Reply:
        self.prompts.append(prompt)
        said = self._answer(prompt)
        return said if isinstance(said, Reply) else Reply(said)
