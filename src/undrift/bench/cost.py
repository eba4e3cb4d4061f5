"""The cost of managed sessions, against sending everything and against the client's own compaction.

Law: each session is sent turn by turn to the real engine, by the recording's clock. Requests and answers show it the
cache that the prices mean, as real traffic does. Every way to send the session is charged alike, lost needs included.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from undrift import __version__
from undrift.bench.cost_report import CostOutcome, CostReport, CostRow
from undrift.bench.sessions import COUNTER, Case, RecordedSessions
from undrift.core.autopsy.native import CompactionRecord
from undrift.errors import InputError
from undrift.recordings.figures import compaction_records, recorded_figures
from undrift.recordings.files import open_recording
from undrift.recordings.replay.native import NativeSide
from undrift.recordings.replay.report import NativeCost
from undrift.recordings.replay.sending import Sender, market_of
from undrift.recordings.replay.side import Market, Side
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import lookup, read_models

__all__ = ["AT_THE_CLIENTS_LIMIT", "BUDGETS", "Budget", "OWN", "SCENARIOS", "Scenario", "measure"]

AT_THE_CLIENTS_LIMIT = "auto-native"
"""Auto, with the limit at which this recording was compacted: only then are both at the same limit. Tokens are counted
as characters / 4, about two thirds of real ones, so that the model's own limit would come later than the client's."""

_LEAST_LIMIT_TOKENS = 10_000
"""A smaller window was compacted for another reason than its size, as in a file that continues another one."""

Budget = int | str
"""Tokens, ``auto``, or `AT_THE_CLIENTS_LIMIT`."""

BUDGETS: tuple[Budget, ...] = ("auto", AT_THE_CLIENTS_LIMIT, 60_000, 100_000)

_MODEL = "claude-opus-4-8"
"""The model of a recording that names none."""


_WRITE_PRICE = 1.25
"""The price of a token written to the cache of five minutes, in every scenario; a longer life has its own price."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The price of a cached token, as a multiple of the input price, and the life of the cache.

    None: the model's own price, and the recorded life. The life gives the price of a written token.
    """

    name: str
    read: float | None = None
    cache_seconds: int | None = None


OWN = Scenario("own")

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        OWN,
        Scenario("5m .10", 0.1, 300),
        Scenario("5m .05", 0.05, 300),
        Scenario("5m .025", 0.025, 300),
        Scenario("1h .10", 0.1, 3_600),
        Scenario("1h .05", 0.05, 3_600),
        Scenario("1h .025", 0.025, 3_600),
    )
}

Progress = Callable[[str], None]


def measure(
    found: RecordedSessions,
    *,
    budgets: Sequence[Budget] = BUDGETS,
    scenarios: Sequence[Scenario] = (OWN,),
    fixed_tokens: int = 0,
    models_file: str | None = None,
    progress: Progress | None = None,
) -> CostReport:
    """Measure every budget at every price.

    `fixed_tokens`: what every prompt holds beside the recorded texts (system prompt and tool definitions), at least 0.
    `models_file`: as the setting. Raises InputError: there is no session to measure.
    """
    if not found.paths:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(found.left_out.items())) or "it is empty"
        raise InputError(f"no session to measure ({reasons}); name another folder, or lower --min-calls")
    outcomes: dict[tuple[str, Budget], list[CostOutcome]] = {(s.name, b): [] for s in scenarios for b in budgets}
    names = []
    for turn, path in enumerate(found.paths, 1):
        names.append(str(path))
        session = _RecordedSession(path)
        for scenario in scenarios:
            if progress is not None:
                progress(f"{turn} of {len(found.paths)}: {path.name} ({scenario.name})")
            priced = _Priced(session, scenario, fixed_tokens, models_file)
            for budget in budgets:
                if (outcome := priced.managed(budget)) is not None:
                    outcomes[scenario.name, budget].append(outcome)
    rows = [CostRow(_name(b), s, tuple(measured)) for (s, b), measured in outcomes.items() if measured]
    return CostReport(rows, names, dict(found.left_out), fixed_tokens, __version__)


def _name(budget: Budget) -> str:
    return f"{budget:,}" if isinstance(budget, int) else budget


class _RecordedSession:
    """One recording, read once for all prices and budgets."""

    def __init__(self, path: Path) -> None:
        recording = open_recording(path)
        recorded = recorded_figures(path, recording.format)
        self.case = Case(path.name, recording)
        self.records: dict[int, CompactionRecord] = compaction_records(recording, recorded)
        self.cache_seconds = recorded.cache_seconds
        self.model = recording.model or _MODEL

    def at_ms(self, number: int) -> int | None:
        return self.case.history.entries[number][0].timestamp if self.case.is_timed else None


class _Priced:
    """One session at one price: what everything costs after each turn, and what the client's own compaction cost."""

    def __init__(
        self, session: _RecordedSession, scenario: Scenario, fixed_tokens: int, models_file: str | None
    ) -> None:
        self._session = session
        self._seconds = session.cache_seconds if scenario.cache_seconds is None else scenario.cache_seconds
        self._models_file = models_file
        self._fixed_tokens = fixed_tokens
        model = lookup(session.model, read_models(models_file))
        self._rows = "" if scenario.read is None else _rows(session.model, scenario.read)
        if scenario.read is not None:
            model = replace(model, read_ratio=scenario.read, write_ratio=_WRITE_PRICE)
        case = session.case
        self._market: Market = market_of(model, self._seconds, case.count, fixed_tokens=fixed_tokens)
        everything = Side(self._market, case.needs)
        native = NativeSide(case.history, case.texts, session.records, self._market, case.needs)
        self._costs: list[float] = []
        for number in case.history.turns:
            at_ms = session.at_ms(number)
            everything.add(number, case.everything(number), at_ms)
            native.add(number, at_ms)
            self._costs.append(everything.cost.cost_tokens)
        self._native: NativeCost | None = native.result

    def managed(self, budget: Budget) -> CostOutcome | None:
        """Send the session through the engine. None means: this budget needs a compaction, and there was none."""
        settings: dict[str, Any] = {"budget_tokens": budget, "models_file": self._models_file}
        if budget == AT_THE_CLIENTS_LIMIT:
            limit = 0 if self._native is None else self._native.limit_tokens - self._fixed_tokens
            if limit < _LEAST_LIMIT_TOKENS:
                return None
            settings |= {"budget_tokens": "auto", "prune_threshold_tokens": limit}
        session, case = self._session, self._session.case
        ours, worst, now = Side(self._market, case.needs), 0.0, [0]
        with tempfile.TemporaryDirectory(prefix="undrift-cost-") as home:
            if self._rows:
                path = Path(home, "models.json")
                path.write_text(self._rows, encoding="utf-8")
                settings["models_file"] = str(path)
            chosen = Settings(token_counter=COUNTER, debug_archive=False, **settings)
            with Session.open("cost", home=home, settings=chosen, clock=lambda: now[0], keeps_notes=False) as opened:
                sender = Sender(opened, session.model, case.history, case.texts, self._seconds)
                for number, everything in zip(case.history.turns, self._costs, strict=True):
                    now[0] = case.history.entries[number][0].timestamp
                    sender.prepare(number)
                    sender.answer(ours.add(number, sender.window, session.at_ms(number)))
                    worst = max(worst, ours.total / everything if everything else 1.0)
        return CostOutcome(
            case.name, ours.total, self._costs[-1], worst, len(self._costs), ours.survival.result, self._native
        )


def _rows(model: str, read: float) -> str:
    """Return a file of models that gives the engine the prices of a scenario."""
    return json.dumps([{"name": model, "read_ratio": read, "write_ratio": _WRITE_PRICE}])
