"""What a replay showed, drawn for a human: one session as a story, several as a table.

Law: nothing of a recording reaches the terminal unescaped; every sentence can be checked against ``--json``.
"""

import shlex
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from undrift.cli.draw import Column, draw, say
from undrift.cli.draw import console as make_console
from undrift.cli.show import count, first_line, recall_words, safe
from undrift.core.autopsy.survival import SurvivalCount
from undrift.recordings.replay import Left, ReplayReport

__all__ = ["show_one", "show_several"]

_MOST_ROWS = 12
_EVEN = 0.005
"""Within half a per cent nobody would say that one costs more than the other."""
_TELLING = ("malformed line", "cut last line", "nested too deeply", "line is not an object", "unknown")
"""How the reasons begin that say something about the file; the others are its client's own records."""


def show_one(report: ReplayReport, home: str | None) -> None:
    """Tell the story of one session; `home` is what the user gave, to be given again."""
    console = make_console()
    console.print(Text(safe(report.path), style="bold"), soft_wrap=True)
    model = safe(report.cost.model or "model unknown")
    say(console, f"{report.format} · {model} · {count(report.turns, 'turn')}\n")
    if report.prunes:
        _what_left(console, report)
        console.print()
        _figures(console, report)
    elif report.turns:
        say(console, _nothing_left(report))
    for sentence in _sentences(report) if report.turns else ():
        say(console, sentence)
    if report.left:
        ref, where = report.left[0].ref, "" if home is None else f" --home {shlex.quote(safe(home))}"
        console.print(f"\nGet something back:  {recall_words('recall', ref, home)}", soft_wrap=True)
        console.print(f"Why it left:         {recall_words('why', ref, home)}", soft_wrap=True)
        console.print(f"Look for something:  undrift recall --find WORDS{where}", soft_wrap=True)
    _notes(console, report)


def show_several(reports: Sequence[ReplayReport], *, older: int = 0) -> None:
    """Show a table, one row a session, the sessions in the order given."""
    console = make_console()
    names = ("", "turns", "largest prompt", "budget", "prunes", "tokens", "cost", "still there")
    rows = [
        (
            f"{number}",
            f"{report.turns:,}",
            f"{report.peak_before:,} → {report.peak_after:,}" if report.prunes else f"{report.peak_before:,}",
            f"{report.budget_tokens:,}",
            f"{len(report.prunes):,}",
            _change(report.tokens_after, report.tokens_before) if report.prunes else "",
            _change(report.cost.after, report.cost.before) if report.prunes else "",
            f"{report.survival.share:.1%} of {report.survival.needs:,}" if report.survival.needs else "",
        )
        for number, report in enumerate(reports, 1)
    ]
    draw(console, [Column(name) for name in names], rows)
    for number, report in enumerate(reports, 1):  # not in the table: a path is to be copied, not to be folded
        console.print(f"{number:>3}  {safe(report.path)}", soft_wrap=True)
    console.print()
    if not any(report.prunes for report in reports):
        say(console, _nothing_left(max(reports, key=lambda report: report.peak_before)))
    if any(report.prunes and report.cost.change >= _EVEN for report in reports):
        say(console, "Where the cost has gone up, pruning did not pay; that file's own story says why.")
    if over := sum(report.over_budget_turns for report in reports):
        say(console, f"{count(over, 'prompt')} over budget, as what must stay exceeds it.")
    say(console, "The whole story of one, with all notes: undrift replay FILE")
    if older:
        sessions = count(older, "older session of yours is", "older sessions of yours are")
        say(console, f"{sessions} not shown: --limit K takes more.")


def _what_left(console: Console, report: ReplayReport) -> None:
    blocks = sum(report.actions.values())
    words = "the user's words" + (" (of long texts both ends)" if "cut" in report.actions else "")
    say(
        console,
        f"{count(blocks, 'block')} left on {len(report.prunes):,} of {count(report.turns, 'turn')}, to keep each prompt "
        f"within {report.budget_tokens:,} tokens ({safe(report.budget_reason)}). What has to stay did: {words}, the "
        "newest results, what the agent had not seen. Of the rest, what is worth least left (setting policy).\n",
    )
    columns = (
        Column("what left", words=True),
        Column("blocks"),
        Column("tokens"),
        Column("for example"),
        Column("which begins with", words=True, short=True),
    )
    shown, rest = report.left[:_MOST_ROWS], report.left[_MOST_ROWS:]
    if len(rest) == 1:
        shown, rest = report.left, ()
    rows = [
        (_origin(left), f"{left.blocks:,}", f"{left.tokens:,}", left.ref, first_line(left.example.content, 60))
        for left in shown
    ]
    if rest:
        blocks, tokens = sum(left.blocks for left in rest), sum(left.tokens for left in rest)
        rows.append((f"{len(rest):,} more", f"{blocks:,}", f"{tokens:,}", "", "(all of them: --json)"))
    draw(console, columns, rows)
    first, last = report.prunes[0], report.prunes[-1]
    when = f"on turn {first.turn:,}" if first is last else f"on turns {first.turn:,} to {last.turn:,}"
    say(
        console,
        f"{count(len(report.prunes), 'prune')}, {when}; after each the prompt was "
        f"{_range([prune.window_tokens for prune in report.prunes])} tokens.",
    )
    if any(prune.moment for prune in report.prunes):
        say(console, _marks(report))


def _marks(report: ReplayReport) -> str:
    """Say to what marks it was pruned, when, and what that saved."""
    prunes = [prune for prune in report.prunes if prune.moment]
    early = Counter(prune.moment for prune in prunes)
    when = [f"{number:,} {_EARLY[moment]}" for moment, number in sorted(early.items()) if moment in _EARLY]
    marks = (
        f"High-water mark {report.budget_tokens:,} tokens, low-water marks {_range([p.target_tokens for p in prunes])}"
    )
    said = f"; {' and '.join(when)}, below the high one" if when else ""
    saved = sum(prune.saved for prune in prunes)
    return f"{marks}{said}. The beginnings left alone and the moments chosen saved {_money(report, saved)}."


_EARLY = {"pause": "after a pause", "task": "at a task's end"}


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _origin(left: Left) -> str:
    if left.tool is not None:
        part = {"trimmed": "lines of ", "folded": "noise of "}.get(left.kind, "")
        return f"{part}{safe(left.tool)} (tool)"
    who = "the user" if left.what == "user" else "the agent"
    return f"middle of long texts of {who}" if left.kind == "cut" else f"texts of {who}"


def _nothing_left(report: ReplayReport) -> str:
    suggested = max(1_000, report.peak_before // 2 // 1_000 * 1_000)
    return (
        f"Nothing left: the largest prompt is {report.peak_before:,} tokens, the budget {report.budget_tokens:,} "
        f"({safe(report.budget_reason)}). To see what pruning would do: undrift replay FILE --budget {suggested}"
    )


def _figures(console: Console, report: ReplayReport) -> None:
    columns = (Column("", words=True), Column("everything sent"), Column("managed"), Column("change"))
    figures = (
        ("tokens, all prompts", report.tokens_before, report.tokens_after),
        ("largest prompt", report.peak_before, report.peak_after),
    )
    rows = [(name, f"{before:,}", f"{after:,}", _change(after, before)) for name, before, after in figures]
    cost = report.cost
    unit = "cost of all prompts" if cost.usd_per_million is not None else "cost, in plain input tokens"
    rows.append((unit, _money(report, cost.before), _money(report, cost.after), _change(cost.after, cost.before)))
    if report.survival.needs:
        name = f"still there when needed ({report.survival.needs:,})"
        rows.append((name, f"{report.survival_before.share:.1%}", f"{report.survival.share:.1%}", ""))
    draw(console, columns, rows)


def _sentences(report: ReplayReport) -> list[str]:
    """Say what the figures mean; pruning does not always pay, and then this says so."""
    cost = report.cost
    priced = f"{cost.read_price:g} of the input price for a cached token, {cost.write_price:g} for a new one"
    usd = "" if cost.usd_per_million is None else f" of ${cost.usd_per_million:g} a million"
    sum_ = "" if report.prunes else f"{_money(report, cost.before)} for all prompts, "
    lines = [f"Cost: {sum_}with a prefix cache at the prices of {cost.priced_as}: {priced}{usd}; input only."]
    if report.prunes:
        lines.append(_verdict(report))
    if report.beyond_window_turns:
        lines.append(
            "Sending everything would not have worked: "
            f"{count(report.beyond_window_turns, 'prompt of it exceeds', 'prompts of it exceed')} the model's window of {report.window_tokens:,} tokens."
        )
    if report.survival.needs and report.prunes:
        lines.append(_survived(report.survival))
    elif report.prunes:
        lines.append("Nothing from more than 20 messages back was needed later, so survival says nothing here.")
    if report.over_budget_turns:
        lines.append(f"{count(report.over_budget_turns, 'prompt')} over budget, as what must stay exceeds it.")
    return lines


def _verdict(report: ReplayReport) -> str:
    cost = report.cost
    if cost.change <= -_EVEN:
        said = f"Pruning paid: it costs {-cost.change:.1%} less than sending everything"
    elif cost.change < _EVEN:
        said = "Pruning paid for itself and no more: it costs the same as sending everything"
    else:
        said = (
            f"Pruning did not pay: it costs {cost.change:.1%} more than sending everything, as after each prune the "
            "provider writes the rest of the prompt to its cache anew"
        )
    if not cost.refetch:
        return f"{said}."
    total = (cost.after + cost.refetch) / cost.before - 1
    direction = "less" if total < 0 else "more"
    return (
        f"{said}. If the agent fetches again what it had lost, that adds {_money(report, cost.refetch)}: "
        f"{abs(total):.1%} {direction} in all."
    )


def _survived(survival: SurvivalCount) -> str:
    parts = []
    for held, needed, one, more in (
        (survival.identifiers_held, survival.identifiers, "identifier", "identifiers"),
        (survival.lines_held, survival.lines, "line of code", "lines of code"),
    ):
        if needed:
            parts.append(f"{held:,} of {count(needed, one, more)} ({held / needed:.1%})")
    return f"Still there when the agent needed it, more than 20 messages after it was last seen: {' and '.join(parts)}."


def _money(report: ReplayReport, tokens: float) -> str:
    usd = report.cost.usd(tokens)
    if usd is None:
        return f"{tokens:,.0f} tokens"
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:,.4f}"


def _change(after: float, before: float) -> str:
    return f"{after / before - 1:+.1%}" if before else ""


def _notes(console: Console, report: ReplayReport) -> None:
    notes = [safe(warning) for warning in report.warnings]
    damaged = {reason: number for reason, number in report.skipped.items() if reason.startswith(_TELLING)}
    if damaged:
        reasons = ", ".join(f"{safe(reason)} ({number:,})" for reason, number in damaged.items())
        notes.append(f"passed over in the file: {reasons}")
    if notes:
        console.print()
    for note in notes:
        say(console, f"note: {note}")
