"""The share of what agents needed after recorded compactions that a text holds: `undrift bench restore`.

For each compaction after at least 15 calls: the identifiers and lines of code that the agent had learned before and used
in its next 30 calls. The texts are the client's own summary with what it attached, the same with the files that a client of
today attaches, the last tokens of the history, `undrift.restore`, and that on top of the client of today: by the client's
profile, as the hooks write it, and as it would be if it knew what the client put back. A bag of names is the control.

Law: only reads. `undrift.core.autopsy.used` says what a need is, and when a text holds it. Sessions continue and
repeat each other: a compaction counts once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from undrift.bench.put_back import files_put_back
from undrift.bench.restore_report import JudgedCompaction, RestoreReport
from undrift.bench.sessions import files_below
from undrift.core.autopsy.fetches import ReadBefore
from undrift.core.autopsy.given import given_texts
from undrift.core.autopsy.native import CompactionRecord, NativeTexts, native_texts
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import Learned, Used, count_held, window_of
from undrift.core.restore import restore
from undrift.core.restore.kept import newest_answer
from undrift.core.text.references import Reference, references_in
from undrift.core.text.tokens import characters_per_4
from undrift.errors import TranscriptError
from undrift.profiles import PROFILES, GivenBack
from undrift.recordings.autopsy import names_a_compaction
from undrift.recordings.figures import compaction_records, recorded_figures
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = [
    "BUDGETS_TOKENS",
    "CLIENTS",
    "HeldTexts",
    "RestoredText",
    "bag_of_names",
    "measure",
    "raw_tail",
    "repository_of",
]

BUDGETS_TOKENS = (5_000, 10_000)
CLIENTS = ("claude-code", "codex")
"""The formats whose compactions are judged."""

RestoredText = Callable[[Sequence[ContextEntry], int, GivenBack, Sequence[str]], str]
"""Writes a text of at most so many tokens from the entries before a compaction, beside what is in the new window.

That is what the client keeps by its own rule, and the texts that are known to be there.
"""

HeldTexts = Callable[[Sequence[ContextEntry], int], Sequence[str]]
"""Gives the texts that a manager of windows would send at a compaction, from the entries before it and a budget in tokens."""

_NOTHING = GivenBack()
_LEAST_CALLS = 15
"""Before a compaction: with fewer, there is not much to lose."""

_GIVES_BACK = {profile.format: profile.gives_back for profile in PROFILES.values() if profile.format}


@dataclass(frozen=True, slots=True)
class _Judged:
    """One compaction, ready for texts to be judged.

    Args:
        turns: The prompts up to the next compaction, as far as the recording goes.
        read_again: The results that repeat what had been read before: the tokens of each, and its used references.
    """

    record: CompactionRecord
    before: Sequence[Step]
    native: NativeTexts
    learned: Learned
    used: Used
    turns: int
    read_again: tuple[tuple[int, frozenset[Reference]], ...]

    def held(self, texts: Sequence[str], *, strict: bool) -> frozenset[Reference]:
        return self.learned.references_held(self.used, texts, strict=strict)


def measure(
    paths: Iterable[Path],
    *,
    budgets: Sequence[int] = BUDGETS_TOKENS,
    restored: RestoredText | None = None,
    others: Mapping[str, HeldTexts] = MappingProxyType({}),
    judging: Callable[[str], AbstractContextManager[object]] = nullcontext,
    progress: Callable[[str], None] = lambda _: None,
) -> RestoreReport:
    """Judge the texts at each compaction of the sessions.

    Args:
        paths: Recorded sessions and folders of them.
        budgets: The sizes of the restore texts, each at least 1 token of 4 characters.
        restored: What writes the texts that are judged; None: `undrift.core.restore.restore`.
        others: Further texts by name, judged beside these.
        judging: What holds while the texts of a repository are written, such as tables that never saw it.
        progress: Called with the name of each file that is read.

    Raises:
        InputError: A folder cannot be read.
    """
    sizes = tuple(sorted(set(budgets)))
    texts = partial(_texts, restored=restored or _restored, budgets=sizes, others=others)
    found: list[JudgedCompaction] = []
    left_out: Counter[str] = Counter()
    seen: set[tuple[int | None, int, tuple[int, int]]] = set()
    for given in paths:
        for path in files_below(given):
            if not names_a_compaction(path):
                continue
            progress(path.name)
            try:
                with judging(repository_of(path)):
                    judged = list(_of_file(path, given, texts))
            except TranscriptError:
                left_out["no recorded session"] += 1
                continue
            for key, one in judged:
                if key not in seen:
                    found.append(one)
                seen.add(key)
    return RestoreReport(tuple(found), sizes, left_out)


def repository_of(path: Path) -> str:
    """Return whose session a file holds: its name's part before ``__``, else the folder that it is in."""
    name, mark, _ = path.name.partition("__")
    return name if mark else path.parent.name


def _of_file(
    path: Path,
    given: Path,
    texts_of: Callable[..., Iterator[tuple[str, frozenset[Reference], int]]],
) -> Iterator[tuple[tuple[int | None, int, tuple[int, int]], JudgedCompaction]]:
    recording = open_recording(path)
    recorded = recorded_figures(path, recording.format)
    if recording.format not in CLIENTS or recorded.sub_agent:
        return
    records = compaction_records(recording, recorded)
    for judged in _judged(steps_of(recording.entries), recording.compactions, records):
        needed = (judged.used.count("identifier"), judged.used.count("line"))
        if not any(needed):
            continue
        texts = list(texts_of(judged, gives_back=_GIVES_BACK.get(recording.format, _NOTHING)))
        held = {name: count_held(references, tokens) for name, references, tokens in texts}
        at_ms = judged.record.at_ms or judged.before[-1].entry.timestamp or None
        yield (
            (at_ms, judged.before[-1].call, needed),
            JudgedCompaction(
                folder=given.name,
                client=recording.format,
                version=judged.record.version,
                repository=repository_of(path),
                session=str(path),
                needed=needed,
                held={name: (one.identifiers, one.lines) for name, one in held.items()},
                tokens={name: one.tokens for name, one in held.items()},
                turns=judged.turns,
                read_again=_summed(tokens for tokens, _ in judged.read_again),
                spared={
                    name: _summed(tokens for tokens, needed in judged.read_again if needed and needed <= references)
                    for name, references, _ in texts
                },
                recorded=judged.native.has_attached,
            ),
        )


def _summed(tokens: Iterable[int]) -> tuple[int, int]:
    counted = list(tokens)
    return len(counted), sum(counted)


def _judged(
    steps: Sequence[Step], compactions: Sequence[int], records: dict[int, CompactionRecord]
) -> Iterator[_Judged]:
    """Yield the compactions with enough calls before them; each is good until the next is asked for."""
    learned, read, taken = Learned(), ReadBefore(), 0
    places = sorted({place for place in compactions if place})
    for number, place in enumerate(places):
        for step in steps[taken:place]:
            learned.take(step)
            read.take(step)
        taken = place
        if steps[place - 1].call < _LEAST_CALLS:
            continue
        record = records.get(place, CompactionRecord())
        after = steps[place : places[number + 1] if number + 1 < len(places) else len(steps)]
        native = native_texts(steps, place, record)
        own = native.own | given_texts(after).places
        window = window_of(after)
        used = learned.used_in(window, own)
        turns = len({(s.entry.metadata or {}).get("message") for s in after if s.kind in ("said", "call")})
        again = tuple(_read_again(read, window, native, used))
        yield _Judged(record, steps[:place], native, learned, used, turns, again)


def _read_again(
    read: ReadBefore, window: Sequence[Step], native: NativeTexts, used: Used
) -> Iterator[tuple[int, frozenset[Reference]]]:
    results = {step.entry.id: step.entry.content for step in window if step.kind == "result"}
    others = [step for step in window if step.index not in native.own]
    for fetch in read.again(others, native.texts, at_ms=None, calls_before=0):
        yield fetch.known_tokens, used.references & references_in(results[fetch.entry_id])


def _texts(
    judged: _Judged,
    *,
    restored: RestoredText,
    budgets: Sequence[int],
    others: Mapping[str, HeldTexts],
    gives_back: GivenBack,
) -> Iterator[tuple[str, frozenset[Reference], int]]:
    """Yield each text's name, what it holds of what was used, and its tokens."""
    entries = [step.entry for step in judged.before]
    native = judged.held(judged.native.texts, strict=False)
    yield "summary", native, judged.native.tokens
    simulated = []
    if gives_back.files and not judged.native.has_attached:
        simulated.append(files_put_back(entries))
    if not judged.record.kept_ids:  # recorded before the client kept it
        simulated.append("\n".join(entry.content for entry in newest_answer(entries, gives_back)))
    today = native | judged.held(simulated, strict=True)
    today_tokens = judged.native.tokens + sum(map(characters_per_4, simulated))
    yield "today", today, today_tokens
    for tokens in budgets:
        alone = {
            "tail": raw_tail(judged.before, tokens),
            "bag": bag_of_names(judged.before, tokens),
            "restore": restored(entries, tokens, _NOTHING, ()),
        }
        for name, text in alone.items():
            yield f"{name}@{tokens}", judged.held([text], strict=True), characters_per_4(text)
        together = {
            "today_restore": restored(entries, tokens, gives_back, ()),
            "today_aware": restored(entries, tokens, gives_back, (*judged.native.texts, *simulated)),
        }
        for name, text in together.items():
            held = today | judged.held([text], strict=True)
            yield f"{name}@{tokens}", held, today_tokens + characters_per_4(text)
        for name, texts_of in others.items():
            sent = texts_of(entries, tokens)
            yield f"{name}@{tokens}", judged.held(sent, strict=True), sum(map(characters_per_4, sent))


def _restored(entries: Sequence[ContextEntry], tokens: int, gives_back: GivenBack, put_back: Sequence[str]) -> str:
    return restore(entries, budget_tokens=tokens, count=characters_per_4, gives_back=gives_back, put_back=put_back).text


def raw_tail(steps: Iterable[Step], budget_tokens: int) -> str:
    """Return the end of a history, `budget_tokens` x 4 characters of it: what any better choice is measured against."""
    left = budget_tokens * 4
    texts: list[str] = []
    for step in reversed(tuple(steps)):
        if left <= 0:
            break
        if step.kind not in ("silent", "system"):
            texts.append(step.entry.content[-left:])
            left -= len(step.entry.content)
    return "\n".join(reversed(texts))


def bag_of_names(steps: Sequence[Step], budget_tokens: int) -> str:
    """Return the newest names of a history without their lines, `budget_tokens` x 4 characters of them: it must hold nothing."""
    names: dict[str, None] = {}
    left = budget_tokens * 4
    for step in reversed(steps):
        if step.kind in ("silent", "system"):
            continue
        for kind, name in sorted(references_in(step.entry.content)):
            if kind == "identifier" and name not in names:
                left -= len(name) + 1
                if left < 0:
                    return " ".join(names)
                names[name] = None
    return " ".join(names)
