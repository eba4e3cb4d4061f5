"""The result of a replay, drawn for a person: one session as a story, several as a table.

Law: no text of a recording reaches the terminal unescaped; ``--json`` has every figure.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.show import again, count, first_line, safe, typed
from undrift.core.autopsy.survival import SurvivalCount
from undrift.core.budget_price import budget_price, life_in_words
from undrift.core.cost import Prices
from undrift.recordings.replay import Left, ReplayReport
from undrift.settings.model_table import UNKNOWN

__all__ = ["show_one", "show_several"]

_MOST_ROWS = 12
_EVEN = 0.005
"""A difference below half a per cent counts as none."""
_TELLING = ("malformed line", "cut last line", "nested too deeply", "line ", "message of another", "unknown")
"""How the reasons begin that are about the file; the others are its client's own records."""


def show_one(report: ReplayReport, home: str | None) -> None:
    """Print the story of one session.

    `home`: as given on the command line, so that the next commands name it again.
    """
    click.echo(safe(report.path))
    model = safe(report.cost.model or "model unknown")
    say(f"{report.format} · {model} · {count(report.turns, 'turn')}")
    click.echo()
    if report.prunes:
        say(_headline(report), bold=True)
        _what_left(report)
        click.echo()
        _figures(report)
    elif report.turns:
        say(_nothing_left(report), bold=True)
    for sentence in _sentences(report) if report.turns else ():
        say(sentence)
    _notes(report)
    if report.left:
        folder = Path(report.home)
        _kept(folder, "what left")
        ref = report.left[0].ref
        next_commands(
            Get_something_back=f"undrift recall {ref}{again(home)}",
            Why_it_left=f"undrift recall {ref} --why{again(home)}",
            Look_for_something=f"undrift recall --find WORDS{again(home)}",
            Remove_that_copy=f"rm -r {typed(folder)}",
        )
    elif report.turns:
        next_commands(See_what_pruning_would_do=_with_budget(report, _smaller(report), home))


def show_several(
    reports: Sequence[ReplayReport], home: str | None, budget: int | str | None, *, older: int = 0
) -> None:
    """Print a table with a row for each session, in the order given.

    `home`, `budget`: as given on the command line, so that the next commands name them again.
    """
    pruned = [report for report in reports if report.prunes]
    say(_several(reports, pruned), bold=True)
    click.echo()
    names = ("", "turns", "largest prompt", "prunes", "cost", "still there")
    rows = [
        (
            f"{number}",
            f"{report.turns:,}",
            f"{report.peak_before:,} → {report.peak_after:,}" if report.prunes else f"{report.peak_before:,}",
            f"{len(report.prunes):,}",
            _change(report.cost.after, report.cost.before) if report.prunes else "",
            f"{report.survival.share:.1%} of {report.survival.needs:,}" if report.survival.needs else "",
        )
        for number, report in enumerate(reports, 1)
    ]
    draw([Column(name) for name in names], rows)
    for number, report in enumerate(reports, 1):  # not in the table: a path is to be copied
        click.echo(f"{number:>3}  {safe(report.path)}")
    click.echo()
    say("Still there: how much of what the agent needed later was in its prompt.")
    if any(report.cost.change >= _EVEN for report in pruned):
        say("If the cost went up, pruning did not pay; the full report of that session says why.")
    if within := [report for report in reports if report.peak_before <= report.budget_tokens and not report.prunes]:
        say(f"{count(len(within), 'session')} without a prune: no prompt was larger than the budget.")
    if over := sum(report.over_budget_turns for report in reports):
        say(_over(over))
    for sentence in _all_costs(reports):
        say(sentence)
    if older:
        sessions = count(older, "older session of yours is", "older sessions of yours are")
        say(f"{sessions} not shown: use --limit N for more.")
    folder = Path(reports[0].home).parent
    _kept(folder, "what left, here and in earlier replays")
    steps = {"The_full_report_of_one": _with_budget((pruned or reports)[0], budget, home)}
    if within:
        largest = max(within, key=lambda report: report.peak_before)
        steps["What_a_smaller_budget_would_prune"] = _with_budget(largest, _smaller(largest), home)
    next_commands(**steps, Remove_that_copy=f"rm -r {typed(folder)}")


def _all_costs(reports: Sequence[ReplayReport]) -> list[str]:
    """Say what all sessions cost together, against sending everything and as their clients compacted them."""
    lines = []
    if (everything := sum(report.cost.before for report in reports)) and reports[0].budget_reason == "as set":
        share = sum(report.cost.total for report in reports) / everything
        lives = Counter(report.cost.cache_seconds for report in reports)
        said = budget_price(reports[0].budget_tokens, cache_seconds=lives.most_common(1)[0][0], share=share)
        lines.append(f"The price of this budget: {said}.")
    natives = [(report.cost, report.cost.native) for report in reports if report.cost.native is not None]
    if not natives:
        return [*lines, "No recording holds a compaction of its client's own, so there is none to compare with."]
    of_native = sum(cost.total for cost, _ in natives) / sum(native.total for _, native in natives)
    sessions = count(len(natives), "session was", "sessions were")
    return [
        *lines,
        f"{sessions} compacted by the client: the managed windows cost {of_native:.2f} of the client's, with lost needs on both sides.",
    ]


def _with_budget(report: ReplayReport, budget: int | str | None, home: str | None) -> str:
    """Return the command that replays one session."""
    given = "" if budget is None else f" --budget {budget}"
    return f"undrift replay {shlex.quote(safe(report.path))}{given}{again(home)}"


def _kept(folder: Path, what: str) -> None:
    """Say where replays keep their copies, and how large that is."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    say(f"A copy of {what}, with secrets masked, is kept for `undrift recall`: {size / (1 << 20):,.1f} MiB in")
    click.echo(f"  {typed(folder)}")


def _several(reports: Sequence[ReplayReport], pruned: Sequence[ReplayReport]) -> str:
    if not pruned:
        return _nothing_left(max(reports, key=lambda report: report.peak_before))
    paid = sum(report.cost.change <= -_EVEN for report in pruned)
    of = f"{len(pruned):,} of {count(len(reports), 'session')}"
    return f"undrift pruned {of}. Pruning lowered the cost of {paid:,} of them."


def _over(prompts: int) -> str:
    return f"{count(prompts, 'prompt')} stayed over budget: the parts that must stay are larger than the budget."


def _headline(report: ReplayReport) -> str:
    """Say how much left, and what made it leave."""
    moments = Counter(prune.moment or "budget" for prune in report.prunes)
    reasons = {
        "budget": f"to keep the prompt within {report.budget_tokens:,} tokens ({safe(report.budget_reason)})",
        "pause": "after a pause, when the cache was cold",
        "task": "at the end of a task",
        "change": "where the client itself had changed the prompt",
        "bank": "drawing on what the session had saved",
    }
    blocks = f"{count(sum(report.actions.values()), 'block')} removed or shortened on {len(report.prunes):,} of {count(report.turns, 'turn')}"
    if len(moments) == 1:
        return f"{blocks}, {reasons.get(next(iter(moments)), reasons['budget'])}."
    parts = [f"{number:,} {reasons.get(moment, moment)}" for moment, number in sorted(moments.items())]
    return f"{blocks}: {', '.join(parts)}."


def _what_left(report: ReplayReport) -> None:
    ends = " (the long ones: both ends)" if "cut" in report.actions else ""
    say(
        f"These always stay: your messages{ends}, the newest results, and text that the model has not read yet. "
        "Everything else was ranked, and the least useful was removed first."
    )
    click.echo()
    columns = (
        Column("what was removed", words=True),
        Column("blocks"),
        Column("tokens"),
        Column("for example"),
        Column("beginning", words=True, short=True),
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
        rows.append((f"{len(rest):,} more", f"{blocks:,}", f"{tokens:,}", "", ""))
    draw(columns, rows)
    if rest:
        say("All of them: --json")
    first, last = report.prunes[0], report.prunes[-1]
    when = f"on turn {first.turn:,}" if first is last else f"on turns {first.turn:,} to {last.turn:,}"
    say(
        f"{count(len(report.prunes), 'prune')} {when}. The prompt then had "
        f"{_range([prune.window_tokens for prune in report.prunes])} tokens."
    )
    if any(prune.moment for prune in report.prunes):
        say(_marks(report))


def _marks(report: ReplayReport) -> str:
    """Say when prunes start and stop, and what choosing the moment saved."""
    prunes = [prune for prune in report.prunes if prune.moment]
    early = Counter(prune.moment for prune in prunes)
    when = [f"{number:,} {_EARLY[moment]}" for moment, number in sorted(early.items()) if moment in _EARLY]
    marks = f"Prunes start at {report.budget_tokens:,} tokens and stop at {_range([p.target_tokens for p in prunes])}"
    earlier = f"; {' and '.join(when)}, before that size was reached" if when else ""
    saved = sum(prune.saved for prune in prunes)
    return f"{marks}{earlier}. Choosing when and where to prune saved {_money(report, saved)} of cache writes."


_EARLY = {
    "pause": "happened after a pause",
    "task": "happened at the end of a task",
    "change": "happened where the client itself had changed the prompt",
    "bank": "drew on what the session had saved",
}


def _range(numbers: Sequence[int]) -> str:
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(numbers), max(numbers))))


def _origin(left: Left) -> str:
    if left.tool is not None:
        part = {"trimmed": "lines of ", "folded": "noise of "}.get(left.kind, "")
        return f"{part}{safe(left.tool)} (tool)"
    who = "the user" if left.what == "user" else "the agent"
    return f"middle of long texts of {who}" if left.kind == "cut" else f"texts of {who}"


def _nothing_left(report: ReplayReport) -> str:
    return (
        f"Nothing was removed: the largest prompt is {report.peak_before:,} tokens, the budget {report.budget_tokens:,} "
        f"({safe(report.budget_reason)})."
    )


def _smaller(report: ReplayReport) -> int:
    """Return a budget at which this session would be pruned."""
    return max(1_000, report.peak_before // 2 // 1_000 * 1_000)


def _figures(report: ReplayReport) -> None:
    cost, native = report.cost, report.cost.native
    unit = "cost of all prompts" if cost.usd_per_million is not None else "cost, in plain input tokens"
    own_tokens, own_peak, own_cost = (native.tokens, native.peak, native.cost) if native else (0, 0, 0.0)
    rows = [
        ("tokens, all prompts", *_numbers(report.tokens_before, own_tokens, report.tokens_after)),
        ("largest prompt", *_numbers(report.peak_before, own_peak, report.peak_after)),
        (
            unit,
            *(_money(report, tokens) for tokens in (cost.before, own_cost, cost.after)),
            _change(cost.after, cost.before),
        ),
    ]
    if report.survival.needs:
        held = [report.survival_before, native.survival if native else report.survival, report.survival]
        name = f"still there when needed ({report.survival.needs:,})"
        rows.append((name, *(f"{survival.share:.1%}" for survival in held), ""))
    columns = [
        Column("", words=True),
        Column("everything sent"),
        Column("as compacted"),
        Column("managed"),
        Column("change"),
    ]
    own = 2  # the column of the client's own compactions
    if native is None:
        del columns[own]
        rows = [(*row[:own], *row[own + 1 :]) for row in rows]
    draw(columns, rows)


def _numbers(before: int, own: int, after: int) -> tuple[str, str, str, str]:
    return f"{before:,}", f"{own:,}", f"{after:,}", _change(after, before)


def _sentences(report: ReplayReport) -> list[str]:
    """Say what the figures mean, also when pruning did not pay."""
    cost = report.cost
    priced = f"a cached token costs {cost.read_price:g} of the input price, a new one {cost.write_price:g}"
    usd = "" if cost.usd_per_million is None else f". The input price is ${cost.usd_per_million:g} a million"
    source = "as recorded" if cost.cache_recorded else "as assumed, because the recording does not say it"
    life = f"The cache lives {life_in_words(cost.cache_seconds)}, {source}."
    of = "assumed for an unknown model" if cost.priced_as == UNKNOWN.name else f"of {cost.priced_as}"
    sum_ = "" if report.prunes else f"{_money(report, cost.before)} for all prompts, "
    lines = [
        f"Cost (input only): {sum_}with a prompt cache, at the prices {of}. There {priced}{usd}. {life}",
        "The cost does not include the system prompt and the tool definitions, if the recording does not hold them.",
    ]
    if report.prunes:
        lines.append(_verdict(report))
    if report.budget_reason == "as set" and cost.before:
        prices = Prices(cost.read_price, cost.write_price)
        said = budget_price(report.budget_tokens, prices, cost.cache_seconds, share=cost.total / cost.before)
        lines.append(f"The price of this budget: {said}.")
    lines.append(_native(report))
    if report.beyond_window_turns:
        lines.append(
            "Without pruning it would not have worked: "
            f"{count(report.beyond_window_turns, 'prompt exceeds', 'prompts exceed')} the model's window of {report.window_tokens:,} tokens."
        )
    if report.survival.needs and report.prunes:
        lines.append(_survived(report.survival))
    elif report.prunes:
        lines.append("The agent needed nothing from more than 20 messages back, so its survival cannot be measured.")
    if report.over_budget_turns:
        lines.append(_over(report.over_budget_turns))
    return lines


def _verdict(report: ReplayReport) -> str:
    cost = report.cost
    if cost.change <= -_EVEN:
        verdict = f"Pruning paid: it costs {-cost.change:.1%} less than sending everything"
    elif cost.change < _EVEN:
        verdict = "Pruning paid for itself and no more: it costs the same as sending everything"
    else:
        verdict = (
            f"Pruning did not pay: it costs {cost.change:.1%} more than sending everything, because after each prune "
            "the provider writes the rest of the prompt to its cache again"
        )
    if not cost.refetch:
        return f"{verdict}."
    total = (cost.after + cost.refetch) / cost.before - 1
    direction = "less" if total < 0 else "more"
    return (
        f"{verdict}. If the agent fetches again what it lost, that adds {_money(report, cost.refetch)}. "
        f"The total is then {abs(total):.1%} {direction} than sending everything."
    )


def _native(report: ReplayReport) -> str:
    """Compare with the client's own compactions, lost needs charged alike."""
    cost, native = report.cost, report.cost.native
    if native is None and report.compactions:
        return "Its client compacted before the agent's first word or after its last, so the windows are the same."
    if native is None:
        return "The recording holds no compaction of its client's own, so there is none to compare with."
    times = "once" if native.compactions == 1 else f"{native.compactions:,} times"
    said = (
        f"As compacted: its client compacted {times}. All prompts then cost {_money(report, native.cost)}, "
        f"{_money(report, native.summaries)} of it to write the summaries."
    )
    if native.survival.needs and report.survival.needs:
        held, managed = f"{native.survival.share:.1%}", f"{report.survival.share:.1%}"
        said += f" Its windows still held {held} of what the agent needed later, the managed ones {managed}."
    if native.total:
        said += f" To fetch lost needs again adds {_money(report, native.refetch)}, and {_money(report, cost.refetch)} to the"
        said += f" managed windows. These then cost {cost.total / native.total:.2f} of the client's."
    if native.unreadable:
        said += f" {count(native.unreadable, 'summary is', 'summaries are')} encrypted, so the cost as compacted is too low."
    return said


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


def _notes(report: ReplayReport) -> None:
    notes = [safe(warning) for warning in report.warnings]
    damaged = {reason: number for reason, number in report.skipped.items() if reason.startswith(_TELLING)}
    if damaged:
        reasons = ", ".join(f"{safe(reason)} ({number:,})" for reason, number in damaged.items())
        notes.append(f"skipped in the file: {reasons}")
    if notes:
        click.echo()
    for note in notes:
        say(f"Note: {note}")
