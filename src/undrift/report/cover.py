"""The top and the foot of a page: the product, the headline, what it means, and what to type next. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from undrift.core.autopsy.findings import Compaction, Held
from undrift.core.guard import money
from undrift.recordings.autopsy import Postmortem
from undrift.recordings.headline import as_share
from undrift.report.chart import bar
from undrift.report.headline import Headline
from undrift.report.markup import count, day, percent, tag, text, thousands

__all__ = ["Cover", "explanation", "foot", "head", "tiles"]

PRODUCT = "undrift manages the context window of coding agents, on your machine and without asking a model."
"""One line on what the program is."""
_WHAT = (
    "When the context window of a coding agent is full, its client replaces the history by a summary: a compaction. "
    "This page shows what the agent knew before each compaction and used in its next 30 calls, how much of it the "
    "summary kept, and what the agent had to read again."
)
_METHOD = (
    (
        "Used next: identifiers and lines of code that the agent had learned from a person or a tool before the compaction, "
        "that were mentioned at most 6 times, and that it used in its next 30 calls."
    ),
    "Held: they stand word for word in that text. Lost: they do not.",
    (
        "Read again: results of reading (files, searches, pages) of which at least half had been read before, and which the "
        "client had not put back itself. Reading again is at times right, so the calls before the compaction stand beside "
        "it. Its price is the plain input price, counted once."
    ),
    "Everything was measured from the recordings alone. They were only read.",
)


@dataclass(frozen=True, slots=True)
class Cover:
    """The facts around the findings. `redacted`: the page holds figures and days, and no recorded text."""

    version: str
    made_ms: int
    redacted: bool = False

    @property
    def signature(self) -> str:
        """The name and version of the program, and the day."""
        return f"undrift {self.version} · {day(self.made_ms)}"


def head(found: Sequence[Postmortem], headline: Headline, cover: Cover) -> str:
    """Give the first screen: product, headline, explanation, and who may read the page."""
    first, *rest = headline.sentences(yours=not cover.redacted)
    about = [count(headline.sessions, "session"), count(headline.sums.compactions, "compaction"), *_span(found)]
    if headline.early:
        about.append(f"{headline.early:,} older than the recording, not counted")
    for_whom = (
        "Redacted: this page holds figures and days. No path, name, title or recorded text stands in it."
        if cover.redacted
        else "For your eyes: this page names your files and quotes your texts. To share it, write it with --share instead of --html."
    )
    return tag(
        "header",
        tag(
            "p", tag("b", text(f"undrift {cover.version}")), text(f"autopsy, made {day(cover.made_ms)}"), class_="brand"
        ),
        tag("h1", text(first), *(tag("span", text(f" {sentence}")) for sentence in rest)),
        tag("p", text(" · ".join(about)), class_="about"),
        tag("p", tag("b", "What is this? "), text(f"{_WHAT} {PRODUCT}"), class_="what"),
        tag("p", text(for_whom), class_="notice"),
    )


def tiles(headline: Headline, budget_tokens: int) -> str:
    """Give the figures, each with a line that says what it is."""
    sums = headline.sums
    found: list[tuple[str, str, str]] = []
    if headline.lost is not None and headline.lost_with_undrift is not None:
        of = f"of {count(headline.used, 'name')} and lines of code that the agent used next were in no summary"
        ours = f"would have been lost with undrift’s text of {budget_tokens:,} tokens beside the summary"  # noqa: RUF001
        found += [("bad", as_share(headline.lost), of), ("good", as_share(headline.lost_with_undrift), ours)]
    again = f"tokens read again in {count(sums.window_calls, 'call')} after; {sums.usual_tokens:,} in the {sums.usual_calls:,} before"
    if sums.fetched_usd is None:
        found.append(("", thousands(sums.fetched_tokens), again))
    else:
        found.append(("", money(sums.fetched_usd), f"for {thousands(sums.fetched_tokens)} {again}"))
    if headline.cost_usd is not None:
        found.append(("", money(headline.cost_usd), "for the compactions: writing summaries and new prompts"))
    removed = f"tokens removed by {count(sums.compactions, 'compaction')}"
    found.append(("", thousands(sums.dropped_tokens), removed))
    if sums.rules:
        lost = f"of {count(sums.rules, 'rule')} of yours never mentioned again"
        found.append(("", f"{sums.lost_rules:,}", lost))
    return tag(
        "ul",
        *(tag("li", tag("b", text(figure), class_=kind), tag("span", text(label))) for kind, figure, label in found),
        class_="tiles four" if len(found) == 4 else "tiles",
    )


def explanation(found: Sequence[Postmortem], headline: Headline) -> Iterator[str]:
    """Give the shares behind the headline as bars, and what could not be judged.

    They are those of the compactions whose summary can be read; without one, of all.
    """
    once = [c for one in found for c in one.autopsy.compactions if not c.repeated]
    judged = [c for c in once if not c.encrypted]
    columns = [*_bars("names (identifiers)", _names, judged or once), *_bars("lines of code", _lines, judged or once)]
    if not columns:
        return
    notes: list[str] = []
    if headline.sums.encrypted:
        are = "summary is" if headline.sums.encrypted == 1 else "summaries are"
        left_out = "Neither the headline nor these bars count it" if judged else "Their content is not known"
        notes = [tag("p", text(f"{headline.sums.encrypted:,} {are} encrypted. {left_out}."), class_="soft")]
    title = tag("h2", "Found again when the agent used it")
    yield tag("section", title, tag("div", *columns, class_="two"), *notes, class_="card")


def _bars(kind: str, number: Callable[[Compaction | Held], int], compactions: Sequence[Compaction]) -> Iterator[str]:
    used = sum(map(number, compactions))
    if not used:
        return
    rows = (
        ("in the client’s own summary", "native", [c.native for c in compactions if not c.encrypted]),  # noqa: RUF001
        ("with undrift’s text beside it", "ours", [c.together or c.native for c in compactions]),  # noqa: RUF001
        ("read again before use", "again", [c.fetched for c in compactions]),
    )
    parts = [tag("h3", text(f"{used:,} {kind}"))]
    for label, class_, helds in rows:
        if helds:
            held = sum(map(number, helds))
            share = tag("p", tag("span", text(label)), tag("b", percent(held, used)), class_="share")
            parts.append(share + bar(held / used, class_))
    yield tag("div", *parts)


def _names(counted: Compaction | Held) -> int:
    return counted.identifiers


def _lines(counted: Compaction | Held) -> int:
    return counted.lines


def foot(cover: Cover, next_commands: Sequence[tuple[str, str]]) -> str:
    """Give the next commands, the method, and who made the page."""
    rows = [tag("p", text(f"{what}: "), tag("code", text(command))) for what, command in next_commands]
    method = [tag("p", text(sentence)) for sentence in _METHOD]
    return tag(
        "footer",
        tag("section", tag("h2", "Next"), *rows, class_="card"),
        tag("h2", "How it is measured"),
        *method,
        tag("p", text(f"{cover.signature}. {PRODUCT}")),
    )


def _span(found: Sequence[Postmortem]) -> Iterator[str]:
    """Yield the days from the first compaction to the last; nothing if no time is recorded."""
    times = [c.at_ms for one in found for c in one.autopsy.compactions if c.at_ms]
    if times:
        first, last = day(min(times)), day(max(times))
        yield first if first == last else f"{first} to {last}"
