"""Compactions in ``undrift status``: the texts given back, how much was used, and with and without undrift."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import Column, draw, say
from undrift.cli.show import count, safe
from undrift.cli.status_scope import StatusScope
from undrift.clients import CLIENTS as TITLED
from undrift.core.guard import money
from undrift.doctor import Finding
from undrift.hooks.call import CLIENTS
from undrift.hooks.given import GivenText, given_back
from undrift.recordings.autopsy import Postmortem
from undrift.recordings.effect import LEAST_SESSIONS, EffectComparison, EffectSide, EffectSums, compared, summed

__all__ = ["StatusEffect", "effect_as_json", "effect_of", "show_comparisons", "show_effect", "show_findings"]

_MOST_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class StatusEffect:
    """The compactions of a scope.

    Args:
        given: The records of the hooks, the newest first.
        sums: Of the compactions that are examined.
        unread: Recordings of the scope that are not examined yet.
    """

    given: Sequence[GivenText]
    sums: EffectSums
    comparisons: Sequence[EffectComparison]
    unread: int

    @property
    def tokens(self) -> int:
        """The tokens of all texts that were given back."""
        return sum(one.contents.tokens for one in self.given)


def effect_of(
    homes: Iterable[Path], found: Sequence[Postmortem], folders: Mapping[str, str], scope: StatusScope, unread: int
) -> StatusEffect:
    """Gather what the hooks of some homes recorded, and how much of it the examined sessions used.

    `folders`: the path of each session -> the folder in which it was held. `unread`: recordings not examined yet.
    """
    every = {(one.client, one.session_id, one.mark): one for home in homes for one in given_back(home)}
    since_ms: dict[str, int] = {}
    for one in every.values():
        name = CLIENTS[one.client].format
        since_ms[name] = min(one.at_ms, since_ms.get(name, one.at_ms))
    given = sorted((one for one in every.values() if scope.holds(one.folder)), key=lambda one: -one.at_ms)
    comparisons = compared(found, since_ms, lambda session: scope.root_of(folders.get(session.path, "")))
    return StatusEffect(given, summed(found), comparisons, unread)


def show_effect(effect: StatusEffect, words: str) -> None:
    """Print what was given back and its use. `words`: names the scope, as in ``this project``."""
    sums, many = effect.sums, count(len(effect.given), "compaction")
    if not effect.given:
        say(f"No compaction of {words} got anything back from undrift yet.", bold=True)
    else:
        usd = f"; they cost {money(sums.usd)} in prompts" if sums.usd and sums.compactions == len(effect.given) else ""
        say(f"undrift gave back {effect.tokens:,} tokens after {many} of {words}{usd}.", bold=True)
        newest = effect.given[0]
        at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(newest.at_ms / 1_000))
        sentence = (
            newest.contents.sentence().removeprefix("undrift gave back ") or "nothing, as there was nothing to give"
        )
        say(f"The newest, {at} (UTC), {_title(newest.client)}: {sentence}.", hang="  ")
    if sums.used:
        say(
            f"The agent then used {count(sums.used, 'name or line', 'names and lines')} from before. "
            f"{sums.held:,} stood in what was given back, {sums.alone:,} of them only there."
        )
        again = _results(sums.fetches, sums.fetched_tokens, sums.fetched_usd)
        spared = _results(sums.results, sums.result_tokens, sums.result_usd)
        say(f"Used without reading it again: {spared}. Read again: {again}.")
    if effect.unread:
        say(
            f"{count(effect.unread, 'recording')} with a compaction not examined yet: `undrift autopsy` reads them, once."
        )


def _results(number: int, tokens: int, usd: float | None) -> str:
    priced = "" if usd is None else f" ({money(usd)})"
    return f"{count(number, 'result')} of {tokens:,} tokens{priced}" if number else "none"


def show_comparisons(effect: StatusEffect, words: str) -> None:
    """Print compactions with and without the hooks, by client."""
    for one in effect.comparisons:
        click.echo()
        _show_comparison(one, words)


def _show_comparison(one: EffectComparison, words: str) -> None:
    title = next((_title(name) for name, client in CLIENTS.items() if client.format == one.format), one.format)
    without, with_hooks = one.without, one.with_hooks
    if not one.is_enough:
        sides = (
            f"{count(len(without.sessions), 'session')} before undrift's hooks, {len(with_hooks.sessions):,} with them"
        )
        say(f"{title} with and without undrift in {words}: too few sessions to say ({sides}; at least {LEAST_SESSIONS} of each).")  # fmt: skip
    else:
        say(f"{title} with and without undrift in {words}, means of one compaction:")
        columns = [
            Column("", words=True),
            *map(Column, ("sessions", "compactions", "read again", "of tokens", "known")),
        ]
        draw(columns, [_row("before", without), _row("with undrift", with_hooks)])
        say("Known: the part of what the agent used from before that its window held. Other things may differ too.")
    if one.missed:
        say(f"After {count(one.missed, 'compaction')} since then nothing was given back.")


def _row(name: str, side: EffectSide) -> list[str]:
    share = "-" if side.share is None else f"{side.share:.0%}"
    means = [f"{side.mean_fetches:.1f}", f"{side.mean_fetched_tokens:,.0f}"]
    return [name, f"{len(side.sessions):,}", f"{side.compactions:,}", *means, share]


def show_findings(findings: Sequence[Finding]) -> None:
    """Print what is wrong and what to do; nothing if all is well."""
    if findings:
        click.echo()
    for finding in findings[:_MOST_FINDINGS]:
        say(f"WRONG  {finding.name}: {safe(finding.text)}", hang="       ")
        if finding.remedy:
            say(f"       do: {safe(finding.remedy)}")
    if len(findings) > _MOST_FINDINGS:
        say(f"WRONG  and {len(findings) - _MOST_FINDINGS:,} more: undrift doctor")


def effect_as_json(effect: StatusEffect) -> dict[str, Any]:
    """Return all figures of compactions, as JSON."""
    return {
        "given_back": {
            "compactions": len(effect.given),
            "tokens": effect.tokens,
            "records": [{**asdict(one), "sentence": one.contents.sentence()} for one in effect.given],
        },
        "used": asdict(effect.sums),
        "unread": effect.unread,
        "comparisons": [
            {
                "client": one.format,
                "is_enough": one.is_enough,
                "least_sessions": LEAST_SESSIONS,
                "without": _side_json(one.without),
                "with": _side_json(one.with_hooks),
                "missed": one.missed,
            }
            for one in effect.comparisons
        ],
    }


def _side_json(side: EffectSide) -> dict[str, Any]:
    return {
        "sessions": len(side.sessions),
        "compactions": side.compactions,
        "mean_fetches": side.mean_fetches,
        "mean_fetched_tokens": side.mean_fetched_tokens,
        "used": side.used,
        "known": side.known,
        "share": side.share,
    }


def _title(client: str) -> str:
    return TITLED[client].title if client in TITLED else client
