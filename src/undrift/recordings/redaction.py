"""Findings without any recorded text: no path, title, name of a file or tool, model of the user, rule or id. Pure.

Law: a text stays only if it is one of ours: a format, a name in our table of models, a kind of trigger. Figures stay.
The time of day is removed too: each session begins at midnight of its day, and all its times move with it.
"""

from dataclasses import replace

from undrift.core.autopsy.findings import Autopsy, Compaction, Fetch, LostRule
from undrift.recordings.autopsy import Postmortem
from undrift.settings.model_table import UNKNOWN, lookup
from undrift.transcripts import FORMATS

__all__ = ["redacted"]

_TRIGGERS = frozenset({"auto", "manual"})
_DAY_MS = 86_400_000


def redacted(one: Postmortem) -> Postmortem:
    """Return the findings of a session with nothing but figures, days and names of ours."""
    model = lookup(one.model)
    return Postmortem(
        path="",
        format=one.format if one.format in FORMATS else "",
        model=None if model.name == UNKNOWN.name else model.name,
        priced_as=one.priced_as if one.priced_as == model.name else "",
        usd_per_million=one.usd_per_million,
        budget_tokens=one.budget_tokens,
        autopsy=_autopsy(one.autopsy),
        unfinished=one.unfinished,
        title="",
    )


def _autopsy(found: Autopsy) -> Autopsy:
    times = [point.at_ms for point in found.timeline] + [one.at_ms for one in found.compactions]
    first_ms = min((at_ms for at_ms in times if at_ms), default=0)
    shift_ms = first_ms % _DAY_MS
    return replace(
        found,
        compactions=tuple(_compaction(one, shift_ms) for one in found.compactions),
        timeline=tuple(replace(point, at_ms=_shifted(point.at_ms, shift_ms)) for point in found.timeline),
    )


def _compaction(one: Compaction, shift_ms: int) -> Compaction:
    return replace(
        one,
        at_ms=_shifted(one.at_ms, shift_ms),
        trigger=one.trigger if one.trigger in _TRIGGERS else "",
        fetches=tuple(_fetch(fetch) for fetch in one.fetches),
        lost_rules=tuple(LostRule("", "", rule.calls_before) for rule in one.lost_rules),
    )


def _fetch(fetch: Fetch) -> Fetch:
    return replace(fetch, tool="", what="", entry_id="")


def _shifted(at_ms: int | None, shift_ms: int) -> int | None:
    return at_ms - shift_ms if at_ms else None
