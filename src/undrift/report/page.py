"""Findings -> one HTML page that opens from a disk. Pure.

Law: no script, no remote asset, a content security policy that allows neither; every text goes through `markup.text`.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from undrift.core.autopsy.findings import AutopsyBill, Compaction, Fetch, Held
from undrift.recordings.autopsy import Postmortem, Totals
from undrift.report.chart import bars, timeline
from undrift.report.markup import count, minutes, percent, tag, text, thousands
from undrift.report.style import STYLE, policy

__all__ = ["OPENING", "page"]

OPENING = "<!doctype html>\n<!-- a report of undrift autopsy -->"
"""The beginning of every page of ours; a file without it belongs to another program, and is never replaced."""
_MOST_FETCHES = 200
_TITLE = "Compactions: what they removed"
_METHOD = (
    "Used again: identifiers and lines of code that the agent had learned from you or from a tool before the compaction, "
    "that were mentioned at most 6 times, and that it used in its next 30 calls. Held: they stand verbatim in that text. "
    "Read again: results of reading (files, searches, pages) of which at least half had been read before and that the "
    "client had not put back by itself; reading again is at times right, so the calls before the compaction stand beside "
    "it. Measured from the recording alone, on this machine, without a model."
)


def page(found: Sequence[Postmortem], sums: Totals) -> str:
    """Give the page."""
    head = tag(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy())}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        '<meta name="referrer" content="no-referrer"><meta name="generator" content="undrift autopsy">',
        tag("title", text(f"{_TITLE} · undrift autopsy")),
        f"<style>{STYLE}</style>",
    )
    cards = [_card(one) for one in found]
    footer = tag("footer", tag("p", text(_METHOD)))
    body = tag("body", tag("main", *_headline(found, sums), *cards, footer))
    return f"{OPENING}\n{tag('html', head, body, lang='en')}\n"


def _headline(found: Sequence[Postmortem], sums: Totals) -> Iterator[str]:
    yield tag("h1", _TITLE)
    sessions = count(len(found), "session")
    if not sums.compactions:
        yield tag("p", text(f"{sessions}, no compaction: nothing was removed."), class_="soft")
        return
    yield tag("p", text(f"{sessions}, {count(sums.compactions, 'compaction')}. Files were only read."), class_="soft")
    lost = f"of {count(sums.rules, 'rule')} of yours never mentioned again"
    usual = f"tokens read again in {count(sums.window_calls, 'call')} after; {sums.usual_tokens:,} in {sums.usual_calls:,} before"
    yield tag(
        "div",
        _tile(thousands(sums.dropped_tokens), "tokens taken out of the windows"),
        _tile(percent(sum(sums.native), sum(sums.readable)), "of what the agents used again stood in the summaries"),
        _tile(percent(sum(sums.together), sum(sums.needed)), "would have with undrift restore beside them"),
        _tile(thousands(sums.fetched_tokens), usual),
        *([_tile(f"{sums.lost_rules:,}", lost)] if sums.rules else []),
        class_="tiles",
    )
    if sum(sums.needed):
        yield tag("div", tag("h2", "Used again by the agents, and held"), bars(list(_shares(sums))), class_="card")


def _shares(sums: Totals) -> Iterator[tuple[str, str, float, str]]:
    rows = (
        ("in the summaries", "native", sums.native, sums.readable),
        ("with undrift restore beside", "ours", sums.together, sums.needed),
        ("fetched again before use", "again", sums.fetched, sums.needed),
    )
    for kind, name in enumerate(("identifiers", "lines of code")):
        for label, class_, part, whole in rows:
            if whole[kind]:
                share = part[kind] / whole[kind]
                yield f"{name}: {label}", class_, share, f"{share:.0%} of {whole[kind]:,}"


def _tile(figure: str, label: str) -> str:
    return tag("div", tag("b", text(figure)), tag("span", text(label)), class_="tile")


def _card(one: Postmortem) -> str:
    found = one.autopsy
    about = [one.format, one.model or "model unknown", count(found.calls, "call"), minutes(found.duration_ms)]
    source = "as the provider counted" if found.timeline_recorded else "estimated from the recorded texts"
    legend = tag(
        "p",
        tag("span", tag("i", class_="key k1"), text(f"tokens in the window, {source}")),
        tag("span", tag("i", class_="key k2"), "compaction"),
        tag("span", tag("i", class_="key"), "read again (larger: more tokens)"),
        class_="legend",
    )
    return tag(
        "section",
        tag("h2", text(PurePath(one.path).name)),
        tag("p", text(one.path), class_="path"),
        tag("p", text(" · ".join(about)), class_="soft"),
        timeline(found),
        legend,
        *(_compaction(one, compaction) for compaction in found.compactions),
        tag("h3", "Bill"),
        tag("p", text(" ".join(_bill(one, found.bill)))),
        class_="card",
    )


def _compaction(one: Postmortem, compaction: Compaction) -> str:
    how = {"auto": "automatic", "manual": "manual"}.get(compaction.trigger, "")
    after = "?" if compaction.tokens_after is None else f"{compaction.tokens_after:,}"
    counted = "" if compaction.recorded else " (estimated)"
    title = f"Compaction {compaction.number}" + (f", {how}" if how else "")
    where = f"after call {compaction.calls_before:,} · {compaction.tokens_before:,} to {after} tokens{counted}"
    copy = " · a copy of a compaction above, counted once" if compaction.repeated else ""
    parts = [tag("h3", text(title)), tag("p", text(where + copy), class_="soft")]
    if compaction.identifiers or compaction.lines:
        parts.append(_held_table(one, compaction))
    parts += _fetches(compaction)
    cost = compaction.cost
    own = f"It cost {one.price(cost.total)}: the call that wrote the summary and the new prompt’s writing to the cache."  # noqa: RUF001
    ours = f" undrift’s text would have cost {one.price(cost.restore)}." if cost.restore else ""  # noqa: RUF001
    parts.append(tag("p", text(own + ours)))
    if compaction.lost_rules:
        parts.append(tag("p", text(f"{count(len(compaction.lost_rules), 'rule')} of yours, never mentioned again:")))
        parts += [tag("blockquote", text(rule.text)) for rule in compaction.lost_rules]
    return "".join(parts)


def _held_table(one: Postmortem, compaction: Compaction) -> str:
    client = "readable parts (the summary is encrypted)" if compaction.encrypted else "the client’s own summary"  # noqa: RUF001
    rows: list[tuple[str, Held | None]] = [
        (client, compaction.native),
        (f"restore text of undrift, {one.budget_tokens:,} tokens", compaction.ours),
        ("both together", compaction.together),
        ("what the agent read again", compaction.fetched),
    ]
    used = f"used again in the next {count(compaction.window_calls, 'call')}"
    lines = [_row(used, f"{compaction.identifiers:,}", f"{compaction.lines:,}", "")]
    for name, held in rows:
        if held is not None:
            identifiers = f"{held.identifiers:,} ({percent(held.identifiers, compaction.identifiers)})"
            code = f"{held.lines:,} ({percent(held.lines, compaction.lines)})"
            lines.append(_row(name, identifiers, code, f"{held.tokens:,}"))
    heads = tag("tr", *(tag("th", text(name)) for name in ("", "identifiers", "lines of code", "tokens")))
    return tag("div", tag("table", tag("thead", heads), tag("tbody", *lines)), class_="scroll")


def _row(*cells: str) -> str:
    return tag("tr", *(tag("td", text(cell)) for cell in cells))


def _fetches(compaction: Compaction) -> Iterator[str]:
    fetches = compaction.fetches
    if not fetches:
        return
    first = fetches[0]
    soon = count(first.call, "call")
    soon += "" if first.after_ms is None else f", {minutes(first.after_ms)}"
    usual = f"{compaction.usual_tokens:,} in the {count(compaction.usual_calls, 'call')} before it"
    in_window = f"{compaction.fetched.tokens:,} tokens in the next {count(compaction.window_calls, 'call')} ({usual})"
    yield tag("p", text(f"Read again: {in_window}, the first {soon} after it."))
    heads = ("call", "after", "tool", "what", "known tokens", "last read")
    head = tag("tr", *(tag("th", text(name), class_="what" if name == "what" else "") for name in heads))
    body = [_fetch(fetch) for fetch in fetches[:_MOST_FETCHES]]
    more = [] if len(fetches) <= _MOST_FETCHES else [tag("p", text(f"and {len(fetches) - _MOST_FETCHES:,} more"))]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")
    yield tag(
        "details", tag("summary", text(f"{count(len(fetches), 'result')} up to the next compaction")), table, *more
    )


def _fetch(fetch: Fetch) -> str:
    cells = (f"+{fetch.call:,}", "" if fetch.after_ms is None else minutes(fetch.after_ms), fetch.tool)
    rest = (f"{fetch.known_tokens:,} of {fetch.tokens:,}", f"{count(fetch.read_calls_before, 'call')} before")
    return tag(
        "tr",
        *(tag("td", text(cell)) for cell in cells),
        tag("td", text(" ".join(fetch.what.split())), class_="what"),
        *(tag("td", text(cell)) for cell in rest),
    )


def _bill(one: Postmortem, bill: AutopsyBill) -> Iterator[str]:
    if not bill.prompts:
        yield "No prompt is recorded."
        return
    source = "as the provider counted" if bill.recorded else "estimated from the recorded texts"
    yield f"{one.price(bill.cost)} for {count(bill.prompts, 'prompt')}, input only ({source}; prices of {one.priced_as})."
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
