"""The findings of several sessions, drawn for a person: what all compactions come to, and a table of them.

Law: no text of a recording reaches the terminal unescaped; ``--json`` has every figure.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.show import count, first_line, safe
from undrift.cli.task_view import moment
from undrift.core.autopsy.findings import Compaction, CompactionCost
from undrift.recordings.autopsy import Postmortem, Totals
from undrift.recordings.headline import headline

__all__ = ["install_command", "pair", "show_several"]

_MOST_ROWS = 20
_CLIENTS = {"claude-code": "claude", "codex": "codex"}
"""Format -> the client that has hooks."""


def show_several(
    found: Sequence[Postmortem], sums: Totals, *, about: str = "", more: Mapping[str, str] | None = None
) -> None:
    """Print what all compactions removed, and a table with a row for each.

    Args:
        about: A sentence below the headline: which sessions these are.
        more: Commands to type next, as `next_commands` takes them.
    """
    first, *others = _summary(found, sums)
    say(first, bold=True)
    for sentence in [about, *others] if about else others:
        say(sentence)
    compactions = [(one, compaction) for one in found for compaction in one.autopsy.compactions]
    if not compactions:
        next_commands(See_what_undrift_would_prune="undrift replay")
        return
    click.echo()
    newest_first = sorted(compactions, key=lambda pair: -(pair[1].at_ms or 0))
    rows = newest_first[:_MOST_ROWS]
    draw(_COLUMNS, [_cells(one, compaction) for one, compaction in rows])
    if len(compactions) > len(rows):
        where = "--json --limit N has more" if about else "--json has them all"
        say(f"and {count(len(compactions) - len(rows), 'more compaction')} ({where})")
    say(
        "Lost: the share of what the agent used next that the summary does not hold. Given back: the share that undrift's "
        "text holds instead. Read again: in tokens."
    )
    if any(compaction.encrypted for _, compaction in rows):
        say("?: the summary is encrypted.")
    if any(compaction.repeated for _, compaction in rows):
        say("*: the client copied the session; the totals count this compaction once.")
    worst, _ = max(compactions, key=lambda pair: (pair[1].fetched.tokens, pair[1].dropped_tokens or 0))
    next_commands(
        The_full_report_of_one_session=f"undrift autopsy {shlex.quote(safe(worst.path))}",
        A_page_to_share_without_your_texts="undrift autopsy --share page.html",
        **(more or {}),
        **_last_command(found, sums),
    )


def _last_command(found: Sequence[Postmortem], sums: Totals) -> dict[str, str]:
    """Give the command to install hooks; if a hook of undrift gave something back already, the one that follows it."""
    if any(compaction.given for one in found for compaction in one.autopsy.compactions):
        return {"See_what_undrift_gave_back": "undrift status"}
    return install_command(found) if sum(sums.together) > sum(sums.native) else {}


def install_command(found: Sequence[Postmortem]) -> dict[str, str]:
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


_COLUMNS = (
    Column("when", words=True),
    Column("project · first words", words=True, short=True),
    Column("lost"),
    Column("given back"),
    Column("read again"),
    Column("cost"),
)


def _cells(one: Postmortem, compaction: Compaction) -> list[str]:
    used = compaction.identifiers + compaction.lines
    held = compaction.native.identifiers + compaction.native.lines
    at = moment(max(0, compaction.at_ms))[:16] if compaction.at_ms else "unknown"
    return [
        at + ("*" if compaction.repeated else ""),
        first_line(one.title, 80) or safe(one.format),
        ("?" if compaction.encrypted else f"{1 - held / used:.0%}") if used else "-",
        f"{_given_back(compaction) / used:.0%}" if used and compaction.together else "-",
        f"{compaction.fetched.tokens:,}",
        _cost_again(one.usd(compaction.fetched.tokens)),
    ]


def _given_back(compaction: Compaction) -> int:
    """Return what undrift's text held beyond the summary: the text that a hook gave, else the one it would give."""
    given = compaction.given
    return _gain(compaction if given is None else replace(compaction, together=given.together))


def _cost_again(usd: float | None) -> str:
    if usd is None:
        return "?"
    return "<$0.01" if 0 < usd < 0.01 else f"${usd:,.2f}"


def _summary(found: Sequence[Postmortem], sums: Totals) -> list[str]:
    """Say what all compactions come to; each of them counts once."""
    early = sum(one.autopsy.early_compactions for one in found)
    before = [f"{count(early, 'more compaction')} before the first call of a file is not counted."] if early else []
    if not sums.compactions:
        return [f"{count(len(found), 'session')}, no compaction: nothing was removed.", *before]
    lines = [headline(sums)]
    if sum(sums.needed):
        lines.append(
            f"In their next calls (at most 30) the agents used {pair(sums.needed)} that they had learned before."
        )
    if sum(sums.readable):
        some, after = (" that can be read", " of what was used after them") if sums.encrypted else ("", "")
        lines.append(f"The clients' own summaries{some} hold {_of(sums.native, sums.readable)}{after}.")
    if sum(sums.needed):
        lines.append(
            f"Together with the text that undrift restores, all summaries hold {_of(sums.together, sums.needed)}."
        )
        lines.append(f"The agents fetched {_of(sums.fetched, sums.needed)} again before they used them.")
    lines.append(
        f"They read {sums.fetched_tokens:,} tokens again in {count(sums.window_calls, 'call')} after the compactions, "
        f"and {sums.usual_tokens:,} in {count(sums.usual_calls, 'call')} before them."
    )
    lines += _costs(found)
    if sums.rules:
        lines.append(f"Never mentioned again: {sums.lost_rules:,} of your {count(sums.rules, 'rule')}.")
    if sums.encrypted:
        lines.append(
            f"{count(sums.encrypted, 'summary is', 'summaries are')} encrypted, so their content is not known."
        )
    return [*lines, *before]


def _costs(found: Sequence[Postmortem]) -> list[str]:
    """Say what all compactions cost in US dollars; nothing if a price is unknown."""
    once = [(one, c.cost) for one in found for c in one.autopsy.compactions if not c.repeated]
    own, ours = ([one.usd(part(cost)) for one, cost in once] for part in (_own_cost, _restore_cost))
    if None in own:
        return []
    usd, usd_ours = (sum(price for price in prices if price is not None) for prices in (own, ours))
    paid = f"The compactions cost ${usd:,.2f}: the calls that wrote the summaries, and writing the new prompts to the cache."
    return [f"{paid} undrift's texts would have added ${usd_ours:,.2f} to that."]


def _own_cost(cost: CompactionCost) -> float:
    return cost.total


def _restore_cost(cost: CompactionCost) -> float:
    return cost.restore


def pair(value: tuple[int, int]) -> str:
    """Return a number of identifiers and a number of lines of code, in words."""
    return f"{count(value[0], 'identifier')} and {count(value[1], 'line of code', 'lines of code')}"


def _of(part: tuple[int, int], whole: tuple[int, int]) -> str:
    named = zip(part, whole, ("identifiers", "lines of code"), strict=True)
    return " and ".join(f"{held / needed:.0%} of the {name}" for held, needed, name in named if needed)
