"""The findings of an autopsy, drawn for a person: one session as a story, several as a table.

Law: no text of a recording reaches the terminal unescaped; ``--json`` has every figure.
"""

import shlex
from collections import Counter
from collections.abc import Sequence

import click

from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.show import count, first_line, safe
from undrift.cli.task_view import moment
from undrift.core.autopsy.findings import AutopsyBill, Compaction, CompactionCost, Fetch, Held
from undrift.recordings.autopsy import Postmortem, Totals

__all__ = ["show_one", "show_several"]

_MOST_FETCHES = 8
_MOST_ROWS = 20
_MOST_RULES = 8
_TRIGGERS = {"auto": "automatic", "manual": "manual"}
_CLIENTS = {"claude-code": "claude", "codex": "codex"}
"""Format -> the client that has hooks."""


def show_one(one: Postmortem) -> None:
    """Print the story of one session."""
    found = one.autopsy
    if one.title:
        say(first_line(one.title), bold=True)
    click.echo(safe(one.path))
    about = [one.format, safe(one.model or "model unknown"), count(found.calls, "call"), _span(found.duration_ms)]
    say(" · ".join([*about, count(len(found.compactions), "compaction")]))
    for compaction in found.compactions:
        _compaction(one, compaction)
    if found.early_compactions:
        early = count(found.early_compactions, "compaction")
        say(f"\n{early} before the first call: the file does not hold the removed text.".lstrip("\n"))
    elif not found.compactions:
        say("No compaction: nothing was removed.")
    click.echo()
    for sentence in _bill(one, found.bill):
        say(sentence)
    if one.unfinished:
        say("Note: the last line of the file is cut; the session may still be running.")
    path = shlex.quote(safe(one.path))
    if found.compactions:
        next_commands(**_install([one]), Print_what_undrift_would_restore_now=f"undrift session restore {path}")
    else:
        next_commands(See_what_undrift_would_prune=f"undrift replay {path}")


def show_several(found: Sequence[Postmortem], sums: Totals) -> None:
    """Print what all compactions removed, and a table with a row for each."""
    for number, sentence in enumerate(_summary(found, sums)):
        say(sentence, bold=not number)
    compactions = [(one, compaction) for one in found for compaction in one.autopsy.compactions]
    if not compactions:
        next_commands(See_what_undrift_would_prune="undrift replay")
        return
    columns = (
        Column("when", words=True),
        Column("held → with undrift", words=True),
        Column("read again"),
        Column("project · first words", words=True, short=True),
    )
    click.echo()
    draw(columns, [_cells(one, compaction) for one, compaction in compactions[:_MOST_ROWS]])
    if len(compactions) > _MOST_ROWS:
        say(f"and {len(compactions) - _MOST_ROWS:,} more compactions (all of them: --json)")
    say("Held: how much of what the agent used again is in the client's own summary. Read again: in tokens.")
    if any(compaction.repeated for _, compaction in compactions):
        say("*: the client copied the session; the totals count this compaction once.")
    worst, _ = max(compactions, key=lambda pair: (pair[1].fetched.tokens, pair[1].dropped_tokens or 0))
    next_commands(
        The_full_report_of_one_session=f"undrift autopsy {shlex.quote(safe(worst.path))}",
        **(_install(found) if sum(sums.together) > sum(sums.native) else {}),
    )


def _install(found: Sequence[Postmortem]) -> dict[str, str]:
    """Give the command for the client whose compactions undrift adds most to; none if no client of these has hooks."""
    gains: Counter[str] = Counter()
    for one in found:
        if one.format in _CLIENTS:
            gains[_CLIENTS[one.format]] += sum(_gain(c) for c in one.autopsy.compactions if not c.repeated)
    client = max(gains, key=lambda name: gains[name], default="")
    return {"Restore_it_after_each_compaction_from_now_on": f"undrift install {client}"} if client else {}


def _gain(compaction: Compaction) -> int:
    """Return how many identifiers and lines undrift's text holds beyond the client's own summary."""
    both, native = compaction.together, compaction.native
    return 0 if both is None else both.identifiers + both.lines - native.identifiers - native.lines


def _cells(one: Postmortem, compaction: Compaction) -> list[str]:
    used = compaction.identifiers + compaction.lines
    shares = "used nothing again"
    if used:
        after = _share(compaction.together, used) if compaction.together else "?"
        shares = f"{'encrypted' if compaction.encrypted else _share(compaction.native, used)} → {after}"
    at = moment(max(0, compaction.at_ms))[:16] if compaction.at_ms else "unknown"
    return [
        at + ("*" if compaction.repeated else ""),
        shares,
        f"{compaction.fetched.tokens:,}" if compaction.fetches_in_window else "0",
        first_line(one.title, 80) or safe(one.format),
    ]


def _share(held: Held, used: int) -> str:
    return f"{(held.identifiers + held.lines) / used:.0%}"


def _summary(found: Sequence[Postmortem], sums: Totals) -> list[str]:
    """Say what all compactions come to; each of them counts once."""
    early = sum(one.autopsy.early_compactions for one in found)
    before = [f"{count(early, 'more compaction')} before the first call of a file is not counted."] if early else []
    if not sums.compactions:
        return [f"{count(len(found), 'session')}, no compaction: nothing was removed.", *before]
    lines = [f"{count(sums.compactions, 'compaction')} removed {sums.dropped_tokens:,} tokens."]
    if sum(sums.needed):
        lines.append(
            f"In their next calls (at most 30) the agents used {_pair(sums.needed)} that they had learned before."
        )
    if sum(sums.readable):
        lines.append(f"The clients' own summaries hold {_of(sums.native, sums.readable)}.")
    if sum(sums.needed):
        lines.append(f"Together with the text that undrift restores, they hold {_of(sums.together, sums.needed)}.")
        lines.append(f"The agents fetched {_of(sums.fetched, sums.needed)} again before they used them.")
    again = [one.usd(c.fetched.tokens) for one in found for c in one.autopsy.compactions if not c.repeated]
    usd = sum(price for price in again if price is not None)
    paid = f" (${usd:,.2f})" if usd >= 0.005 and None not in again else ""
    lines.append(
        f"They read {sums.fetched_tokens:,} tokens again{paid} in {count(sums.window_calls, 'call')} after the "
        f"compactions, and {sums.usual_tokens:,} in {count(sums.usual_calls, 'call')} before them."
    )
    lines += _costs(found)
    if sums.rules:
        lines.append(f"Never mentioned again: {sums.lost_rules:,} of your {count(sums.rules, 'rule')}.")
    encrypted = sum(c.encrypted and not c.repeated for one in found for c in one.autopsy.compactions)
    if encrypted:
        lines.append(f"{count(encrypted, 'summary is', 'summaries are')} encrypted, so their content is not known.")
    return [*lines, *before]


def _costs(found: Sequence[Postmortem]) -> list[str]:
    """Say what all compactions cost in US dollars; nothing if a price is unknown."""
    once = [(one, c.cost) for one in found for c in one.autopsy.compactions if not c.repeated]
    own, ours = ([one.usd(part(cost)) for one, cost in once] for part in (_own_cost, _restore_cost))
    if None in own:
        return []
    usd, usd_ours = (sum(price for price in prices if price is not None) for prices in (own, ours))
    paid = f"The compactions cost ${usd:,.2f}: the calls that wrote the summaries, and writing the new prompts to the cache."
    return [f"{paid} undrift's texts would have cost ${usd_ours:,.2f}."]


def _own_cost(cost: CompactionCost) -> float:
    return cost.total


def _restore_cost(cost: CompactionCost) -> float:
    return cost.restore


def _compaction(one: Postmortem, compaction: Compaction) -> None:
    how = _TRIGGERS.get(compaction.trigger, "")
    window = f"{compaction.tokens_before:,} → {_number(compaction.tokens_after)} tokens"
    estimated = "" if compaction.recorded else " (estimated)"
    head = [f"Compaction {compaction.number}", how, f"after call {compaction.calls_before:,}", window + estimated]
    click.echo()
    say(" · ".join(part for part in head if part), bold=True)
    if compaction.repeated:
        say("The same compaction is in a file above.")
    calls = count(compaction.window_calls, "call")
    if compaction.identifiers or compaction.lines:
        used = _pair((compaction.identifiers, compaction.lines))
        say(f"In the next {calls} the agent used {used} that it had seen before the compaction.")
        _held(one, compaction)
    elif compaction.window_calls:
        say(f"In the next {calls} the agent used nothing distinctive that it had seen before the compaction.")
    else:
        say("No call followed: it is too early to say what was lost.")
    _fetches(compaction)
    _cost(one, compaction)
    _rules(compaction)


def _cost(one: Postmortem, compaction: Compaction) -> None:
    """Say what the compaction itself cost, and what undrift's text would have cost."""
    cost = compaction.cost
    summary = "the summary is encrypted and not counted" if compaction.encrypted else "as estimated"
    say(
        f"It cost {one.price(cost.total)}: {one.price(cost.summary)} for the call that wrote the summary "
        f"({summary}), {one.price(cost.rewritten)} to write the new prompt to the cache."
    )
    if cost.restore:
        say(f"undrift's text would have cost {one.price(cost.restore)} up to the next compaction.")


def _held(one: Postmortem, compaction: Compaction) -> None:
    columns = (Column("found in", words=True), Column("identifiers"), Column("lines of code"), Column("tokens"))
    client = "readable parts (the summary is encrypted)" if compaction.encrypted else "the client's own summary"
    helds: list[tuple[str, Held | None]] = [
        (client, compaction.native),
        (f"undrift's restore text (--budget {one.budget_tokens})", compaction.ours),
        ("both together", compaction.together),
        ("what the agent read again", compaction.fetched),
    ]
    rows = [
        (name, _part(held.identifiers, compaction.identifiers), _part(held.lines, compaction.lines), f"{held.tokens:,}")
        for name, held in helds
        if held is not None
    ]
    draw(columns, rows)


def _fetches(compaction: Compaction) -> None:
    fetches = compaction.fetches_in_window
    if not fetches:
        if compaction.window_calls:
            seen = compaction.fetched.identifiers + compaction.fetched.lines
            say("It saw them again in new results." if seen else "It read no earlier result again.")
        return
    usual = f"{compaction.usual_tokens:,} in the {count(compaction.usual_calls, 'call')} before"
    say(
        f"Read again: {compaction.fetched.tokens:,} tokens in {count(len(fetches), 'result')} ({usual}), "
        f"the first after {_soon(fetches[0])}:"
    )
    columns = (
        Column("call", words=True),
        Column("tool", words=True),
        Column("tokens"),
        Column("read before", words=True),
        Column("what", words=True, short=True),
    )
    largest = sorted(fetches, key=lambda fetch: -fetch.known_tokens)[:_MOST_FETCHES]
    rows = [
        (
            f"  call +{fetch.call}",
            safe(fetch.tool),
            count(fetch.known_tokens, "token"),
            _before(fetch),
            _tail(fetch.what),
        )
        for fetch in fetches
        if fetch in largest
    ]
    draw(columns, rows, head=False)
    if len(fetches) > len(largest):
        say(f"  and {len(fetches) - len(largest):,} more (all of them: --json)")


def _before(fetch: Fetch) -> str:
    return f"{count(fetch.read_calls_before, 'call')} before" if fetch.read_calls_before else "just before"


def _rules(compaction: Compaction) -> None:
    lost = compaction.lost_rules
    if not lost:
        return
    rules = f"{len(lost):,} of your {compaction.rules:,} rules" if compaction.rules > 1 else "your only rule"
    say(f"After the compaction no text mentions {rules}:")
    for rule in lost[:_MOST_RULES]:
        say(f"  “{safe(rule.text)}”")
    if len(lost) > _MOST_RULES:
        say(f"  and {len(lost) - _MOST_RULES:,} more (all of them: --json)")


def _bill(one: Postmortem, bill: AutopsyBill) -> list[str]:
    """Say what the prompts cost, and how much of that cold caches cost."""
    if not bill.prompts:
        return []
    total = one.price(bill.cost)
    source = "as the provider counted" if bill.recorded else "estimated from the recorded texts"
    lines = [f"Bill (input only): {total} for {count(bill.prompts, 'prompt')}, {source}; prices of {one.priced_as}."]
    if bill.everything is not None:
        lines.append(
            f"With the calls that wrote the summaries it is {one.price(bill.cost + bill.summaries)}. Without compactions, "
            f"sending everything, the prompts would have cost {one.price(bill.everything)}, as estimated."
        )
    if bill.pauses:
        lines.append(
            f"{count(bill.pauses, 'prompt')} came after a pause of more than five minutes. {bill.cold_prompts:,} of them "
            f"found a cold cache and cost {bill.cold_share:.0%} of the bill."
        )
    else:
        lines.append("No prompt came after a pause of more than five minutes.")
    if bill.fixed_tokens is not None and bill.fixed_share is not None:
        lines.append(
            f"The bill includes system prompt, tool definitions and memory files: about {bill.fixed_tokens:,} tokens in "
            f"every prompt, {bill.fixed_share:.0%} of the bill."
        )
    else:
        lines.append("The bill does not include the tool definitions: they are not recorded.")
    return lines


def _soon(fetch: Fetch) -> str:
    """Say how soon after the compaction a fetch came, in calls and time."""
    calls = count(fetch.call, "call")
    return calls if fetch.after_ms is None else f"{calls} ({_span(fetch.after_ms)})"


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


def _number(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def _tail(text: str, limit_characters: int = 48) -> str:
    """Shorten a path from the left, at a folder; anything else from the right."""
    line = first_line(text, 400)
    if len(line) <= limit_characters or not line.startswith(("/", "~")) or " " in line:
        return line
    kept = line[-limit_characters + 1 :]
    return "…" + kept[max(0, kept.find("/")) :]
