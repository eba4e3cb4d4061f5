"""Every public call and every hook on hostile inputs of up to a megabyte: ``python -m tests.cost.calls [PAIRS]``.

Prints the pairs of call and input that take more than `MOST_SECONDS` of the processor, on a machine as fast as the
reference; the exit code is 1 if there are any. PAIRS: only so many of them, drawn by a fixed seed.
"""

import json
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.cost.hostile import BODIES, SESSIONS, TEXTS, turn
from tests.house.test_expression_cost import REFERENCE_SECONDS, reference
from undrift import Session, Settings, UndriftError, trim
from undrift.hooks.answer import answer
from undrift.hooks.call import Options

__all__ = ["CALLS", "MOST_SECONDS", "main", "pairs", "seconds_of"]

MOST_SECONDS = 2.0
_SEED = 7

Call = Callable[[Session, str], object]
Pair = tuple[str, Callable[[], float]]


def _reply(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    content = [{"type": "text", "text": text}]
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}


def _prepare(session: Session, text: str) -> object:
    return session.prepare(turn(text))


def _prepare_and_begin(session: Session, text: str) -> object:
    session.start_task("T", acceptance_criteria=("tests pass",))
    return session.prepare(turn(text))


def _tell(session: Session, text: str) -> object:
    return session.remember("The port is 8080.", trust="user")


def _nothing(session: Session, text: str) -> object:
    return None


CALLS: dict[str, tuple[Call, Call]] = {
    "prepare": (_nothing, _prepare),
    "prepare again": (_prepare, _prepare),
    "record": (_nothing, lambda session, text: session.record(_reply(text))),
    "remember": (_nothing, lambda session, text: session.remember(text)),
    "remember 10,000 characters": (_tell, lambda session, text: session.remember(text[:10_000], trust="user")),
    "search": (_tell, lambda session, text: session.search(text)),
    "brief": (_tell, lambda session, text: session.brief(text, 500)),
    "find": (_prepare, lambda session, text: session.find(text)),
    "complete_task": (_prepare_and_begin, lambda session, text: session.complete_task("T", text)),
    "pin": (_nothing, lambda session, text: session.pin("spec", text)),
    "trim": (_nothing, lambda session, text: trim(turn(text)["messages"], 20_000)),
}
"""By name: what is done before, and the call that is measured."""


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor's seconds of some work, on a machine as fast as the reference; an answer in words is fine."""
    speed = reference() / REFERENCE_SECONDS
    started = time.process_time()
    with suppress(UndriftError):
        work()
    return (time.process_time() - started) / speed


def _in_session(before: Call, call: Call, text: Callable[[], str]) -> float:
    given = text()
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=home, budget_tokens=20_000, embedder="none")
        with Session.open("s", home=home, settings=settings) as session:
            with suppress(UndriftError):
                before(session, given)
            return seconds_of(lambda: call(session, given))


def _prepared(wire: str, body: Callable[[], dict[str, Any]]) -> float:
    given = body()
    return _in_session(_nothing, lambda session, _: session.prepare(given, wire=wire), str)


def _hooked(event: str, lines: Callable[[], str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "projects", "w", "s1.jsonl")
        path.parent.mkdir(parents=True)
        path.write_text(lines(), encoding="utf-8")
        payload = {"hook_event_name": event, "session_id": "s1", "transcript_path": str(path), "cwd": folder}
        given = json.dumps({**payload, "source": "compact", "prompt": "go on", "trigger": "auto"}).encode()
        options = Options(home=f"{folder}/home", client_home=folder, now=True)
        return seconds_of(lambda: answer(event, given, options))


def pairs() -> Iterator[Pair]:
    """Yield every pair of a call and an input, by name, with what measures it."""
    for call, (before, work) in CALLS.items():
        for text, given in TEXTS.items():
            yield f"{call}: {text}", partial(_in_session, before, work, given)
    for shape, (wire, body) in BODIES.items():
        yield f"prepare: {shape}", partial(_prepared, wire, body)
    for event in ("PreCompact", "SessionStart", "UserPromptSubmit"):
        for session, lines in SESSIONS.items():
            yield f"{event}: {session}", partial(_hooked, event, lines)


def main(arguments: list[str]) -> int:
    """Measure all pairs, or as many as the arguments say; return the exit code."""
    logging.getLogger("undrift").addHandler(logging.NullHandler())
    given = list(pairs())
    if arguments:
        random.Random(_SEED).shuffle(given)
        given = given[: int(arguments[0])]
    slow, most, named = [], 0.0, ""
    for name, measure in given:
        seconds = measure()
        if seconds > MOST_SECONDS:
            seconds = min(seconds, measure(), measure())  # perhaps the machine was busy
        if seconds > MOST_SECONDS:
            slow.append(f"{name}: {seconds:.1f} s")
        if seconds > most:
            most, named = seconds, name
    print(
        *slow, f"{len(given)} pairs, {len(slow)} above {MOST_SECONDS:g} s; the longest {most:.2f} s ({named})", sep="\n"
    )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
