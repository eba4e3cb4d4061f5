"""Needed-reference survival and total cost on recorded sessions: undrift, plain recency, and what else is installed.

Law: every system gets the same history, is counted by the same counter and judged by the same rules
(docs/MEASURES.md); none knows what comes later. The sessions are only read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from undrift import __version__
from undrift.bench.drift_report import READ_PRICES, WRITE_PRICE, DriftReport, Outcome, Row
from undrift.bench.managers import Fit, Message, WindowManager, installed
from undrift.bench.managers.own import RECENCY, UNDRIFT
from undrift.bench.sessions import Case, sessions_in
from undrift.core.autopsy.survival import Survival
from undrift.core.cost import Prices, PromptCost
from undrift.errors import InputError
from undrift.recordings.files import open_recording
from undrift.recordings.replay.texts import Text

__all__ = ["FRACTIONS", "Managed", "Progress", "REACHED", "measure", "over_budget_turns", "run"]

FRACTIONS = (0.5, 0.25, 0.125)

REACHED = 1.2
"""A session counts at an absolute budget when it is larger than that by this factor: else there is nothing to choose."""

_STRUCTURE_SHARE, _STRUCTURE_TOKENS = 1.1, 50
"""Entries that must stay may need this much around them (a first message, a mark); a turn over that is a fault."""

Progress = Callable[[str], None]


def measure(
    root: Path,
    *,
    fractions: Sequence[float] = FRACTIONS,
    budgets: Sequence[int] = (),
    min_calls: int = 60,
    every: int = 1,
    progress: Progress | None = None,
) -> DriftReport:
    """Measure every system at every budget.

    `fractions`: budgets as shares of each session's tokens, each above 0 and at most 1. `budgets`: budgets in tokens,
    each at least 1; a session that hardly reaches one has no part in its rows. `min_calls`: sessions with fewer
    answered calls of tools are left out. Raises InputError: the folder cannot be read or holds no such session, or a
    budget is out of range.
    """
    if not all(0 < fraction <= 1 for fraction in fractions) or not all(budget >= 1 for budget in budgets):
        raise InputError("a fraction must be above 0 and at most 1, a budget at least 1 token")
    found = sessions_in(root, min_calls=min_calls, every=every)
    if not found.paths:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(found.left_out.items())) or "it is empty"
        raise InputError(f"{root}: holds no session to measure ({reasons}); name another folder, or lower --min-calls")
    table = _Table(installed(), (*fractions, *budgets))
    names = []
    for turn, path in enumerate(found.paths, 1):
        names.append(path.relative_to(root).as_posix() if path != root else path.name)
        if progress is not None:
            progress(f"{turn} of {len(found.paths)}: {names[-1]}")
        table.add(Case(names[-1], open_recording(path)))
    return DriftReport(
        rows=table.rows(),
        sessions=names,
        left_out=dict(found.left_out),
        versions={"undrift": __version__, **{peer.package: peer.version for peer in table.peers}},
        skipped=table.skipped,
    )


class _Table:
    """Outcomes by budget and system, session after session."""

    def __init__(self, found: tuple[list[WindowManager], list[str]], budgets: Sequence[float | int]) -> None:
        self.peers, self.skipped = found
        self._budgets = budgets
        self._outcomes: dict[float | int, dict[str, list[Outcome]]] = {budget: {} for budget in budgets}

    def add(self, case: Case) -> None:
        """Let every system manage one session within each budget that it reaches."""
        whole = run(case, case.everything)
        for budget in self._budgets:
            if isinstance(budget, int) and case.tokens <= budget * REACHED:
                continue
            tokens = budget if isinstance(budget, int) else max(1, int(budget * case.tokens))
            for system, outcome in self._managed(case, tokens, whole):
                judged = replace(outcome, over_budget=over_budget_turns(case, outcome.sizes, tokens))
                self._outcomes[budget].setdefault(system, []).append(judged)

    def rows(self) -> list[Row]:
        """Give the rows of every budget that a session reached; a peer that broke has none."""
        rows = []
        for budget, systems in self._outcomes.items():
            for system, outcomes in systems.items():
                rows.append(Row(budget, system, tuple(outcomes), tuple(systems["unmanaged"])))
        return rows

    def _managed(self, case: Case, budget: int, whole: Outcome) -> Iterator[tuple[str, Outcome]]:
        yield "unmanaged", whole
        for ours in (RECENCY, UNDRIFT):
            with ours.start(case) as fit:
                yield ours.name, run(case, Managed(case, fit, budget).window)
        for peer in tuple(self.peers):
            try:
                with peer.start(case) as fit:
                    outcome = run(case, Managed(case, fit, budget).window)
            except Exception as error:  # noqa: BLE001 - it is another's program, and may raise anything
                self._drop(peer, f"{case.name}: {error!r}")
            else:
                yield peer.name, outcome

    def _drop(self, peer: WindowManager, reason: str) -> None:
        """Continue without a peer that broke: its figures would be of other sessions than those of the others."""
        self.peers = [other for other in self.peers if other is not peer]
        self.skipped.append(f"{peer.name} {peer.version} failed in {reason}")
        for systems in self._outcomes.values():
            systems.pop(peer.name, None)


def run(case: Case, window_of: Callable[[int], Sequence[Text]]) -> Outcome:
    """Send a session turn by turn and sum up. `window_of`: gives the prompt before a message."""
    costs = [PromptCost(Prices(read, WRITE_PRICE)) for read in READ_PRICES]
    refetch = [0.0] * len(READ_PRICES)
    survival, sizes = Survival(case.needs), []
    for number in case.history.turns:
        window = window_of(number)
        size = sum(tokens for _, tokens in window)
        sizes.append(size)
        at_ms = case.history.entries[number][0].timestamp if case.is_timed else None
        for cost in costs:
            cost.add(window, at_ms=at_ms)
        lost = {need.holder for need in survival.observe(number, [text for text, _ in window])}
        held = sum(case.count(case.needs.entries[holder].content) for holder in lost)
        for place, read in enumerate(READ_PRICES):
            refetch[place] += read * size * len(lost) + WRITE_PRICE * held
    prompts = tuple(cost.cost_tokens for cost in costs)
    return Outcome(survival.result, tuple(sizes), prompts, tuple(refetch))


def over_budget_turns(case: Case, sizes: Sequence[int], budget: int) -> int:
    """Count the turns over the budget although what must stay would have fitted."""
    return sum(
        size > budget and size > case.must_stay(number) * _STRUCTURE_SHARE + _STRUCTURE_TOKENS
        for number, size in zip(case.history.turns, sizes, strict=True)
    )


class Managed:
    """A session as a manager sends it. `sent`: the messages of the newest turn."""

    def __init__(self, case: Case, fit: Fit, budget_tokens: int) -> None:
        self._case = case
        self._fit = fit
        self._budget_tokens = max(1, budget_tokens - case.system_tokens)
        self.sent: Sequence[Message] = ()

    def window(self, number: int) -> list[Text]:
        """Give the texts of the prompt whose answer is the message of this number. Call it with ascending numbers."""
        self.sent = self._fit(self._case.history.messages[:number], self._budget_tokens)
        return [*self._case.texts.system, *(text for one in self.sent for text in self._case.texts.of_message(one))]
