"""Context managers side by side, ours and others', on recorded sessions: `undrift bench peers`.

Every manager gets the same messages and the same budget, and is judged by the same rules: what the window holds of what
the agent needs later, of the user's rules, whether a provider would take it, what it costs, what it holds at the
client's own compactions, and what it holds of a long talk when a question comes.

Law: the sessions are only read. A manager that breaks has no row, and is named with the reason. One that asks a model
is not run; the summaries that recordings hold are judged as they are.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from undrift import __version__
from undrift.bench.drift import Managed, Progress, over_budget_turns, run
from undrift.bench.legal import fault_of
from undrift.bench.managers import NEEDS_A_MODEL, WindowManager, installed, named
from undrift.bench.managers.ceilings import CLAIRVOYANT, LEGAL_CLAIRVOYANT
from undrift.bench.managers.controls import BAG, ECHO, SOUP, TAIL
from undrift.bench.managers.own import RECENCY, UNDRIFT, UNDRIFT_MEMORY
from undrift.bench.managers.provider_clear import PROVIDER_CLEAR
from undrift.bench.peers_report import PeerRun, PeersReport
from undrift.bench.peers_rules import RuleWatch, said_rules, with_rules
from undrift.bench.peers_talk import TalkQuestions, talks_in
from undrift.bench.restore import measure as measure_restore
from undrift.bench.restore_report import JudgedCompaction
from undrift.bench.sessions import Case, sessions_in
from undrift.errors import InputError
from undrift.recordings.files import open_recording
from undrift.recordings.replay.texts import Text
from undrift.transcripts import Recording
from undrift.values.window import ContextEntry

__all__ = ["FRACTIONS", "PeersPlan", "RESTORE_TOKENS", "managers", "measure", "sampled"]

FRACTIONS = (0.25,)
RESTORE_TOKENS = 5_000
"""The budget at a recorded compaction."""

Given = TypeVar("Given")
Result = TypeVar("Result")
_Runs = dict[tuple[float, str], PeerRun | str]
"""By budget and manager: the result, or why there is none."""


def managers(yours: Sequence[str] = ()) -> tuple[list[WindowManager], list[str]]:
    """Return every manager that can be measured here, in the order of the rows, and why others cannot.

    `yours`: addresses of functions, see `undrift.bench.managers.named`. Raises InputError: one cannot be imported.
    """
    others, absent = installed()
    ours = [UNDRIFT, RECENCY, TAIL]
    return [
        ECHO, SOUP, BAG, CLAIRVOYANT, LEGAL_CLAIRVOYANT, *ours, PROVIDER_CLEAR, *others, *map(named, yours)
    ], absent  # fmt: skip


def sampled(paths: Sequence[Path], number: int | None) -> list[Path]:
    """Return so many of the files, chosen by the hash of their bytes, in the given order; all without a number."""
    if number is None or number >= len(paths):
        return list(paths)
    chosen = sorted(paths, key=lambda path: hashlib.sha256(path.read_bytes()).digest())[:number]
    return [path for path in paths if path in chosen]


@dataclass(frozen=True, slots=True)
class PeersPlan:
    """The things that are measured.

    Args:
        talks: A file of LoCoMo's form; without it nothing is said of memory.
        fractions: Budgets as shares of each session's tokens, each above 0 and at most 1.
        min_calls: Sessions with fewer answered calls of tools are left out.
        sample: So many sessions, chosen by the hash of their bytes.
        yours: Addresses of a user's own managers.

    Raises:
        InputError: A budget is out of range.
    """

    talks: Path | None = None
    fractions: tuple[float, ...] = FRACTIONS
    min_calls: int = 60
    sample: int | None = None
    yours: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.fractions or not all(0 < fraction <= 1 for fraction in self.fractions):
            raise InputError("a fraction must be above 0 and at most 1")


def measure(
    root: Path, plan: PeersPlan | None = None, *, jobs: int = 1, progress: Progress = lambda _: None
) -> PeersReport:
    """Measure every manager on the recorded sessions of a folder.

    `jobs`: the number of processes, at least 1. Raises InputError: the folder cannot be read or holds no such session.
    """
    plan = plan or PeersPlan()
    known, absent = managers(plan.yours)
    found = sessions_in(root, min_calls=plan.min_calls)
    paths = sampled(found.paths, plan.sample)
    if not paths:
        raise InputError(
            f"{root}: holds no session with {plan.min_calls} calls; name another folder, or lower --min-calls"
        )
    names = [path.relative_to(root).as_posix() if path != root else path.name for path in paths]
    report = PeersReport(
        managers=known,
        sessions=names,
        of_sessions=len(found.paths),
        versions={"undrift": __version__, **{one.package: one.version for one in known if one.package}},
        not_run=[f"{name} ({package}): needs a model" for name, package in NEEDS_A_MODEL],
        absent=absent,
    )
    for path, runs in _each(partial(_session, plan=plan), paths, jobs):
        progress(path.name)
        report.add(runs)
    for path, judged in _each(partial(_compactions, plan=plan), paths, jobs):
        progress(f"the compactions of {path.name}")
        report.compactions += judged
    if plan.talks is not None:
        for talk, found_by in _each(partial(_asked, plan=plan), talks_in(plan.talks), jobs):
            progress(f"the questions of {talk.name}")
            report.add_talk(talk, found_by)
    return report


def _each(judge: Callable[[Given], Result], given: Sequence[Given], jobs: int) -> Iterator[tuple[Given, Result]]:
    """Judge each on its own, in processes if there are several jobs; in the given order."""
    if jobs == 1:
        yield from ((one, judge(one)) for one in given)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        yield from zip(given, pool.map(judge, given), strict=True)


def _session(path: Path, *, plan: PeersPlan) -> _Runs:
    """Let every manager manage one session within each budget."""
    recording, rules = with_rules(open_recording(path), path.name)
    case = Case(path.name, recording)
    said = said_rules(case.history, rules)
    runs: _Runs = {}
    for fraction in plan.fractions:
        budget = max(1, int(fraction * case.tokens))
        for manager in managers(plan.yours)[0]:
            try:
                runs[fraction, manager.name] = _managed(case, manager, budget, RuleWatch(said))
            except Exception as error:  # noqa: BLE001 - it is another's program, and may raise anything
                runs[fraction, manager.name] = f"{path.name}: {error!r}"
    return runs


def _managed(case: Case, manager: WindowManager, budget: int, watch: RuleWatch) -> PeerRun:
    faults = Counter[str]()
    with manager.start(case) as fit:
        managed = Managed(case, fit, budget)

        def window(number: int) -> list[Text]:
            texts = managed.window(number)
            faults[fault_of(managed.sent)] += 1
            watch.observe(number, (text for text, _ in texts))
            return texts

        outcome = run(case, window)
    outcome = replace(outcome, over_budget=over_budget_turns(case, outcome.sizes, budget))
    return PeerRun(outcome, faults["broken"], faults["opening"], watch.held, watch.due)


def _compactions(path: Path, *, plan: PeersPlan) -> list[JudgedCompaction]:
    """Judge what every manager holds at the compactions of one session."""
    others = {
        manager.name: partial(_at_compaction, manager) for manager in managers(plan.yours)[0] if _can_be_asked(manager)
    }
    return list(measure_restore([path], budgets=(RESTORE_TOKENS,), others=others).found)


def _can_be_asked(manager: WindowManager) -> bool:
    """The ceilings know the needs of turns, not those of a compaction."""
    return manager not in (CLAIRVOYANT, LEGAL_CLAIRVOYANT)


def _at_compaction(manager: WindowManager, entries: Sequence[ContextEntry], tokens: int) -> Sequence[str]:
    recording = Recording("", tuple(entries), {}, None, None, None, (), unfinished=False)
    case = Case("", recording)
    try:
        with manager.start(case) as fit:
            sent = fit(case.history.messages, tokens)
    except Exception:  # noqa: BLE001 - another's program: it holds nothing there, and its own row says that it broke
        return ()
    return [text for message in sent for text, _ in case.texts.of_message(message)]


def _asked(talk: TalkQuestions, *, plan: PeersPlan) -> dict[str, tuple[int, int]]:
    """Ask every manager the questions of one talk: how many windows hold the answer, and how many are over the budget."""
    case = talk.case()
    budget = talk.budget_tokens(case)
    found: dict[str, tuple[int, int]] = {}
    for manager in (*managers(plan.yours)[0], UNDRIFT_MEMORY):
        if not _can_be_asked(manager):
            continue
        held = over = 0
        with ExitStack() as stack:
            # One memory serves all questions: to write it again for each took 75 s a talk. Others start again each time.
            fit = stack.enter_context(manager.start(case)) if manager is UNDRIFT_MEMORY else None
            for question, evidence in talk.questions:
                with suppress(Exception), ExitStack() as own:  # another's program that breaks holds nothing
                    now = fit or own.enter_context(manager.start(case))
                    sent = now([*case.history.messages, *talk.asking(question)], budget)
                    texts = [text for message in sent for text, _ in case.texts.of_message(message)]
                    over += case.size_of(sent) > budget
                    held += any(said in text for said in evidence for text in texts)
        found[manager.name] = (held, over)
    return found
