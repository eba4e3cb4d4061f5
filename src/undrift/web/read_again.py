"""The parts of a recording that its prompts' figures do not show: what was read again, and system prompt and tools.

Law: results that were read again are those of `undrift autopsy`, in the calls after each compaction that it looks at. If a
recording does not show it, the answer is None, not a guess.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from undrift import transcripts
from undrift.core.autopsy.bill import SentPrompt, bill_of, line_of
from undrift.core.autopsy.fetches import ReadBefore
from undrift.core.autopsy.given import given_texts
from undrift.core.autopsy.native import CompactionRecord, native_texts
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import WINDOW_CALLS
from undrift.core.cost import Prices
from undrift.errors import TranscriptError
from undrift.recordings.figures import compaction_records, recorded_figures
from undrift.recordings.files import open_recording
from undrift.transcripts.figures import figures
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = [
    "ReadAgain",
    "first_texts_tokens",
    "places_of",
    "read_again",
    "system_and_tools_tokens",
    "system_texts_tokens",
]

_UNREAD = Prices(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """A result that the agent read again after a compaction.

    `prompt`: the place of the first prompt with it, from 0; None: it was not sent yet. `known_tokens`: the part that was known.
    """

    entry_id: str
    known_tokens: int
    prompt: int | None


@dataclass(frozen=True, slots=True)
class _FoundAgain:
    """The results of one search. `is_settled`: no later call can add one."""

    results: tuple[ReadAgain, ...] | None
    is_settled: bool


def read_again(source: PageSource, one: WatchedSession) -> tuple[ReadAgain, ...] | None:
    """Return the results that a session read again after its compactions; None: its recording cannot say."""
    if not one.figures.boundaries or not one.figures.prompts:
        return ()
    stamp = (len(one.figures.boundaries), one.figures.prompts[0])
    settled: _FoundAgain | None = source.noted(one, "read again, settled", stamp, lambda: None)
    if settled is None:
        settled = source.noted(one, "read again", (*stamp, one.last_ms), lambda: _search(one))
        if settled.is_settled:
            source.note(one, "read again, settled", stamp, settled)
    return settled.results


def first_texts_tokens(source: PageSource, one: WatchedSession) -> int | None:
    """Return the recorded texts before the first answer, without those of the system; None: they are not known."""
    found = _beginning(source, one)
    return None if found is None else found[0]


def system_texts_tokens(source: PageSource, one: WatchedSession) -> int | None:
    """Return the recorded texts of the system before the first answer; None: the client records none."""
    found = _beginning(source, one)
    return None if found is None else found[1] or None


def system_and_tools_tokens(one: WatchedSession, texts_tokens: int | None) -> int | None:
    """Return the tokens of system prompt and tools in each prompt, as `undrift autopsy` estimates them."""
    sent = [SentPrompt(None, prompt.prompt_tokens, 0, 0) for prompt in one.figures.prompts]
    return bill_of(sent, _UNREAD, recorded=True, first_texts_tokens=texts_tokens).fixed_tokens


def places_of(steps: Sequence[Step], compactions: Sequence[int]) -> list[int]:
    """Return the compactions with a call before them, as `undrift autopsy` numbers them."""
    first = next((step.index for step in steps if step.kind == "call"), len(steps))
    return [index for index in sorted(set(compactions)) if index > first]


def _beginning(source: PageSource, one: WatchedSession) -> tuple[int, int] | None:
    if not one.figures.prompts:
        return None
    first = one.figures.prompts[0]
    stamp = (first.line, first.at_ms, first.prompt_tokens)
    found: tuple[int, int] | None = source.noted(one, "beginning", stamp, lambda: _read_beginning(one))
    return found


def _read_beginning(one: WatchedSession) -> tuple[int, int] | None:
    first = one.figures.prompts[0]
    try:
        with one.path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            lines = list(islice(file, first.line))
        entries = transcripts.read(lines, format=one.format).entries
    except (OSError, TranscriptError):
        return None
    known = figures(lines, format=one.format).prompts
    if not known or (known[0].line, known[0].at_ms) != (first.line, first.at_ms):
        return None  # the file changed in the meantime, or not all of it was read
    texts = system = 0
    for step in steps_of(entries):
        if step.kind in ("said", "call"):
            break
        if step.kind == "summary":
            return None
        if step.kind == "system":
            system += step.entry.token_count
        elif step.kind != "silent":
            texts += step.entry.token_count
    return texts, system


def _search(one: WatchedSession) -> _FoundAgain:
    newest = len(one.figures.prompts) - 1
    try:
        recorded = recorded_figures(one.path, one.format).prompts
        if len(recorded) <= newest or recorded[newest].line != one.figures.prompts[newest].line:
            return _FoundAgain(None, is_settled=True)  # the middle of a long file was not read
        recording = open_recording(one.path, format=one.format)
    except TranscriptError:
        return _FoundAgain(None, is_settled=False)
    steps = steps_of(recording.entries)
    records = compaction_records(recording, one.figures)
    places = places_of(steps, recording.compactions)
    lines = [prompt.line for prompt in one.figures.prompts]
    last = steps[places[-1] - 1].call if places else 0
    later = next((line_of(step) for step in steps if step.call > last + WINDOW_CALLS), None)
    is_settled = bool(places) and later is not None and lines[-1] > later
    return _FoundAgain(tuple(_found(steps, places, records, lines)), is_settled)


def _found(
    steps: Sequence[Step], places: Sequence[int], records: Mapping[int, CompactionRecord], lines: Sequence[int]
) -> Iterator[ReadAgain]:
    """Yield the results that were read again. `lines`: of the prompts' answers; a result is in the first prompt after it."""
    read, start = ReadBefore(), 0
    for number, index in enumerate(places, 1):
        for step in steps[start:index]:
            read.take(step)
        start, before = index, steps[index - 1].call
        after = steps[index : places[number] if number < len(places) else len(steps)]
        native = native_texts(steps, index, records.get(index))
        own = native.own | given_texts(after).places
        looked = [step for step in after if step.index not in own and step.call <= before + WINDOW_CALLS]
        line_by_id = {step.entry.id: line_of(step) for step in looked}
        for fetch in read.again(looked, native.texts, at_ms=None, calls_before=before):
            place = bisect_right(lines, line_by_id[fetch.entry_id])
            yield ReadAgain(fetch.entry_id, fetch.known_tokens, place if place < len(lines) else None)
