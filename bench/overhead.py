"""What a whole `Session.prepare` costs on a long history in which only the last turn is new.

Law: the history is synthetic, made of text of the standard library; nothing of the user's is read.
"""

import importlib
import itertools
import json
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Literal
from uuid import uuid4

from bench.figures import Claim, Report, cpu_ms, interleaved, ratio_claim
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.prepared import Prepared

__all__ = ["conversation", "measure"]

MESSAGES = 1_000
CHARACTERS = 1_000_000
LIMIT_MS = 10.0
NEVER = 10**12  # a budget in tokens that no history reaches

Form = Literal["dict", "bytes"]
FORMS: tuple[Form, Form] = ("dict", "bytes")


def measure(rounds: int = 9) -> Report:
    """Measure turns below the budget, above it, and those that prune, beside the peers that are installed.

    Args:
        rounds: Of each figure.

    Source: PERFORMANCE section 1.
    """
    report = Report()
    with tempfile.TemporaryDirectory() as home, ExitStack() as sessions:
        measures: dict[str, Callable[[], float]] = {}
        for form in FORMS:
            for name, share in (("below the budget", None), ("earlier decisions re-applied", 0.5)):
                client = _history(form)
                session = sessions.enter_context(
                    _open(home, NEVER if share is None else int(share * _tokens(home, client)))
                )
                measures[f"prepare, {form}, {name}"] = _turns(session, client, share)
        ours = list(measures)
        for form in FORMS:
            measures[f"prepare, {form}, the turn that prunes"] = _pruning_turn(home, form)
            measures[f"prepare, {form}, first sight of the whole history"] = _first_turn(home, form)
        peers, report.skipped = _peers()
        measures |= peers
        found = {figure.name: figure for figure in interleaved(rounds, measures, "ms")}
    report.figures += found.values()
    report.claims += [
        Claim(f"{name}, only the last turn new", found[name].median, "ms", limit=LIMIT_MS) for name in ours
    ]
    report.claims += [
        ratio_claim(f"{peer} against {name}", found[peer], found[name]) for peer in peers for name in ours
    ]
    return report


# ------------------------------------------------------------------------------------------------------- the conversation


def conversation(seed: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the messages of an agent's session without end: an order of the user, then calls of tools and results.

    What the tools return is text of the standard library's own sources; a message has 1,000 characters on average.
    """
    random, pages = Random(seed), _pages(seed)
    for number in itertools.count():
        if number % 20 == 0:
            order = f"Step {number}: the next module fails under load.\n" + next(pages)[: random.randint(50, 900)]
            yield {"role": "user", "content": [{"type": "text", "text": order}]}
            yield {"role": "assistant", "content": [{"type": "text", "text": "I read the code first."}, _call(number)]}
        else:
            thought = " ".join(next(pages)[: random.randint(40, 400)].split())
            yield {"role": "assistant", "content": [{"type": "text", "text": f"So: {thought}"}, _call(number)]}
        size = min(int(random.lognormvariate(6.8, 1.1)), 12_000)
        result = f"exit code 0\n{next(pages)[:size]}"
        yield {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number:06}", "content": result}],
        }


def _call(number: int) -> dict[str, Any]:
    command = f"sed -n '{number},{number + 40}p' src/module_{number % 97}.py"
    return {"type": "tool_use", "id": f"toolu_{number:06}", "name": "bash", "input": {"command": command}}


def _pages(seed: int) -> Iterator[str]:
    """Yield pieces of 12,000 characters of the standard library's sources, in an order that a seed gives."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in folder.glob("*.py") if path.stat().st_size > 20_000)
    Random(seed).shuffle(files)
    for path in itertools.cycle(files):
        text = path.read_text(encoding="utf-8", errors="replace")
        yield from (text[start : start + 12_000] for start in range(0, len(text), 12_000))


@dataclass(slots=True)
class _Client:
    """A client that sends its whole history each turn, which ends in what the model has to answer."""

    form: Form
    stream: Iterator[dict[str, Any]] = field(default_factory=conversation)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def grow(self, count: int) -> None:
        self.messages += itertools.islice(self.stream, count)
        while self.messages[-1]["role"] != "user":
            self.messages.append(next(self.stream))

    def turn(self) -> None:
        """Take the model's answer and the result of its call: two messages (three where the user speaks)."""
        self.grow(2)

    def body(self) -> Any:
        """Build the request as it is sent; its messages are new objects where they come as bytes."""
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 8_000,
            "system": "You are a careful engineer. " * 40,
            "tools": [{"name": "bash", "description": "Run a command.", "input_schema": {"type": "object"}}],
            "messages": list(self.messages),
        }
        return json.dumps(body).encode() if self.form == "bytes" else body


def _history(form: Form) -> _Client:
    client = _Client(form)
    client.grow(MESSAGES)
    size = sum(len(json.dumps(m)) for m in client.messages)
    if not 0.8 * CHARACTERS < size < 1.3 * CHARACTERS:
        raise AssertionError(f"the conversation has {size:,} characters, not about {CHARACTERS:,}")
    return client


# ------------------------------------------------------------------------------------------------------------- the measures


def _open(home: str, budget_tokens: int) -> Session:
    """Open a session in a home of its own: in one home it would share what another one decided about this history."""
    own = str(Path(home) / uuid4().hex)
    return Session.open("bench", home=own, settings=Settings(budget_tokens=budget_tokens))


def _tokens(home: str, client: _Client) -> int:
    with _open(home, NEVER) as session:
        return session.prepare(client.body()).tokens_before


def _turns(session: Session, client: _Client, share: float | None) -> Callable[[], float]:
    """One turn after the other of one session; with a `share` of its tokens as the budget most of it has left before."""
    first = session.prepare(client.body())
    if bool(first.actions) is (share is None):
        raise AssertionError(f"{len(first.actions)} actions on the first turn with a share of {share}")
    known = len(first.actions)

    def measure_once() -> float:
        nonlocal known
        while True:
            client.turn()
            cost, prepared = _timed(session, client.body())
            fresh, known = len(prepared.actions) - known, len(prepared.actions)
            if share is None and prepared.tokens_after != prepared.tokens_before:
                raise AssertionError("something left below the budget")
            if not fresh:  # the turns on which something leaves are measured apart
                return cost

    measure_once()
    return measure_once


def _pruning_turn(home: str, form: Form) -> Callable[[], float]:
    """The turn whose last message takes the window above the budget: a batch leaves, and is on disk at the end."""

    def measure_once() -> float:
        client = _history(form)
        with _open(home, _tokens(home, client)) as session:
            if session.prepare(client.body()).actions:
                raise AssertionError("something left before the budget was exceeded")
            client.turn()
            cost, prepared = _timed(session, client.body())
            if not prepared.actions:
                raise AssertionError("nothing left although the budget was exceeded")
            return cost

    measure_once()
    return measure_once


def _first_turn(home: str, form: Form) -> Callable[[], float]:
    """A restart in mid-session: every message is read, counted and compared for the first time."""

    def measure_once() -> float:
        client = _history(form)
        with _open(home, NEVER) as session:
            return _timed(session, client.body())[0]

    return measure_once


def _timed(session: Session, body: Any) -> tuple[float, Prepared]:
    answers: list[Prepared] = []
    cost = cpu_ms(lambda: answers.append(session.prepare(body)))
    return cost, answers[0]


# ---------------------------------------------------------------------------------------------------------------- the peers

TRIM = "langchain_core trim_messages, approximate, half of the tokens"
CLEAR = "langchain ClearToolUsesEdit, approximate, above half of the tokens, 5 results kept"


def _peers() -> tuple[dict[str, Callable[[], float]], list[str]]:
    """Return what measures each peer that is installed, on the same messages in its own form; and why not the others."""
    try:
        core = importlib.import_module("langchain_core.messages")
        utils = importlib.import_module("langchain_core.messages.utils")
    except ImportError as error:
        return {}, [f"langchain_core is not installed ({error}): pip install langchain-core langchain to measure both"]
    messages = [m for message in _history("dict").messages for m in _converted(core, message)]
    half = utils.count_tokens_approximately(messages) // 2
    acts = {TRIM: _trim(core, messages, half)}
    skipped = []
    try:
        editing = importlib.import_module("langchain.agents.middleware.context_editing")
    except ImportError as error:
        skipped.append(f"langchain is not installed ({error}): pip install langchain to measure it as well")
    else:
        acts[CLEAR] = _clear(editing, messages, half, utils.count_tokens_approximately)
    for act in acts.values():
        act()
    return {name: partial(cpu_ms, act) for name, act in acts.items()}, skipped


def _trim(core: Any, messages: list[Any], half: int) -> Callable[[], None]:
    def act() -> None:
        kept = core.trim_messages(messages, max_tokens=half, token_counter="approximate")
        if not 0 < len(kept) < len(messages):
            raise AssertionError(f"the peer kept {len(kept)} of {len(messages)} messages")

    return act


def _clear(editing: Any, messages: list[Any], half: int, count_tokens: Any) -> Callable[[], None]:
    """The edit alone: the middleware around it copies all messages deeply as well, at each call of the model."""
    edit = editing.ClearToolUsesEdit(trigger=half, keep=5)

    def act() -> None:
        edited = list(messages)  # it puts new messages into the list, and changes none
        edit.apply(edited, count_tokens=count_tokens)
        if all(one is other for one, other in zip(messages, edited, strict=True)):
            raise AssertionError("the peer cleared nothing")

    return act


def _converted(peer: Any, message: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a message in the peer's form: one for the text, one for each result."""
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    calls = [part for part in message["content"] if part["type"] == "tool_use"]
    if message["role"] == "assistant":
        tool_calls = [{"name": c["name"], "args": c["input"], "id": c["id"]} for c in calls]
        yield peer.AIMessage(content="\n".join(texts), tool_calls=tool_calls)
        return
    for part in message["content"]:
        if part["type"] == "tool_result":
            yield peer.ToolMessage(content=part["content"], tool_call_id=part["tool_use_id"])
    if texts:
        yield peer.HumanMessage(content="\n".join(texts))
