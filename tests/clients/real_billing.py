"""Claude Code against a provider that bills like the prompt cache, without and through the gateway: the bills side by side.

``python -m tests.clients.real_billing [--model=NAME]... [--variants=N] [--json=FILE]`` plays a long session four times, with a
cache of five minutes and of an hour. The model needs earlier text now and then; what its window no longer holds is read again,
and billed. Between the user's messages the clock of all programs moves by 4, 6 and 61 minutes. The client compacts at its own
limit, so that a pause finds a window of any size: of one session alone much is chance, and a variant has other files. Run by ``make billing``; not part of ``make test``. No request leaves this machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import accumulate, islice, product
from pathlib import Path
from typing import Any, Self

from tests.clients.matrix import enter, is_inside
from tests.clients.moved_clock import MovedClock
from tests.clients.programs import PROGRAMS, ROOT
from undrift.settings.model_table import MODELS, lookup
from undrift.stores.opening import open_store
from undrift.testing import Bill, Follow, PriceList, Read, Say, ScriptedProvider, Seen, Shell, Turn
from undrift.values.scope import Scope

__all__ = ["main"]

MODEL_NAMES = ("claude-opus-4-8", "claude-opus-5-5")
TTLS = ("5m", "1h")
WAYS = ("without", "through")
PAUSES_MINUTES = (4, 6, 61)
STEPS = 224
STEPS_A_MESSAGE = 16
COMPACTIONS = 10
_WINDOW_TOKENS = 100_000  # of the client; it compacts at two thirds of it
_NEEDS_EVERY, _NEEDS_BACK = 5, (2, 4, 9, 17, 30)
_DAY_S = 86_400
_EQUAL = 1.0005
_SUMMARY = "<analysis>They read files.</analysis>\n<summary>They read the files in their order, and go on.</summary>"
_END = f"All {STEPS} steps are done."


@dataclass(slots=True)
class Play:
    """One session to be played, and what was read again in it."""

    project: Path
    variant: int = 0
    read_again: int = 0
    needs: int = 0

    def turns(self) -> Iterator[Turn]:
        """Yield what the model says: it reads files, needs earlier ones, and ends each of the user's turns."""
        for number in range(1, STEPS + 1):
            if number % _NEEDS_EVERY == 0:
                back = _NEEDS_BACK[number // _NEEDS_EVERY % len(_NEEDS_BACK)]
                yield self._needed(max(1, number - back))
            elif number % 3 == 0:
                yield Shell(f"cat {_file(number)}")
            elif number % 7 == 0:
                yield Shell(f"wc {_file(number)}; ls")
            else:
                yield Read(str(self.project / _file(number)))
            if number % STEPS_A_MESSAGE == 0:
                is_last = number == STEPS
                yield Say(_END if is_last else f"The files up to {number} are read.")

    def write(self) -> None:
        """Write the files that the model reads: pieces of Python's own library, each with a line that none other has."""
        library = sorted(Path(os.__file__).parent.glob("*.py"))
        source = (line for path in library for line in path.read_text(encoding="utf-8").splitlines())
        for number in range(1, STEPS + 1):
            lines = list(islice(source, self._lines(number)))
            lines[len(lines) // 2] = f"{_needle(number)} = {number}"
            path = self.project / _file(number)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            os.utime(path, (number, number))  # of those that it has read, the client attaches the newest again

    def _lines(self, number: int) -> int:
        """A length for each file, the same in every run of a variant."""
        return 90 + (number * 37 + number * self.variant * 11 // 7) % 5 * 90

    def _needed(self, number: int) -> Turn:
        def decide(text: str) -> Turn:
            self.needs += 1
            if _needle(number) in text:
                return Shell(f"echo {_needle(number)} is known")
            self.read_again += 1
            return Shell(f"cat {_file(number)}")

        return Follow(decide)


def _file(number: int) -> str:
    return f"part_{number}.py"


def _needle(number: int) -> str:
    return f"NEEDLE_OF_PART_{number}_"


def _start_s() -> int:
    """A time from which all pauses end now: the client deletes files that look old to it."""
    return int(time.time()) - 60 * sum(_pauses())


def _pauses() -> list[int]:
    return [PAUSES_MINUTES[number % len(PAUSES_MINUTES)] for number in range(STEPS // STEPS_A_MESSAGE - 1)]


def _morning() -> str:
    """A time zone in which no midnight comes while the session is played."""
    hours = (_start_s() % _DAY_S) // 3_600 - 8
    return f"AAA{hours:+d}"


@dataclass(slots=True)
class Run:
    """The outcome of one session."""

    way: str
    ttl: str
    variant: int
    bill: Bill
    steps: list[Bill]
    prompts: int
    compactions: int
    largest_tokens: int
    asked_lives: list[str]
    after_pauses: dict[int, Bill]
    refused: list[str]
    said: str
    needs: int
    read_again: int
    prunes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.ttl} {self.way}, variant {self.variant}"

    def problems(self) -> list[str]:
        found = [f"{self.title}: {text}" for text in self.faults]
        if self.said != _END:
            found.append(f"{self.title}: no final answer, but {self.said[:300]!r}")
        if self.way == "without" and self.compactions < COMPACTIONS:
            found.append(f"{self.title}: {self.compactions} compactions, {COMPACTIONS} are wanted")
        return found


class Client:
    """Claude Code in one process, to which a user writes several messages."""

    def __init__(self, home: Path, project: Path, variables: dict[str, str], model: str) -> None:
        program = PROGRAMS["claude"]
        words = [
            str(program.executable), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
            "--model", model, "--allowedTools", "Bash", "Read",
        ]  # fmt: skip
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            **program.variables,
            "HOME": str(home),
            "NO_PROXY": "127.0.0.1",
            "TZ": _morning(),
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(_WINDOW_TOKENS),
            **variables,
        }
        self._process = subprocess.Popen(
            words, cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.compactions = 0

    def ask(self, text: str) -> str:
        """Write a message; return the final answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"type": "user", "message": {"role": "user", "content": text}}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            event = json.loads(line)
            self.compactions += event.get("subtype") == "compact_boundary"
            if event.get("type") == "result":
                return str(event.get("result"))
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


@contextmanager
def gateway(home: Path, url: str, clock: MovedClock) -> Iterator[str]:
    """Run ``undrift proxy`` with its defaults; its address for Claude Code."""
    (home / ".undrift").mkdir(mode=0o700)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT / "src"),
        **clock.environment(),
        **({"UNDRIFT_BUDGET_TOKENS": os.environ["BB"]} if "BB" in os.environ else {}),
    }
    words = [
        sys.executable, "-P", "-m", "undrift", "proxy", "--port=0", "--json", f"--home={home / '.undrift'}",
        f"--upstream-anthropic={url}",
    ]  # fmt: skip
    with (
        (home / "gateway.log").open("wb") as log,
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        try:
            yield json.loads(process.stdout.readline() if process.stdout else b"")["base_urls"]["anthropic"]
        finally:
            process.terminate()
            process.wait(30)


def play(folder: Path, way: str, ttl: str, model: str, variant: int = 0) -> Run:
    """Play the session once."""
    home, project = folder / "home", folder / "project"
    home.mkdir(parents=True)
    project.mkdir()
    session, clock = Play(project, variant), MovedClock(folder, _start_s())
    session.write()
    with ScriptedProvider(list(session.turns()), summary=_SUMMARY, clock=clock) as provider:
        with gateway(home, provider.url, clock) if way == "through" else nullcontext(provider.url) as url:
            variables = {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_PROMPT_CACHE_TTL": ttl, **clock.environment()}
            with Client(home, project, variables, model) as client:
                said, pauses = _talk(client, clock, provider)
        billed = [seen for seen in provider.requests if seen.bill.prompt_tokens]
        run = Run(
            way, ttl, variant, provider.bill, _steps(billed), len(billed), client.compactions,
            max(seen.bill.prompt_tokens for seen in billed),
            sorted({f"{seen.kind} {life}" for seen in billed for life in set(_lives(seen.body))}),
            pauses,
            [seen.refused for seen in provider.requests if seen.refused],
            said, session.needs, session.read_again,
        )  # fmt: skip
    if way == "through":
        _read_log(home / "gateway.log", run)
        run.prunes += _prunes(home / ".undrift")
    return run


def _talk(client: Client, clock: MovedClock, provider: ScriptedProvider) -> tuple[str, dict[int, Bill]]:
    """Write all messages with the pauses between; return the last answer, and the first bills after each pause."""
    said, bills = "", dict.fromkeys(PAUSES_MINUTES, Bill())
    for number, minutes in enumerate([0, *_pauses()], 1):
        clock.wait(minutes)
        before = len(provider.requests)
        said = client.ask(f"Read on: the next {STEPS_A_MESSAGE} files. This is message {number}.")
        first = next((seen.bill for seen in provider.requests[before:] if seen.bill.prompt_tokens), Bill())
        if minutes:
            bills[minutes] += first
    return said, bills


def _steps(billed: Sequence[Seen]) -> list[Bill]:
    """The running bill after each turn of the script."""
    running = list(accumulate(seen.bill for seen in billed))
    return [bill for bill, seen in zip(running, billed, strict=True) if seen.kind == "main"]


def _lives(value: Any) -> Iterator[str]:
    """The lives for which a body asks."""
    if isinstance(value, dict):
        if marker := value.get("cache_control"):
            yield marker.get("ttl", "5m")
        for child in value.values():
            yield from _lives(child)
    elif isinstance(value, list):
        for child in value:
            yield from _lives(child)


def _read_log(log: Path, run: Run) -> None:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    run.faults += [str(line) for line in lines if line.get("bypass") or line["event"] == "fault"]


def _prunes(home: Path) -> Iterator[str]:
    """When something left the window, how much and why."""
    with closing(open_store(str(home), Scope())) as store:
        for session in store.sessions():
            decided = list(store.decisions(session.session_id).values())
            operations = store.operations(session.session_id)
            for operation in operations:
                if operation.kind != "prune":
                    continue
                payload = operation.payload or {}
                left = [one for one in decided if one.detail.get("at") == payload.get("at")]
                why = Counter(str(one.detail.get("moment")) for one in left)
                minutes = (operation.at_ms - operations[0].at_ms) / 60_000
                saved = sum(one.tokens_saved for one in left)
                yield f"minute {minutes:.0f}: {len(left)} parts, {saved:,} of our tokens, why: {dict(why)}"


def table(runs: Sequence[Run], model: str) -> list[str]:
    """The bills as lines of a table, a column for each run."""
    prices = _prices(model)
    rows = {
        "cache, way": [f"{run.ttl} {run.way}" for run in runs],
        "prompts": [f"{run.prompts:,}" for run in runs],
        "compactions": [f"{run.compactions}" for run in runs],
        "largest prompt": [f"{run.largest_tokens:,}" for run in runs],
        "lives asked for": [", ".join(run.asked_lives) for run in runs],
        "read from the cache": [f"{run.bill.read_tokens:,}" for run in runs],
        "written": [f"{run.bill.written_tokens:,}" for run in runs],
        "of it for an hour": [f"{run.bill.long_tokens:,}" for run in runs],
        "uncached": [f"{run.bill.fresh_tokens:,}" for run in runs],
        "output": [f"{run.bill.output_tokens:,}" for run in runs],
        **{
            f"read, written after {minutes} minutes": [
                f"{run.after_pauses[minutes].read_tokens:,}, {run.after_pauses[minutes].written_tokens:,}"
                for run in runs
            ]
            for minutes in PAUSES_MINUTES
        },
        "cost in input tokens": [f"{prices.cost(run.bill):,.0f}" for run in runs],
        "dollars": [f"{prices.usd(run.bill):.3f}" for run in runs],
        "needed, read again": [f"{run.needs}, {run.read_again}" for run in runs],
        "prunes": [f"{len(run.prunes)}" for run in runs],
        "refused": [f"{len(run.refused)}" for run in runs],
        "final answer": ["yes" if run.said == _END else "NO" for run in runs],
    }
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    named = []
    for without, through in zip(runs[::2], runs[1::2], strict=True):
        worst = max(
            prices.cost(one) / prices.cost(other) for one, other in zip(through.steps, without.steps, strict=False)
        )
        share = _share(without, through, prices)
        named.append(f"{without.ttl} {share:.3f} at the end, {worst:.3f} at the worst step")
    title = f"{model}, read ratio {prices.read_ratio}, variant {runs[0].variant}"
    return [title, lines[0], f"|{' --- |' * (len(runs) + 1)}", *lines[1:], f"through / without: {'; '.join(named)}"]


def _share(without: Run, through: Run, prices: PriceList) -> float:
    return prices.cost(through.bill) / prices.cost(without.bill)


def _prices(model: str) -> PriceList:
    known = lookup(model, MODELS)
    return PriceList(known.input_usd_per_million or 0.0, read_ratio=known.read_ratio)


def compared(runs: Sequence[Run], model: str) -> list[str]:
    """The sessions that cost more through the gateway, or in which more was refused.

    With a model that binds thinking the client itself keeps a thought over its compaction, is refused and drops it.
    """
    found = []
    for without, through in zip(runs[::2], runs[1::2], strict=True):
        if _share(without, through, _prices(model)) > _EQUAL:
            found.append(f"{model}, {through.title}: dearer than without")
        if len(through.refused) > len(without.refused) + max(0, through.compactions - without.compactions):
            found.append(f"{model}, {through.title}: refused: {through.refused}")
    return found


def summed(runs: Sequence[Run], model: str) -> str:
    """The share over all variants."""
    prices = _prices(model)
    named = []
    for ttl in TTLS:
        cost = {way: sum(prices.cost(run.bill) for run in runs if (run.ttl, run.way) == (ttl, way)) for way in WAYS}
        named.append(f"{ttl} {cost['through'] / cost['without']:.3f}")
    return f"{model}, all variants, through / without: {', '.join(named)}"


def main(words: Sequence[str]) -> int:
    """Play all sessions and print the bills; return 1 if something was wrong."""
    if not PROGRAMS["claude"].is_there() or not MovedClock.is_possible():
        print("SKIPPED: needs Claude Code (make clients) and a C compiler that moves its clock")
        return 0
    if not is_inside():
        enter([sys.executable, "-m", "tests.clients.real_billing", *words])
    models = _given(words, "model") or MODEL_NAMES
    variants = range(int((_given(words, "variants") or ["1"])[0]))
    problems, kept = [], []
    for model in models:
        runs: list[Run] = []
        for variant in variants:
            for ttl, way in product(TTLS, WAYS):
                folder = Path(tempfile.mkdtemp(prefix=f"undrift-billing-{ttl}-{way}-"))
                runs.append(play(folder, way, ttl, model, variant))
                problems += [f"{model}, {text} ({folder})" for text in runs[-1].problems()]
                if not runs[-1].problems():
                    shutil.rmtree(folder, ignore_errors=True)
            problems += compared(runs[-4:], model)
            print(*table(runs[-4:], model), sep="\n", flush=True)
            print(*(f"  {run.ttl}, {text}" for run in runs[-4:] for text in run.prunes), sep="\n", flush=True)
        print(summed(runs, model), flush=True)
        kept += [{"model": model, **asdict(run)} for run in runs]
    print(*problems, sep="\n")
    for path in _given(words, "json"):
        Path(path).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


def _given(words: Sequence[str], name: str) -> list[str]:
    return [word.removeprefix(f"--{name}=") for word in words if word.startswith(f"--{name}=")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
