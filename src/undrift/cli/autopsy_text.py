"""What compactions threw away, drawn for a human: one session as a story, several as a table.

Law: nothing of a recording reaches the terminal unescaped; every sentence can be checked against ``--json``.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from undrift.cli.draw import Column, draw, say
from undrift.cli.draw import console as make_console
from undrift.cli.show import count, first_line, safe
from undrift.core.autopsy import AutopsyBill, Compaction, Fetch, Held
from undrift.recordings.autopsy import Postmortem, Totals

__all__ = ["show_one", "show_several"]

_MOST_FETCHES = 8
_MOST_RULES = 8
_TRIGGERS = {"auto": "automatic", "manual": "manual"}
_KEY = (
    "used: identifiers and lines of code that the agent had learned before and used in its next 30 calls; summary: the "
    "share of them in the client's own summary; + undrift: with undrift restore beside it; read again: tokens."
)


def show_one(one: Postmortem) -> None:
    """Tell the story of one session."""
    console = make_console()
    console.print(Text(safe(one.path), style="bold"), soft_wrap=True)
    found = one.autopsy
    about = [one.format, safe(one.model or "model unknown"), count(found.calls, "call"), _span(found.duration_ms)]
    say(console, " · ".join([*about, count(len(found.compactions), "compaction")]))
    for compaction in found.compactions:
        _compaction(console, one, compaction)
    if not found.compactions:
        say(console, "\nNo compaction: nothing was thrown away.")
    console.print()
    for sentence in _bill(one, found.bill):
        say(console, sentence)
    if found.compactions:
        say(console, "\nWhat undrift would give back now:  undrift restore FILE")
    if one.unfinished:
        say(console, "note: the last line of the file is cut; the session may still be running")


def show_several(found: Sequence[Postmortem], sums: Totals) -> None:
    """Show a table, one row a compaction, and what all of them come to."""
    console = make_console()
    names = ("", "calls", "window", "used", "summary", "+ undrift", "read again", "first after")
    rows = [
        (f"{number}{'*' if compaction.repeated else ''}", *_cells(compaction))
        for number, one in enumerate(found, 1)
        for compaction in one.autopsy.compactions
    ]
    if sums.compactions:
        draw(console, [Column(name) for name in names], rows)
    for number, one in enumerate(found, 1):  # not in the table: a path is to be copied, not to be folded
        console.print(f"{number:>3}  {safe(one.path)}", soft_wrap=True)
    console.print()
    for sentence in _summary(found, sums):
        say(console, sentence)
    say(console, "The whole story of one: undrift autopsy FILE. A page with timelines: --html OUT")


def _cells(one: Compaction) -> list[str]:
    used = one.identifiers + one.lines
    fetches = one.fetches_in_window
    return [
        f"{one.calls_before:,}",
        f"{_k(one.tokens_before)} → {_k(one.tokens_after) if one.tokens_after is not None else '?'}",
        f"{used:,}",
        ("encrypted" if one.encrypted else _share(one.native, one)) if used else "",
        _share(one.together, one) if used and one.together else "",
        f"{one.fetched.tokens:,}" if fetches else "0",
        _soon(fetches[0]) if fetches else "",
    ]


def _summary(found: Sequence[Postmortem], sums: Totals) -> list[str]:
    """Say what all compactions come to; each of them once."""
    if not sums.compactions:
        return [f"{count(len(found), 'session')}, no compaction: nothing was thrown away."]
    size = f"{count(sums.compactions, 'compaction')} took {sums.dropped_tokens:,} tokens out of the windows."
    lines = [
        _KEY,
        f"{size} In the next calls (at most 30 each) the agents used {_pair(sums.needed)} that they had learned before.",
    ]
    if sum(sums.readable):
        lines.append(f"The clients' own summaries hold {_of(sums.native, sums.readable)} of them.")
    if sum(sums.needed):
        lines.append(f"With undrift restore beside them: {_of(sums.together, sums.needed)}.")
        lines.append(f"The agents fetched {_of(sums.fetched, sums.needed)} again before they used them.")
    lines.append(
        f"Read again: {sums.fetched_tokens:,} tokens in {count(sums.window_calls, 'call')} after the compactions, "
        f"{sums.usual_tokens:,} in {count(sums.usual_calls, 'call')} before them."
    )
    if sums.rules:
        lines.append(f"Never mentioned again: {sums.lost_rules:,} of {count(sums.rules, 'rule')} of yours.")
    encrypted = sum(c.encrypted and not c.repeated for one in found for c in one.autopsy.compactions)
    if encrypted:
        lines.append(f"{count(encrypted, 'summary is', 'summaries are')} encrypted: what they hold cannot be told.")
    if any(c.repeated for one in found for c in one.autopsy.compactions):
        lines.append("*: the client copied the session; the sums count its compaction once.")
    return lines


def _compaction(console: Console, one: Postmortem, compaction: Compaction) -> None:
    how = _TRIGGERS.get(compaction.trigger, "")
    window = f"{compaction.tokens_before:,} → {_number(compaction.tokens_after)} tokens"
    estimated = "" if compaction.recorded else " (estimated)"
    head = [f"Compaction {compaction.number}", how, f"after call {compaction.calls_before:,}", window + estimated]
    console.print()
    say(console, " · ".join(part for part in head if part), "bold")
    if compaction.repeated:
        say(console, "The same compaction stands in a file above.")
    if compaction.identifiers or compaction.lines:
        say(
            console,
            f"In the next {count(compaction.window_calls, 'call')} the agent used "
            f"{_pair((compaction.identifiers, compaction.lines))} that it had learned before.",
        )
        _held(console, one, compaction)
    elif compaction.window_calls:
        say(
            console,
            f"In the next {count(compaction.window_calls, 'call')} the agent used nothing rare of what it knew.",
        )
    else:
        say(console, "No call followed: it is too early to say what was lost.")
    _fetches(console, compaction)
    _rules(console, compaction)


def _held(console: Console, one: Postmortem, compaction: Compaction) -> None:
    columns = (Column("of these", words=True), Column("identifiers"), Column("lines of code"), Column("tokens"))
    client = "kept in the clear (the summary is encrypted)" if compaction.encrypted else "in the client's own summary"
    helds: list[tuple[str, Held | None]] = [
        (client, compaction.native),
        (f"in undrift restore --budget {one.budget_tokens}", compaction.ours),
        ("in both side by side", compaction.together),
        ("fetched again by the agent", compaction.fetched),
    ]
    rows = [
        (
            name,
            _part(held.identifiers, compaction.identifiers),
            _part(held.lines, compaction.lines),
            f"{held.tokens:,}",
        )
        for name, held in helds
        if held is not None
    ]
    draw(console, columns, rows)


def _fetches(console: Console, compaction: Compaction) -> None:
    fetches = compaction.fetches_in_window
    if not fetches:
        if compaction.window_calls:
            say(console, "Nothing of size was read again.")
        return
    usual = f"{compaction.usual_tokens:,} in the {count(compaction.usual_calls, 'call')} before"
    say(
        console,
        f"Read again: {compaction.fetched.tokens:,} tokens in {count(len(fetches), 'result')} ({usual}), "
        f"the first {_soon(fetches[0])} after:",
    )
    columns = (
        Column("call"),
        Column("tool", words=True),
        Column("what", words=True, short=True),
        Column("tokens"),
        Column("read before"),
    )
    largest = sorted(fetches, key=lambda fetch: -fetch.known_tokens)[:_MOST_FETCHES]
    rows = [
        (
            f"  call +{fetch.call}",
            safe(fetch.tool),
            _tail(fetch.what),
            count(fetch.known_tokens, "token"),
            f"last read {count(fetch.read_calls_before, 'call')} before it",
        )
        for fetch in fetches
        if fetch in largest
    ]
    draw(console, columns, rows, head=False)
    if len(fetches) > len(largest):
        say(console, f"  and {len(fetches) - len(largest):,} more (all of them: --json)")


def _rules(console: Console, compaction: Compaction) -> None:
    lost = compaction.lost_rules
    if not lost:
        return
    say(console, f"{len(lost):,} of {count(compaction.rules, 'rule')} of yours, never mentioned again:")
    for rule in lost[:_MOST_RULES]:
        say(console, f"  “{safe(rule.text)}”")
    if len(lost) > _MOST_RULES:
        say(console, f"  and {len(lost) - _MOST_RULES:,} more (all of them: --json)")


def _bill(one: Postmortem, bill: AutopsyBill) -> list[str]:
    """Say what the prompts cost, and how much of it bought nothing."""
    if not bill.prompts:
        return []
    usd = one.usd(bill.cost)
    total = f"${usd:,.2f}" if usd is not None else f"{bill.cost:,.0f} plain input tokens"
    source = "as the provider counted" if bill.recorded else "estimated from the recorded texts"
    lines = [f"Bill, input only: {total} for {count(bill.prompts, 'prompt')} ({source}; prices of {one.priced_as})."]
    if bill.pauses:
        lines.append(
            f"{count(bill.pauses, 'prompt')} came after a pause of more than five minutes; {bill.cold_prompts:,} found the "
            f"cache cold and cost {bill.cold_share:.0%} of the bill."
        )
    else:
        lines.append("No prompt came after a pause of more than five minutes.")
    if bill.fixed_tokens is not None and bill.fixed_share is not None:
        lines.append(
            f"System prompt, tool definitions and memory files together: about {bill.fixed_tokens:,} tokens in every "
            f"prompt, {bill.fixed_share:.0%} of the bill. Tool definitions alone: not recorded."
        )
    else:
        lines.append("Tool definitions: not recorded.")
    return lines


def _soon(fetch: Fetch) -> str:
    """Say how soon after the compaction a fetch came."""
    calls = count(fetch.call, "call")
    return calls if fetch.after_ms is None else f"{calls}, {_span(fetch.after_ms)}"


def _span(milliseconds: int) -> str:
    minutes = milliseconds / 60_000
    if minutes < 120:
        return f"{minutes:.0f} min" if minutes >= 1 else "<1 min"
    return f"{minutes / 60:.0f} h" if minutes < 2_880 else f"{minutes / 1_440:.0f} days"


def _pair(value: tuple[int, int]) -> str:
    return f"{count(value[0], 'identifier')} and {count(value[1], 'line of code', 'lines of code')}"


def _of(part: tuple[int, int], whole: tuple[int, int]) -> str:
    named = zip(part, whole, ("identifiers", "lines of code"), strict=True)
    return " and ".join(f"{held / needed:.0%} of the {name}" for held, needed, name in named if needed)


def _part(held: int, needed: int) -> str:
    return f"{held:,} ({held / needed:.0%})" if needed else "-"


def _share(held: Held, one: Compaction) -> str:
    return f"{(held.identifiers + held.lines) / (one.identifiers + one.lines):.0%}"


def _k(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1_000:,.0f}k" if tokens >= 10_000 else f"{tokens:,}"


def _number(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def _tail(text: str, limit_characters: int = 48) -> str:
    """Shorten a path from the left, at a folder; anything else from the right."""
    line = first_line(text, 400)
    if len(line) <= limit_characters or not line.startswith(("/", "~")) or " " in line:
        return line
    kept = line[-limit_characters + 1 :]
    return "…" + kept[max(0, kept.find("/")) :]
