"""Recorded sessions, sent turn by turn in every form to providers that refuse what real ones refuse.

``python -m tests.wires.sessions FOLDER [WIRE]... [--budgets .5 .3 .2] [--jobs 2]``: every recording below the folder is
turned into what was said, called and answered, and played through a client's own history, `Session.prepare` and the
provider. The model thinks on every turn. One line for each form and budget; exit code 1 when a promise was broken.
"""

import argparse
import hashlib
import itertools
import json
import logging
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from undrift import transcripts
from undrift.errors import UndriftError
from undrift.recordings.replay.history import ReplayedHistory, history_of
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.testing.histories import ClientHistory, Result, history_for
from undrift.testing.simulators import (
    Call,
    ModelTurn,
    Refused,
    simulator_for,
)
from undrift.values.prepared import Prepared
from undrift.wire.forms import WIRES, form_of

__all__ = ["Outcome", "Script", "full_tokens", "main", "play", "script_of", "summary"]

NEVER = 10**12  # a budget in tokens that no history reaches
RESTART_EVERY = 25
LOOK_EVERY = 10
LONG = 100
"""Sessions of more turns than this tell how often what was sent is rewritten."""

MODELS = {
    "anthropic": ("claude-opus-5-5",),
    "openai-chat": ("gpt-5.5", "gemini-3.1-pro"),
    "openai-responses": ("gpt-5.5",),
    "gemini": ("gemini-3.1-pro",),
}
_MUST_STAY = re.compile(r"over budget: what must stay is ([\d,]+) tokens of ([\d,]+), the window ([\d,]+)")
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what reaches the disk is another test's subject


@dataclass(frozen=True, slots=True)
class Turn:
    """What comes in before the model's answer, and that answer."""

    results: tuple[Result, ...]
    said: tuple[str, ...]
    answer: ModelTurn


@dataclass(frozen=True, slots=True)
class Script:
    """A recorded session in no provider's form."""

    name: str
    system: str
    tools: tuple[str, ...]
    turns: tuple[Turn, ...]


@dataclass(slots=True)
class Outcome:
    """What became of one session in one form at one budget.

    Args:
        share: The budget as a share of the session's largest request.
        refused: The provider's words, or ours where `prepare` raised; the session ends there.
        dropped: Turns with a warning that an edit would have been refused.
        over: Turns above the budget.
        must: Those of them on which what must stay is more than the budget.
        beyond: Those of these on which more than that was sent.
        held: Those of them on which bound thinking held a rewriting back.
        changed: Requests whose body `prepare` had changed in place.
        restarts: How often the same history was prepared again after a restart.
        differing: How often that gave other bytes.
        rewrites: Requests that differ from the one before it ahead of that one's end.
        late: Those of them in which that begins at the model's newest answer there, so that the cache loses little.
        edited: Requests that did not go out as they came.
    """

    name: str
    wire: str
    share: float
    turns: int
    requests: int = 0
    refused: list[str] = field(default_factory=list)
    dropped: int = 0
    over: int = 0
    must: int = 0
    beyond: int = 0
    held: int = 0
    shortened: int = 0
    changed: int = 0
    restarts: int = 0
    differing: int = 0
    rewrites: int = 0
    late: int = 0
    edited: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    fresh_tokens: int = 0
    seconds: float = 0.0

    @property
    def is_kept(self) -> bool:
        """Whether every promise was kept."""
        return not (self.refused or self.dropped or self.over - self.must or self.changed or self.differing)

    @property
    def rewrites_each_20(self) -> float:
        return 20 * self.rewrites / max(1, self.requests)

    @property
    def early_each_20(self) -> float:
        return 20 * (self.rewrites - self.late) / max(1, self.requests)


# ----------------------------------------------------------------------------------------------------------- the scripts
def script_of(path: Path) -> Script:
    """Read a recording; one without an answer of the model gives no turns."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        history = history_of(transcripts.read(lines))
    turns = tuple(_turns(history))
    tools = sorted({call.name for turn in turns for call in turn.answer.calls}) or ["Read"]
    return Script(path.name, "\n".join(e.content for e in history.system) or "Be brief.", tuple(tools), turns)


def _turns(history: ReplayedHistory) -> Iterator[Turn]:
    results: list[Result] = []
    said: list[str] = []
    for message in history.messages:
        blocks = message["content"]
        if message["role"] == "user":
            found = [b for b in blocks if b["type"] == "tool_result"]
            results += [Result(b["content"], b.get("is_error", False)) for b in found]
            said += [b["text"] for b in blocks if b["type"] == "text"]
            continue
        calls = tuple(Call(_tool(b["name"]), _object(b["input"])) for b in blocks if b["type"] == "tool_use")
        words = "\n".join(b["text"] for b in blocks if b["type"] == "text")
        thought = "I weigh what that means. " * (1 + len(words) % 12)
        yield Turn(tuple(results), tuple(said), ModelTurn(words, calls, thought))
        results, said = [], []


def _tool(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:60]


def _object(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {"input": given}


# --------------------------------------------------------------------------------------------------- client and provider
def _client(script: Script, wire: str, model: str) -> ClientHistory:
    fields = {"thinking": {"type": "adaptive"}} if wire == "anthropic" else {}
    return history_for(wire, model=model, system=script.system, tools=script.tools, **fields)


def _ask(history: ClientHistory, turn: Turn) -> None:
    if turn.results:
        history.answer(turn.results)
    for text in turn.said:
        history.say(text)


def full_tokens(script: Script, wire: str, model: str) -> int:
    """Return the largest request of a session that was never managed, in the session's own count."""
    history, provider = _client(script, wire, model), simulator_for(wire, model=model)
    question = _client(script, wire, model)
    question.say("?")
    for turn in script.turns[:-1]:
        _ask(history, turn)
        history.take(provider.send(question.body(), turn=turn.answer, model=model).body)
    _ask(history, script.turns[-1])
    with tempfile.TemporaryDirectory(dir=_MEMORY) as home, _opened(home, NEVER, {}) as session:
        return session.prepare(history.body(), wire=wire, model=model).tokens_before


def _opened(home: str, budget_tokens: int, chosen: Mapping[str, Any]) -> Session:
    settings = Settings(budget_tokens=budget_tokens, token_counter="characters/4", **chosen)
    return Session.open("s", home=home, settings=settings, clock=lambda: 1_000)


# -------------------------------------------------------------------------------------------------------------- the play
class _Player:
    """One session of one client, with all that is held of it."""

    def __init__(
        self, script: Script, wire: str, model: str, home: str, budget_tokens: int, chosen: Mapping[str, Any]
    ) -> None:
        self.wire, self.model = wire, model
        self.history, self.provider = _client(script, wire, model), simulator_for(wire, model=model)
        self.as_bytes = hashlib.sha256(script.name.encode()).digest()[0] % 2 == 0
        self._open = lambda: _opened(home, budget_tokens, chosen)
        self.session = self._open()
        self._sent: list[Any] = []

    def turn(self, number: int, turn: Turn, outcome: Outcome) -> None:
        """Play one turn.

        Raises:
            Refused: By the provider.
            UndriftError: By us.
        """
        _ask(self.history, turn)
        given = self.history.body()
        body = json.dumps(given, ensure_ascii=number % 2 == 0).encode() if self.as_bytes else given
        before = _shape(body) if number % LOOK_EVERY == 0 else b""
        prepared = self.session.prepare(body, wire=self.wire, model=self.model)
        outcome.changed += bool(before) and _shape(body) != before
        outcome.edited += prepared.body is not body
        if number == outcome.turns - 1 or (number and number % RESTART_EVERY == 0):
            self._restart(body, prepared, outcome)
        _judge(prepared, outcome)
        items = _items(prepared.body, form_of(self.wire).HISTORY)
        changed_at = _changed_at(self._sent, items)
        if changed_at is not None:
            outcome.rewrites += 1
            outcome.late += changed_at >= _newest_answer(self._sent)
        self._sent = items
        outcome.requests += 1
        answered = self.provider.send(prepared.body, prepared.headers, turn=turn.answer, model=self.model)
        outcome.read_tokens += answered.bill.read_tokens
        outcome.written_tokens += answered.bill.written_tokens
        outcome.fresh_tokens += answered.bill.fresh_tokens
        self.session.record(answered.body, wire=self.wire)
        self.history.take(answered.body)

    def _restart(self, body: Any, prepared: Prepared, outcome: Outcome) -> None:
        self.session.close()
        self.session = self._open()
        again = self.session.prepare(body, wire=self.wire, model=self.model)
        same = (_shape(again.body), again.headers) == (_shape(prepared.body), prepared.headers)
        outcome.restarts += 1
        outcome.differing += not same


def play(script: Script, wire: str, share: float, full: int, model: str, **chosen: Any) -> Outcome:
    """Play a session at a share of its `full` tokens, with settings besides; it ends with the first refusal."""
    outcome, number = Outcome(script.name, wire, share, len(script.turns)), 0
    started = time.process_time()
    with tempfile.TemporaryDirectory(dir=_MEMORY) as home:
        player = _Player(script, wire, model, home, max(1, int(full * share)), chosen)
        try:
            for number, turn in enumerate(script.turns):
                player.turn(number, turn, outcome)
        except Refused as refusal:
            outcome.refused.append(f"turn {number}: {refusal} {refusal.rule}")
        except UndriftError as error:
            outcome.refused.append(f"turn {number}: prepare raised {type(error).__name__}: {error}")
        finally:
            player.session.close()
    outcome.seconds = time.process_time() - started
    return outcome


def _judge(prepared: Prepared, outcome: Outcome) -> None:
    outcome.dropped += any("refused" in warning for warning in prepared.warnings)
    outcome.shortened += any("lost its middle" in warning for warning in prepared.warnings)
    if prepared.tokens_after <= prepared.budget_tokens:
        return
    outcome.over += 1
    said = next((m for warning in prepared.warnings if (m := _MUST_STAY.match(warning))), None)
    if said is None:
        outcome.held += 1
        return
    must, budget, window = (int(number.replace(",", "")) for number in said.groups())
    outcome.must += must > budget
    outcome.beyond += window > must > budget


def _shape(body: Any) -> bytes:
    return hashlib.sha256(body if isinstance(body, bytes) else json.dumps(body).encode()).digest()


def _items(body: Any, name: str) -> list[Any]:
    if not isinstance(body, bytes):
        return list(body[name])
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return [bytes(item) for item in msgspec.json.decode(fields[name], type=list[msgspec.Raw])]


def _changed_at(sent: Sequence[Any], items: Sequence[Any]) -> int | None:
    """Return where a request first differs from the one before it; None where it goes on from its end.

    Markers of the cache may have moved.
    """
    for number, (a, b) in enumerate(zip(sent, items, strict=False)):
        if not (a is b or a == b or _plain(a) == _plain(b)):
            return number
    return len(items) if len(items) < len(sent) else None


def _newest_answer(sent: Sequence[Any]) -> int:
    """Return the number of the first item of the model's newest answer in a request."""
    number = len(sent)
    while number and not _is_the_models(_plain(sent[number - 1])):
        number -= 1
    while number and _is_the_models(_plain(sent[number - 1])):
        number -= 1
    return number


def _is_the_models(item: Any) -> bool:
    return item.get("role") in ("assistant", "model") or item.get("type") in ("reasoning", "function_call")


def _plain(item: Any) -> Any:
    item = json.loads(item) if isinstance(item, bytes) else item
    content = item.get("content")
    if isinstance(content, str):
        return {**item, "content": [{"type": "text", "text": content}]}
    if isinstance(content, list):
        return {**item, "content": [{k: v for k, v in part.items() if k != "cache_control"} for part in content]}
    return item


# ------------------------------------------------------------------------------------------------------------ the report
def summary(outcomes: Iterable[Outcome]) -> list[str]:
    """Say in a few lines what was found, for each form and budget."""
    lines = []
    by_wire = sorted(outcomes, key=lambda o: (WIRES.index(o.wire), -o.share))
    for (wire, share), group in itertools.groupby(by_wire, key=lambda o: (o.wire, o.share)):
        found = list(group)
        total = Counter[str]()
        for outcome in found:
            counted = {k: v for k, v in asdict(outcome).items() if isinstance(v, int)}
            total.update({**counted, "refused": len(outcome.refused)})
        lines.append(
            f"{wire} at {share:g}: {len(found)} sessions, {total['requests']:,} requests, {total['edited']:,} edited, "
            f"{total['refused']} refused, {total['dropped']} edits dropped, {total['over']} over budget "
            f"({total['must']} where what must stay is more, on {total['beyond']} of them more than that was sent; "
            f"{total['held']} held by thinking), "
            f"{total['shortened']} with a user's text cut, {total['changed']} bodies changed, "
            f"{total['restarts']:,} restarts, {total['differing']} with other bytes"
        )
        lines.append(_cache_line(found, total))
        lines += [f"  REFUSED {o.name}: {text}" for o in found for text in o.refused]
    return lines


def _cache_line(found: Sequence[Outcome], total: Counter[str]) -> str:
    tokens = total["read_tokens"] + total["written_tokens"] + total["fresh_tokens"]
    shares = [f"{100 * total[f'{kind}_tokens'] / max(1, tokens):.1f}% {kind}" for kind in ("read", "written", "fresh")]
    long = [o for o in found if o.turns > LONG and not o.refused]
    every = [("", long), (" where what must stay always fitted", [o for o in long if not o.over])]
    said = [
        f"{len(some)} sessions of more than {LONG} turns{which}: rewrites each 20 turns median "
        f"{statistics.median(o.rewrites_each_20 for o in some):.2f}, worst {max(o.rewrites_each_20 for o in some):.2f}; "
        f"ahead of the newest answer {statistics.median(o.early_each_20 for o in some):.2f} and "
        f"{max(o.early_each_20 for o in some):.2f}"
        for which, some in every
        if some
    ]
    return "\n".join(f"  {line}" for line in [f"bill: {', '.join(shares)}", *said])


# --------------------------------------------------------------------------------------------------------------- running
@dataclass(frozen=True, slots=True)
class _Job:
    path: Path
    wire: str
    model: str
    budgets: tuple[float, ...]
    chosen: dict[str, Any]
    longer_than: int


def _run(job: _Job) -> list[Outcome]:
    logging.getLogger("undrift").setLevel(logging.CRITICAL + 1)  # its warnings are counted
    script = script_of(job.path)
    if len(script.turns) <= job.longer_than:
        return []
    full = full_tokens(script, job.wire, job.model)
    return [play(script, job.wire, share, full, job.model, **job.chosen) for share in job.budgets]


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is asked for; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="tests.wires.sessions", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="every .jsonl file below it")
    parser.add_argument("wires", nargs="*", metavar="WIRE", help=f"of {', '.join(WIRES)}; default: all")
    parser.add_argument("--budgets", nargs="+", type=float, default=[0.5, 0.3, 0.2], help="shares of the whole")
    parser.add_argument("--longer-than", type=int, default=0, metavar="TURNS", help="leave out shorter sessions")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--model", help="instead of the models of the form")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON", help="besides the budget")
    parser.add_argument("--lines", type=Path, help="append each outcome to this file, as JSON")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.wires) - set(WIRES):
        parser.error(f"there is no form {sorted(unknown)}")
    paths = sorted(asked.folder.rglob("*.jsonl"), key=lambda p: -p.stat().st_size)
    rest = (tuple(asked.budgets), asked.settings, asked.longer_than)
    jobs = [
        _Job(path, wire, asked.model or MODELS[wire][n % len(MODELS[wire])], *rest)
        for wire in asked.wires or WIRES
        for n, path in enumerate(paths)
    ]
    outcomes: list[Outcome] = []
    with get_context("spawn").Pool(asked.jobs) as pool:
        for done, found in enumerate(pool.imap_unordered(_run, jobs), 1):
            outcomes += found
            for outcome in found:
                bad = "" if outcome.is_kept else f" BROKEN {outcome}"
                if asked.lines:
                    with asked.lines.open("a") as file:
                        file.write(json.dumps(asdict(outcome)) + "\n")
                print(
                    f"[{done}/{len(jobs)}] {outcome.wire} {outcome.share:g}: {outcome.requests} requests, "
                    f"{outcome.seconds:.1f} s{bad}",
                    file=sys.stderr,
                    flush=True,
                )
    print("\n".join(summary(outcomes)))
    return 0 if outcomes and all(outcome.is_kept for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
