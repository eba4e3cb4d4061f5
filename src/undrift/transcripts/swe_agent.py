"""Trajectories of SWE-agent (``.traj``): one JSON document. Pure.

================================================== ==========================================================
record or part                                     becomes
================================================== ==========================================================
history, system                                    ``text``, role system, type spec
history, user                                      ``text`` / ``image`` per part; after an action it is what the
                                                   environment observed: ``result``; ``meta: True`` for a
                                                   demonstration
history, assistant: content, tool_calls            ``text``, ``call`` each; arguments that are no JSON object go under
                                                   ``input``
history, assistant: content with an action         ``text`` without the action, and a ``call`` of ``shell`` whose
                                                   ``command`` is the action: the model wrote it into its text; the
                                                   call has a running number for an id
history, assistant: thinking_blocks                ``thinking`` with ``signature``; redacted: counted "encrypted
                                                   thinking"; else its reasoning_content
history, tool                                      ``result`` of the first of its tool_call_ids
history of another agent than the first            counted "side chain"
trajectory                                         counted "repeated in the trajectory": it repeats the history; where
                                                   there is no history (a file that was cut), each step's response
                                                   and observation are read as above
replay_config                                      names the model; counted "client record: replay_config"
other members of the document                      counted "client record: KEY"
anything else                                      counted "unknown record: TYPE"
================================================== ==========================================================

Beside tool_calls, `action` and `thought` are what the agent made of the message; they are left aside. SWE-agent records
neither times nor a session id.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import members, outline
from undrift.transcripts.lines import decode, list_at, object_at, printable, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "swe-agent"

_SHELL = "shell"


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines begin a trajectory of SWE-agent."""
    keys = outline(lines)
    told = {"history[].agent", "history[].message_type", "history[].thought"} & keys
    return {"trajectory[].action", "trajectory[].observation"} <= keys or ("history[].role" in keys and bool(told))


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a trajectory of SWE-agent; see `Reader.read`."""
    run = _Trajectory(Collector(FORMAT))
    steps: list[tuple[RecordPlace, Any]] = []
    for key, place, value in members(run.collector, lines, ("history", "trajectory")):
        if key == "history" and isinstance(value, dict):
            run.message(place, value)
        elif key == "trajectory":
            steps.append((place, value))
        elif key == "history":
            run.collector.skip("unknown record: (none)")
        elif key != "environment":
            if key == "replay_config":
                run.configured(value)
            run.collector.skip(f"client record: {printable(key)}")
    for place, step in steps:
        if run.agent is None and isinstance(step, dict):
            run.step(place, step)
        else:
            run.collector.skip("repeated in the trajectory")
    return run.collector.recording(count=count)


class _Trajectory:
    """Goes through the messages once."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.agent: Any = None
        self._actions = 0
        self._waiting: str | None = None  # the id of the action that is still to be answered

    def configured(self, given: Any) -> None:
        """Read the configuration, which newer versions store as text."""
        found = decode(given)[0] if isinstance(given, str) else [given] if isinstance(given, dict) else []
        for config in found:
            self.collector.name_model(object_at(object_at(config, "agent"), "model").get("name"))

    def message(self, place: RecordPlace, record: Mapping[str, Any]) -> None:
        """Add a message of the history."""
        agent = record.get("agent") or "(none)"
        if self.agent is None:
            self.agent = agent
        if agent != self.agent:
            self.collector.skip("side chain")
        else:
            self.collector.add(self._parts(record), place, None)

    def step(self, place: RecordPlace, step: Mapping[str, Any]) -> None:
        """Add a step of the trajectory, if there is no history."""
        said = {"role": "assistant", "content": step.get("response"), "action": step.get("action")}
        self.collector.add(self._parts(said), place, None)
        self.collector.add(self._parts({"role": "user", "content": step.get("observation")}), place, None)

    def _parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        role, content = text_at(record, "role"), record.get("content")
        waiting, self._waiting = self._waiting, None
        if role == "assistant":
            yield from self._assistant(record)
        elif role == "tool":
            ids = list_at(record, "tool_call_ids")
            yield from blocks.result("user", ids[0] if ids else None, content, is_error=False)
        elif role == "user" and waiting is not None:
            yield from blocks.result("user", waiting, content, is_error=False)
        elif role == "user":
            shown = record.get("is_demo") is True or record.get("message_type") == "demonstration"
            yield from blocks.contents("user", content, **({"meta": True} if shown else {}))
        elif role == "system":
            yield from blocks.contents("system", content)
        else:
            yield Skip(f"unknown record: {printable(role)}")

    def _assistant(self, record: Mapping[str, Any]) -> Iterator[Part]:
        yield from _thinking(record)
        content = record.get("content")
        calls = [call for call in list_at(record, "tool_calls") if isinstance(call, dict)]
        action = text_at(record, "action").strip()
        if calls:
            if content:
                yield from blocks.contents("assistant", content)
            for call in calls:
                function = object_at(call, "function")
                yield blocks.call(call.get("id"), function.get("name"), blocks.arguments(function.get("arguments")))
        elif action:
            before, _, after = content.rpartition(action) if isinstance(content, str) else ("", "", "")
            if before.strip() or after.strip():
                yield blocks.text("assistant", before + after)
            elif content and not isinstance(content, str):
                yield from blocks.contents("assistant", content)
            self._actions += 1
            self._waiting = f"action-{self._actions}"
            yield blocks.call(self._waiting, _SHELL, {"command": action})
        else:
            yield from blocks.contents("assistant", content)


def _thinking(record: Mapping[str, Any]) -> Iterator[Part]:
    found = list_at(record, "thinking_blocks")
    for block in found:
        thought = text_at(block, "thinking") if isinstance(block, dict) else ""
        if thought.strip():
            signature = text_at(block, "signature")
            yield RecordedBlock("thinking", "assistant", thought, extra={"signature": signature} if signature else {})
        else:
            yield Skip("encrypted thinking")
    if not found and text_at(record, "reasoning_content").strip():
        yield RecordedBlock("thinking", "assistant", text_at(record, "reasoning_content"))
