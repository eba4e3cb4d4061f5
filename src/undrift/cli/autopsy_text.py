"""The findings of an autopsy, drawn for a person: one session as a story.

Law: no text of a recording reaches the terminal unescaped; ``--json`` has every figure.
"""

import shlex

import click

from undrift.cli.autopsy_table import install_command, pair
from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.show import count, first_line, safe
from undrift.core.autopsy.findings import AutopsyBill, Compaction, Fetch, Held
from undrift.recordings.autopsy import Postmortem, totals
from undrift.recordings.headline import headline

__all__ = ["show_one"]

_MOST_FETCHES = 8
_MOST_RULES = 8
_TRIGGERS = {"auto": "automatic", "manual": "manual"}


def show_one(one: Postmortem) -> None:
    """Print the story of one session."""
    found = one.autopsy
    if found.compactions:
        say(headline(totals([one])), bold=True)
    if one.title:
        say(first_line(one.title), bold=not found.compactions)
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
        next_commands(**install_command([one]), Print_what_undrift_would_restore_now=f"undrift session restore {path}")
    else:
        next_commands(See_what_undrift_would_prune=f"undrift replay {path}")


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
        used = pair((compaction.identifiers, compaction.lines))
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
        say(f"undrift's text would have added {one.price(cost.restore)} up to the next compaction.")


def _held(one: Postmortem, compaction: Compaction) -> None:
    columns = (Column("found in", words=True), Column("identifiers"), Column("lines of code"), Column("tokens"))
    client = "readable parts (the summary is encrypted)" if compaction.encrypted else "the client's own summary"
    helds: list[tuple[str, Held | None]] = [
        (client, compaction.native),
        (f"undrift's restore text (--budget {one.budget_tokens})", compaction.ours),
        ("both together", compaction.together),
        ("what the agent read again" if compaction.fetches_in_window else "new results", compaction.fetched),
    ]
    rows = [
        (
            name,
            _part(held.identifiers, compaction.identifiers),
            _part(held.lines, compaction.lines),
            "-" if held is compaction.fetched and not held.tokens else f"{held.tokens:,}",
        )
        for name, held in helds
        if held is not None
    ]
    draw(columns, rows)


def _fetches(compaction: Compaction) -> None:
    fetches = compaction.fetches_in_window
    if not fetches:
        if compaction.window_calls:
            seen = compaction.fetched.identifiers + compaction.fetched.lines
            say(f"It read no earlier result again{'; new results showed what it used' if seen else ''}.")
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
