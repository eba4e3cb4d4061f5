"""The part of a page about one session: its timeline, its compactions, and its bill. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from undrift.core.autopsy.findings import AutopsyBill, Compaction, Fetch, Held
from undrift.core.guard import money
from undrift.recordings.autopsy import Postmortem
from undrift.recordings.headline import as_share
from undrift.report.chart import timeline
from undrift.report.markup import count, day, excerpt, minutes, moment, percent, tag, text, thousands

__all__ = ["SessionPart", "session_name"]

_LONG_TITLE = 80
"""From so many characters on a title may have been cut."""
_MOST_COMPACTIONS = 100
_MOST_RULES = 20
_TRIGGERS = {"auto": "automatic", "manual": "manual"}


@dataclass(frozen=True, slots=True)
class SessionPart:
    """One session on a page.

    Args:
        number: Its number on the page, from 1.
        redacted: Its texts are empty, and its times are days and spans.
        alone: It is the only session, so everything is open and long lists are longer.
    """

    one: Postmortem
    number: int
    redacted: bool
    alone: bool

    def section(self) -> str:
        """Give the section."""
        one, found = self.one, self.one.autopsy
        title = tag("h2", text(session_name(one, self.number)), id=f"s{self.number}")
        path = [] if self.redacted else [tag("p", text(one.path), class_="path")]
        shown = found.compactions[:_MOST_COMPACTIONS]
        details = [part for compaction in shown for part in self._compaction(compaction)]
        if len(found.compactions) > len(shown):
            more = f"{len(found.compactions) - len(shown):,} later compactions count in the figures at the top only."
            details.append(tag("p", text(more), class_="soft"))
        details += [tag("h3", "Bill"), tag("p", text(" ".join(_bill(one, found.bill))))]
        body = "".join(details)
        return tag(
            "section",
            title,
            tag("p", text(" · ".join(self._about())), class_="soft"),
            timeline(found, redacted=self.redacted),
            tag("ol", *(tag("li", *self._line(c)) for c in shown), class_="cuts"),
            body if self.alone else tag("details", tag("summary", "Every compaction, and the bill"), body),
            *path,
            class_="card",
        )

    def _about(self) -> Iterator[str]:
        one, found = self.one, self.one.autopsy
        starts = [point.at_ms for point in found.timeline if point.at_ms]
        if starts:
            yield day(starts[0])
        if one.format:
            yield one.format
        yield excerpt(one.model or "", 60) or "model unknown"
        span = f" in {minutes(found.duration_ms)}" if found.duration_ms else ""
        yield count(found.calls, "call") + span
        yield "tokens as the provider counted" if found.timeline_recorded else "tokens estimated from the texts"

    def _line(self, compaction: Compaction) -> Iterator[str]:
        """Yield a compaction on one line: the window before and after, the loss, what was read again."""
        after = "?" if compaction.tokens_after is None else thousands(compaction.tokens_after)
        yield text(f"{thousands(compaction.tokens_before)} → {after} tokens. ")
        used = compaction.identifiers + compaction.lines
        if compaction.encrypted:
            yield text("Its summary is encrypted. ")
        elif used:
            held = compaction.native.identifiers + compaction.native.lines
            yield text(f"Lost {as_share(1 - held / used)} of what was used next. ")
        if compaction.fetched.tokens:
            usd = self.one.usd(compaction.fetched.tokens)
            paid = "" if usd is None else f" ({money(usd)})"
            yield text(f"{compaction.fetched.tokens:,} tokens read again{paid}.")

    def _compaction(self, compaction: Compaction) -> Iterator[str]:
        one = self.one
        how = _TRIGGERS.get(compaction.trigger, "")
        after = "?" if compaction.tokens_after is None else f"{compaction.tokens_after:,}"
        at = [] if not compaction.at_ms or self.redacted else [f"{moment(compaction.at_ms)} UTC"]
        where = [f"after call {compaction.calls_before:,}", f"{compaction.tokens_before:,} to {after} tokens"]
        counted = [] if compaction.recorded else ["estimated"]
        copy = ["a copy of a compaction above, counted once"] if compaction.repeated else []
        yield tag("h3", text(f"Compaction {compaction.number}" + (f", {how}" if how else "")))
        yield tag("p", text(" · ".join([*at, *where, *counted, *copy])), class_="soft")
        if compaction.identifiers or compaction.lines:
            yield _held_table(one, compaction)
        yield from self._fetches(compaction)
        cost = compaction.cost
        own = f"It cost {one.price(cost.total)}: the call that wrote the summary, and writing the new prompt to the cache."
        ours = f" undrift’s text would have cost {one.price(cost.restore)}." if cost.restore else ""  # noqa: RUF001
        yield tag("p", text(own + ours))
        if compaction.given is not None:
            given = compaction.given
            held = given.held.identifiers + given.held.lines
            used = compaction.identifiers + compaction.lines
            text_of_ours = f"undrift gave back {given.tokens:,} tokens after it"
            sentence = f"{text_of_ours}: they hold {held:,} of the {used:,} names and lines that the agent used next."
            yield tag("p", text(sentence))
        if compaction.lost_rules:
            end = "." if self.redacted else ":"
            yield tag("p", text(f"{count(len(compaction.lost_rules), 'rule')} of yours, never mentioned again{end}"))
            stated = [rule.text for rule in compaction.lost_rules if rule.text]
            yield from (tag("blockquote", text(rule)) for rule in stated[:_MOST_RULES])
            if len(stated) > _MOST_RULES:
                yield tag("p", text(f"and {len(stated) - _MOST_RULES:,} more"), class_="soft")

    def _fetches(self, compaction: Compaction) -> Iterator[str]:
        fetches = compaction.fetches
        if not fetches:
            return
        first = fetches[0]
        soon = count(first.call, "call")
        soon += "" if first.after_ms is None else f", {minutes(first.after_ms)}"
        usual = f"{compaction.usual_tokens:,} in the {count(compaction.usual_calls, 'call')} before it"
        in_window = (
            f"{compaction.fetched.tokens:,} tokens in the next {count(compaction.window_calls, 'call')} ({usual})"
        )
        yield tag("p", text(f"Read again: {in_window}, the first {soon} after it."))
        if self.redacted:
            return
        most = 100 if self.alone else 6
        largest = sorted(sorted(fetches, key=lambda fetch: -fetch.known_tokens)[:most], key=lambda fetch: fetch.call)
        heads = (("call", ""), ("what", "what"), ("known tokens", ""), ("last read", "wide"))
        head = tag("tr", *(tag("th", name, class_=kind, scope="col") for name, kind in heads))
        more = len(fetches) - len(largest)
        rest = [tag("p", text(f"and {more:,} smaller ones"), class_="soft")] if more else []
        table = tag("table", tag("thead", head), tag("tbody", *map(_fetch, largest)))
        yield tag(
            "details", tag("summary", text(f"{count(len(fetches), 'result')} up to the next compaction")), table, *rest
        )


def session_name(one: Postmortem, number: int) -> str:
    """Return the title of a session, else the name of its file; a redacted one has its number only."""
    return _whole_words(excerpt(one.title, 120)) or excerpt(PurePath(one.path).name, 100) or f"Session {number}"


def _whole_words(title: str) -> str:
    """End a long title between two words: a recording's title may be cut within one."""
    return title if len(title) < _LONG_TITLE else f"{title.rstrip('…').rpartition(' ')[0] or title}…"


def _held_table(one: Postmortem, compaction: Compaction) -> str:
    client = "readable parts (the summary is encrypted)" if compaction.encrypted else "the client’s own summary"  # noqa: RUF001
    rows: list[tuple[str, Held | None]] = [
        (client, compaction.native),
        (f"restore text of undrift, {one.budget_tokens:,} tokens", compaction.ours),
        ("both together", compaction.together),
        ("what the agent read again", compaction.fetched),
    ]
    used = f"used in the next {count(compaction.window_calls, 'call')}"
    lines = [_row(used, f"{compaction.identifiers:,}", f"{compaction.lines:,}", "")]
    for name, held in rows:
        if held is not None:
            names = f"{held.identifiers:,} ({percent(held.identifiers, compaction.identifiers)})"
            code = f"{held.lines:,} ({percent(held.lines, compaction.lines)})"
            lines.append(_row(name, names, code, f"{held.tokens:,}"))
    heads = (("found in", ""), ("names", ""), ("lines of code", ""), ("tokens", "wide"))
    head = tag("tr", *(tag("th", name, class_=kind, scope="col") for name, kind in heads))
    return tag("table", tag("thead", head), tag("tbody", *lines))


def _row(name: str, names: str, code: str, tokens: str) -> str:
    cells = (tag("td", text(names)), tag("td", text(code)), tag("td", text(tokens), class_="wide"))
    return tag("tr", tag("th", text(name), scope="row"), *cells)


def _fetch(fetch: Fetch) -> str:
    before = f"{count(fetch.read_calls_before, 'call')} before" if fetch.read_calls_before else "just before"
    after = "" if fetch.after_ms is None else f", {minutes(fetch.after_ms)} after"
    what = tag("td", text(excerpt(fetch.what, 140)), tag("span", text(excerpt(fetch.tool, 60) + after)), class_="what")
    known = tag("td", text(f"{fetch.known_tokens:,} of {fetch.tokens:,}"))
    return tag("tr", tag("td", f"+{fetch.call:,}"), what, known, tag("td", text(before), class_="wide"))


def _bill(one: Postmortem, bill: AutopsyBill) -> Iterator[str]:
    if not bill.prompts:
        yield "No prompt is recorded."
        return
    source = "as the provider counted" if bill.recorded else "estimated from the recorded texts"
    prices = f"; prices of {one.priced_as}" if one.priced_as else ""
    yield f"{one.price(bill.cost)} for {count(bill.prompts, 'prompt')}, input only ({source}{prices})."
    if bill.everything is not None:
        yield (
            f"With the calls that wrote the summaries it is {one.price(bill.cost + bill.summaries)}; sending everything "
            f"would have cost {one.price(bill.everything)}, as estimated."
        )
    yield (
        f"{bill.pauses:,} came after a pause of more than five minutes; {bill.cold_prompts:,} found the cache cold and "
        f"cost {bill.cold_share:.0%} of it."
    )
    if bill.fixed_tokens is not None and bill.fixed_share is not None:
        yield (
            f"System prompt, tool definitions and memory files together: about {bill.fixed_tokens:,} tokens in every "
            f"prompt, {bill.fixed_share:.0%} of it."
        )
    yield "Tool definitions alone are not recorded."
