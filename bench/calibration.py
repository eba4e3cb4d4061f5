"""Token factors from what recorded sessions report, and how well the correction follows: ``python -m bench.calibration DIR``.

Law: only reads; the same files give the same tables. A recording lacks the system prompt and the tools, so a factor
comes from what a turn added: the provider's total of one prompt less that of the one before. Where the client recorded
the answer's own tokens they are taken off, and what is left was charged for tool results alone.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.usage_records import Answer, answers_in
from undrift.core.text.calibration import Calibration, UsageReport, calibration_of, is_news, is_plausible
from undrift.core.text.tokens import counter
from undrift.errors import InputError, TranscriptError
from undrift.recordings.files import open_recording
from undrift.settings.model_table import lookup
from undrift.transcripts import Recording
from undrift.values.window import ContextEntry

__all__ = [
    "Added",
    "LAWS",
    "Turn",
    "added_by",
    "exact_counter",
    "main",
    "sessions_below",
    "turns_of",
]

_LEAST_TOKENS = 200  # of tool results: with fewer, what surrounds them decides
_LEAST_TURNS = 5  # of a session that names a factor
_LONG_TURNS = 10  # of a session that judges the correction
_EARLY_TURNS = 5  # that it may take to learn
_OWN_SHARE = 0.25  # of the texts of a turn, at most, the agent's own: they cost what the answer cost
_CUT_EVERY, _CUT_TOKENS = 5, 20_000  # where a cut is made up: turns apart, messages at least
_FAITHFUL = 0.05
_NEWS = 0.02
_UNSEEN_TOKENS = 200_000  # the system prompt and tools, or the part of a session that is in another file
_UNDER = -0.10
_REPLACED = "REDACTED"  # what stands where the session's owner took a text out
_SERVER_CALLS = frozenset({"web_search", "image_generation"})  # run by the provider while it answers, billed with it


# ------------------------------------------------------------------------------------------------- what stood before it


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt of a recording: what was reported of it, and which entries stood in it.

    Args:
        answer: What the provider reported.
        first: Index of the first entry of its window: 0, or what follows the client's last compaction.
        index: Index of the answer's first entry: the prompt is ``entries[first:index]``.
        is_hidden: The prompt grew by what the recording does not hold: pictures, what the provider's own tools
            brought, texts that the session's owner took out.
    """

    answer: Answer
    first: int
    index: int
    is_hidden: bool


def turns_of(recording: Recording, answers: Mapping[int | str, Answer]) -> list[Turn]:
    """Find the prompts of a recording, in its order."""
    entries = recording.entries
    begins: dict[int, tuple[int, Answer]] = {}
    for index, entry in enumerate(entries):
        answer = answers.get(_line(entry)) or answers.get(entry.id.partition(":")[0])
        if answer and _of(entry, "role") == "assistant" and _of(entry, "kind") != "result":
            begins.setdefault(id(answer), (index, answer))
    found: list[Turn] = []
    for index, answer in begins.values():
        first = max((place for place in recording.compactions if place <= index), default=0)
        before = found[-1].index if found else index
        hidden = any(map(_is_hidden, entries[before : index + 1]))
        own = any(_of(e, "tool_name") in _SERVER_CALLS for e in entries[index:] if answers.get(_line(e)) is answer)
        found.append(Turn(answer, first, index, hidden or own))
    return found


def _line(entry: ContextEntry) -> int:
    return int(_of(entry, "line") or 0)


def _of(entry: ContextEntry, name: str) -> Any:
    return entry.metadata.get(name) if entry.metadata else None


def _is_hidden(entry: ContextEntry) -> bool:
    return _of(entry, "kind") == "image" or _REPLACED in entry.content


def _text(entry: ContextEntry) -> str:
    return f"{_of(entry, 'tool_name')} {entry.content}" if _of(entry, "kind") == "call" else entry.content


@dataclass(frozen=True, slots=True)
class Session:
    """A recording with figures: its prompts, and how many tokens stand before each entry (no factor applied)."""

    name: str
    entries: tuple[ContextEntry, ...]
    turns: Sequence[Turn]
    before: Sequence[int]

    @property
    def model(self) -> str:
        """The model of its first prompt."""
        return self.turns[0].answer.model


# ------------------------------------------------------------------------------------------------------------ the factor


@dataclass(frozen=True, slots=True)
class Added:
    """What one turn added to the prompt: tokens reported and tokens counted, without a factor.

    Args:
        results: (reported less the answer's own, counted) of tool results alone; None where it is not known.
        whole: (reported, counted) of the whole turn; None where the agent's own texts are much of it.
    """

    results: tuple[int, int] | None
    whole: tuple[int, int] | None


def added_by(session: Session) -> Iterator[Added]:
    """Yield what each turn added where that is known: the same model and window, tool results and nothing else."""
    for one, other in pairwise(session.turns):
        grown = other.answer.reported_tokens - one.answer.reported_tokens
        is_same = one.answer.model == other.answer.model and one.first == other.first
        between = range(one.index, other.index)
        new = [index for index in between if _of(session.entries[index], "role") != "assistant"]
        if not is_same or grown <= 0 or other.is_hidden or one.is_hidden or not new:
            continue
        if any(_of(session.entries[index], "kind") != "result" for index in new):
            continue
        counted = sum(session.before[index + 1] - session.before[index] for index in new)
        everything = session.before[other.index] - session.before[one.index]
        if counted >= _LEAST_TOKENS:
            output = one.answer.output_tokens
            results = None if output is None else (grown - output, counted)
            whole = (grown, everything) if everything - counted < _OWN_SHARE * counted else None
            yield Added(results, whole)


def _factor(pairs: Iterable[tuple[int, int] | None]) -> float | None:
    """The median of one session; None where it has too few turns to say."""
    ratios = [reported / counted for reported, counted in filter(None, pairs)]
    return median(ratios) if len(ratios) >= _LEAST_TURNS else None


def _spread(factors: Sequence[float]) -> str:
    if not factors:
        return "-"
    return f"{median(factors):.2f} ({min(factors):.2f} to {max(factors):.2f}; {len(factors)})"


def _factor_rows(sessions: Iterable[Session]) -> Iterator[list[str]]:
    groups: dict[tuple[str, str, float], list[list[Added]]] = {}
    for session in sessions:
        model = lookup(session.model)
        for name in ("all", session.model):
            groups.setdefault((model.family, name, model.token_factor), []).append(list(added_by(session)))
    for (family, name, table), grown in sorted(groups.items()):
        results = [factor for turns in grown if (factor := _factor(turn.results for turn in turns)) is not None]
        whole = [factor for turns in grown if (factor := _factor(turn.whole for turn in turns)) is not None]
        if results or whole:
            yield [family, name, _spread(results), _spread(whole), f"{table:.1f}"]


# -------------------------------------------------------------------------------------------------------- the correction


def _last_ratio(reports: Sequence[UsageReport]) -> Calibration:
    last = reports[-1] if reports else None
    return Calibration(last.reported_tokens / last.counted_tokens) if last and last.counted_tokens else Calibration()


Law = Callable[[Sequence[UsageReport]], Calibration]
"""The calibration after the reports so far."""

LAWS: Mapping[str, Law] = {
    "the table's factor alone": lambda _: Calibration(),
    "ratio of the last report": _last_ratio,
    "slope and offset": calibration_of,
}
"""The laws that are compared; undrift uses the last one."""


def _is_news(law: Law, kept: Sequence[UsageReport], report: UsageReport) -> bool:
    """As `is_news`, which speaks for `calibration_of`; every law is told what it misses itself."""
    if law is calibration_of:
        return is_news(kept, report)
    return abs(law(kept).tokens(report.counted_tokens) / report.reported_tokens - 1) > _NEWS


@dataclass(frozen=True, slots=True)
class _Judged:
    """The relative errors of one session under one law, early turns left out."""

    next: list[float]
    hidden: list[float]
    news: list[UsageReport]  # what was kept


def _judge(session: Session, law: Law) -> _Judged:
    """Foretell each report by what was known before it, and what is left after half of the messages went."""
    judged = _Judged([], [], [])
    kept: list[UsageReport] = []
    number, model, first = 0, "", 0
    for turn in session.turns:
        if turn.answer.model != model:
            model, kept, number, first = turn.answer.model, [], 0, turn.first
        factor = lookup(model).token_factor
        counted = round(factor * (session.before[turn.index] - session.before[turn.first]))
        report = UsageReport(counted, turn.answer.reported_tokens)
        number += 1
        if number > _EARLY_TURNS and turn.first == first:
            errors = judged.hidden if turn.is_hidden else judged.next
            errors.append(law(kept).tokens(counted) / report.reported_tokens - 1)
        first = turn.first
        if is_plausible(report, unseen_tokens=_UNSEEN_TOKENS) and _is_news(law, kept, report):
            kept.append(report)
            judged.news.append(report)
    return judged


def _cuts(session: Session, exact: Session, law: Law) -> list[float]:
    """Errors after cuts that are made up, of what an engine with the whole request in its hands foretells.

    The system prompt and the tools are taken from the first report, as if they had been counted; what is left after a
    cut is the report less the table's factor x `exact` of what went. Turns at which that sum misses the report itself
    by more than a twentieth are left out: the prompt was not what the recording holds.
    """
    errors: list[float] = []
    kept: list[UsageReport] = []
    start = session.turns[0]
    if start.first:  # its beginning stands in another file
        return []
    factor = lookup(start.answer.model).token_factor
    unseen = start.answer.reported_tokens - factor * exact.before[start.index]
    for number, turn in enumerate(session.turns):
        if turn.answer.model != start.answer.model or turn.first != start.first:
            break
        messages, reported = session.before[turn.index], turn.answer.reported_tokens
        report = UsageReport(max(0, round(unseen + factor * messages)), reported)
        if is_plausible(report) and _is_news(law, kept, report):
            kept.append(report)
        is_whole = abs(unseen + factor * exact.before[turn.index] - reported) < _FAITHFUL * reported
        if is_whole and number >= _EARLY_TURNS and not number % _CUT_EVERY and factor * messages > _CUT_TOKENS:
            half = next(place for place, tokens in enumerate(session.before) if tokens >= messages / 2)
            left = max(0, round(report.counted_tokens - factor * session.before[half]))
            errors.append(law(kept).tokens(left) / (reported - factor * exact.before[half]) - 1)
    return errors


def _share(errors: Sequence[Sequence[float]]) -> list[str]:
    """Median of the sessions' median errors, the worst of these, turns under by more than a tenth, the worst turn."""
    medians = [median(map(abs, some)) for some in errors if some]
    turns = [error for some in errors for error in some]
    if not medians:
        return ["-"] * 5
    under = sum(error < _UNDER for error in turns)
    sessions = sum(any(error < _UNDER for error in some) for some in errors)
    worst = f"{100 * min(turns):.1f}%"
    return [
        f"{len(medians)}",
        f"{100 * median(medians):.2f}%",
        f"{100 * max(medians):.2f}%",
        f"{under:,} of {len(turns):,} in {sessions}",
        worst,
    ]


# ---------------------------------------------------------------------------------------------------------------- printing


def exact_counter() -> Callable[[str], int] | None:
    """Give an exact count of o200k, where the package rs-bpe is installed."""
    try:
        from rs_bpe.bpe import openai  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    encoder = openai.o200k_base()

    def count(text: str) -> int:
        return int(encoder.count(text))

    return count


def sessions_below(folder: Path, count: Callable[[str], int]) -> list[Session]:
    """Read every session below a folder whose client recorded usage; what a later file repeats is left out of it."""
    found: list[Session] = []
    seen: set[tuple[str, int, int]] = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            recording = open_recording(path)
        except TranscriptError:
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        before = [0, *accumulate(count(_text(entry)) for entry in recording.entries)]
        turns = []
        for turn in turns_of(recording, answers_in(lines, recording.format)):
            key = (turn.answer.model, turn.answer.reported_tokens, before[turn.index] - before[turn.first])
            if key not in seen:  # a session that goes on from another one holds its beginning again
                turns.append(turn)
            seen.add(key)
        if turns:
            found.append(Session(path.name, recording.entries, turns, before))
    return found


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([title, "", *lines, ""])


_ERRORS = ("law", "sessions", "median error", "worst session", "turns under by >10%", "worst turn")


def main(arguments: Sequence[str]) -> int:
    """Print the factors and the errors."""
    parser = argparse.ArgumentParser(prog="python -m bench.calibration", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="recorded sessions are read below it")
    parser.add_argument("--counter", default="estimate", help="the counter that is corrected (default: %(default)s)")
    wanted = parser.parse_args(arguments)
    try:
        count = counter(wanted.counter)
    except InputError as error:
        parser.error(str(error))
    counted = sessions_below(wanted.folder, count)
    if not counted:
        print("nothing to learn from: no recorded session there reports its usage", file=sys.stderr)
        return 1
    exact = exact_counter()
    truth = sessions_below(wanted.folder, exact) if exact else counted
    print(f"{len(counted)} sessions with usage, {sum(len(session.turns) for session in counted):,} prompts\n")
    unit = "o200k, exact" if exact else f"{wanted.counter}; rs-bpe is not installed"
    head = ("family", "model", "tool results alone", "whole turns", "table")
    print(_table(f"Tokens reported per token of {unit}; (range; sessions)", head, _factor_rows(truth)))
    if exact:
        print(_table(f"The same, per token of {wanted.counter}", head, _factor_rows(counted)))
    long = [session for session in counted if len(session.turns) >= _LONG_TURNS]
    judged = {name: [_judge(session, law) for session in long] for name, law in LAWS.items()}
    news = sum(len(one.news) for one in judged["slope and offset"])
    print(f"Kept by slope and offset: {news:,} reports of {sum(len(session.turns) for session in long):,}\n")
    for title, part in (("The next report, after the first five turns", "next"), ("Where a text is hidden", "hidden")):
        print(
            _table(title, _ERRORS, ([name, *_share([getattr(j, part) for j in all_])] for name, all_ in judged.items()))
        )
    exactly = {session.name: session for session in truth}
    rows = ([name, *_share([_cuts(s, exactly[s.name], law) for s in long])] for name, law in LAWS.items())
    print(_table("After half of the messages went", _ERRORS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
