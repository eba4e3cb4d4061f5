"""Examines recorded sessions: what their compactions removed. Reads files, returns findings.

Law: only ever reads; one file at a time, so that memory holds one session.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from undrift.core.autopsy.bill import SentPrompt
from undrift.core.autopsy.examine import Restore, autopsy
from undrift.core.autopsy.findings import Autopsy, Compaction
from undrift.core.cost import Prices
from undrift.core.restore import restore
from undrift.core.text.tokens import characters_per_4, estimate
from undrift.errors import TranscriptError
from undrift.recordings.figures import compaction_records, recorded_figures
from undrift.recordings.files import open_recording
from undrift.settings.model_table import Model, lookup

__all__ = ["Postmortem", "SubAgentSession", "Totals", "counted_once", "examine", "names_a_compaction", "totals"]

_MARKS = (
    b"compact_boundary",
    b"isCompactSummary",
    b'"compacted"',
    b"session.compaction_complete",
    b'"type":"compaction"',
    b'"type": "compaction"',
    b'{"$set":{"messages"',
)
_CHUNK_BYTES = 1 << 20
_OVERLAP_BYTES = 32


class SubAgentSession(TranscriptError):
    """The file is a sub-agent's session, so its compactions are not the user's."""


@dataclass(frozen=True, slots=True)
class Postmortem:
    """One session's findings.

    Args:
        budget_tokens: The budget of `restore` after each compaction.
        cwd: The folder in which the session was held; empty if it is not recorded.
        brief: Whether it comes from the index: without the texts of rules and calls, and without the timeline.
    """

    path: str
    format: str
    model: str | None
    priced_as: str
    usd_per_million: float | None
    budget_tokens: int
    autopsy: Autopsy
    unfinished: bool
    title: str = ""
    cwd: str = ""
    brief: bool = False

    def usd(self, cost: float) -> float | None:
        """Convert a cost in plain input tokens to US dollars. None means: the price is unknown."""
        return None if self.usd_per_million is None else cost * self.usd_per_million / 1_000_000

    def price(self, cost: float) -> str:
        """Write a cost for a reader: in US dollars, or in plain input tokens if the price is unknown."""
        usd = self.usd(cost)
        return f"{cost:,.0f} plain input tokens" if usd is None else f"${usd:,.2f}"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the compactions of several sessions; repeated compactions count one time; sizes in tokens.

    Args:
        needed: Identifiers and lines of code used in the next calls that had been learned before.
        readable: The identifiers and lines used after compactions whose summary can be read: what `native` is of.
        encrypted: Compactions whose summary cannot be read.
        fetched_usd: The input price of `fetched_tokens`; None if a model has no price.
    """

    compactions: int
    dropped_tokens: int
    needed: tuple[int, int]
    readable: tuple[int, int]
    native: tuple[int, int]
    ours: tuple[int, int]
    together: tuple[int, int]
    fetched: tuple[int, int]
    fetches: int
    fetched_tokens: int
    window_calls: int
    usual_tokens: int
    usual_calls: int
    rules: int
    lost_rules: int
    encrypted: int = 0
    fetched_usd: float | None = None

    @property
    def lost(self) -> float | None:
        """The share of `readable` that no summary holds, 0 to 1. None means: there is nothing to judge."""
        used = sum(self.readable)
        return 1 - sum(self.native) / used if used else None


def examine(
    path: str | os.PathLike[str],
    *,
    budget_tokens: int = 5_000,
    format: str | None = None,  # noqa: A002 - as `open_recording` calls it
    models: Sequence[Model] = (),
    give_back: Restore | None = None,
) -> Postmortem:
    """Examine a recorded session.

    `budget_tokens`: the size of what undrift would have given back at each compaction. `give_back`: the text to judge
    at each compaction, made of the entries before it; None: what `restore` gives. Raises SubAgentSession: it is a
    sub-agent's own session. Raises TranscriptError: it cannot be read; the message names the file and the remedy.
    """
    recording = open_recording(path, format=format)
    recorded = recorded_figures(path, recording.format)
    if recorded.sub_agent:
        raise SubAgentSession(f"{os.fspath(path)}: is a sub-agent's own session; give the session that started it")
    model = lookup(recording.model, models)
    prompts = [
        SentPrompt(p.at_ms, p.prompt_tokens, p.cached_tokens, p.written_tokens, p.written_long_tokens, line=p.line)
        for p in recorded.prompts
    ]
    entries = recording.entries
    if not prompts:  # what the client did not count is estimated in the model's own tokens, as a replay does
        factor = model.token_factor
        entries = tuple(replace(e, token_count=math.ceil(estimate(e.content) * factor)) for e in entries)
    found = autopsy(
        entries,
        recording.compactions,
        records=compaction_records(recording, recorded),
        prompts=prompts,
        prices=Prices(model.read_ratio, model.write_ratio),
        restore=give_back or (lambda before: restore(before, budget_tokens=budget_tokens, count=characters_per_4).text),
    )
    return Postmortem(
        path=os.fspath(path),
        format=recording.format,
        model=recording.model,
        priced_as=model.name,
        usd_per_million=model.input_usd_per_million,
        budget_tokens=budget_tokens,
        autopsy=found,
        unfinished=recording.unfinished,
        title=recording.title,
        cwd=recording.cwd or "",
    )


def names_a_compaction(path: Path) -> bool:
    """Tell from a quick look whether a file may contain a compaction; False if it is unreadable."""
    try:
        with path.open("rb") as file:
            tail = b""
            while chunk := file.read(_CHUNK_BYTES):
                text = tail + chunk
                if any(mark in text for mark in _MARKS):
                    return True
                tail = text[-_OVERLAP_BYTES:]
    except OSError:
        return False
    return False


def counted_once(found: Iterable[Postmortem]) -> Iterator[Postmortem]:
    """Mark compactions that an earlier file contains too, because clients copy resumed or forked sessions."""
    seen: set[tuple[int, int, int]] = set()
    for one in found:
        compactions: list[Compaction] = []
        for compaction in one.autopsy.compactions:
            key = (
                compaction.at_ms or 0,
                compaction.tokens_before,
                compaction.calls_before if not compaction.at_ms else 0,
            )
            compactions.append(replace(compaction, repeated=compaction.at_ms is not None and key in seen))
            seen.add(key)
        yield replace(one, autopsy=replace(one.autopsy, compactions=tuple(compactions)))


def totals(found: Iterable[Postmortem]) -> Totals:
    """Add up the findings."""
    files = [(one, [c for c in one.autopsy.compactions if not c.repeated]) for one in found]
    every = [c for _, compactions in files for c in compactions]
    readable = [c for c in every if not c.encrypted]
    prices = [one.usd(c.fetched.tokens) for one, compactions in files for c in compactions if c.fetched.tokens]
    known = [usd for usd in prices if usd is not None]

    def both(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
        listed = list(pairs)
        return sum(pair[0] for pair in listed), sum(pair[1] for pair in listed)

    return Totals(
        compactions=len(every),
        dropped_tokens=sum(c.dropped_tokens for c in every),
        needed=both((c.identifiers, c.lines) for c in every),
        readable=both((c.identifiers, c.lines) for c in readable),
        native=both((c.native.identifiers, c.native.lines) for c in readable),
        ours=both((c.ours.identifiers, c.ours.lines) for c in every if c.ours),
        together=both((c.together.identifiers, c.together.lines) for c in every if c.together),
        fetched=both((c.fetched.identifiers, c.fetched.lines) for c in every),
        fetches=sum(len(c.fetches_in_window) for c in every),
        fetched_tokens=sum(c.fetched.tokens for c in every),
        window_calls=sum(c.window_calls for c in every),
        usual_tokens=sum(c.usual_tokens for c in every),
        usual_calls=sum(c.usual_calls for c in every),
        rules=sum(max((c.rules for c in compactions), default=0) for _, compactions in files),
        lost_rules=sum(len({r.entry_id + r.text for c in of_one for r in c.lost_rules}) for _, of_one in files),
        encrypted=len(every) - len(readable),
        fetched_usd=sum(known) if len(known) == len(prices) else None,
    )
