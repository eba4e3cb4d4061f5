"""The words of ``undrift setup``: the first screen, each question, and the end. Law: the first screen fits 80x24."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from undrift.cli.autopsy_json import as_json as findings_as_json
from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.setup_losses import Losses
from undrift.cli.setup_parts import PARTS, FoundClient, Offer, home_of
from undrift.cli.show import count, safe
from undrift.recordings.autopsy import totals
from undrift.recordings.headline import headline

__all__ = ["SetupOutcome", "about_gateway", "as_json", "first", "head", "last", "question"]


@dataclass(frozen=True, slots=True)
class SetupOutcome:
    """The offers, and what became of each. `notes`: each with the title of its client."""

    offered: Sequence[Offer]
    done: Sequence[Offer]
    declined: Sequence[Offer]
    unasked: Sequence[Offer]
    failed: Sequence[tuple[Offer, str]]
    notes: Mapping[str, str]
    with_gateway: bool

    def has(self, one: Offer) -> bool:
        """Tell whether a part is there now."""
        return one.state in ("set", "plugin") or one in self.done


def first(losses: Losses, found: Sequence[FoundClient], offered: Sequence[Offer]) -> None:
    """Print what was lost so far, the clients, and what each can get."""
    if losses.found:
        sums = totals(losses.found)
        say(headline(sums), bold=True)
        if sum(sums.needed) and sum(sums.together) > sum(sums.native):
            held, all_ = sum(sums.together) / sum(sums.needed), "all summaries" if sums.encrypted else "the summaries"
            say(f"With undrift's text beside {all_}, the agents would have had {held:.0%} of what they used next.")
        seen = f"your {count(len(losses.found), 'newest session')} with a compaction"
        rest = losses.recorded - losses.looked_at
        say(f"In {seen}{f'; {rest:,} older sessions were not looked at' if rest else ''}. All of them: undrift autopsy")
    elif losses.recorded:
        say(f"No compaction in your {count(losses.looked_at, 'newest session')}: nothing was lost yet.", bold=True)
    else:
        say("No recorded session yet, so nothing was lost.", bold=True)
    click.echo()
    columns = [Column("client", words=True), *(Column(name, words=True) for name, _ in PARTS.values())]
    columns.append(Column("settings", words=True, short=True))
    draw(columns, [_row(one, offered) for one in found])
    click.echo()
    for name, use in PARTS.values():
        say(f"{name}: {use}", hang="  ")
    click.echo()
    say("Each change is shown before it is made. To undo all of it: undrift setup --undo")


def _row(client: FoundClient, offered: Sequence[Offer]) -> list[str]:
    states = {one.part: one for one in offered if one.client == client}
    cells = []
    for part in PARTS:
        one = states.get(part)
        missing = "off" if part == "gateway" else "offered"
        cells.append(
            "-"
            if one is None
            else {"set": "there", "plugin": "plugin", "missing": missing, "blocked": "not now"}[one.state]
        )
    where = home_of(client.folder) if client.folder else client.program or ""
    return [client.title, *cells, safe(where)]


def head(*together: Offer) -> None:
    """Print what the next change is for."""
    click.echo()
    for one in together:
        name, use = PARTS[one.part]
        say(f"{one.client.title}, {name}: {use}", bold=True)


def question(one: Offer) -> str:
    """Return the question below a change: on a small screen, its heading is out of sight by then."""
    return f"{one.client.title}: add {PARTS[one.part][0]}?"


def about_gateway() -> None:
    """Say what the gateway is for, before the question."""
    click.echo()
    say("The gateway", bold=True)
    say(
        "Hooks act after a compaction. The gateway acts before: the clients' requests pass through a program on this "
        "machine, which takes out what is least useful, keeps every original, and says what it saved. It becomes a "
        "service of yours. You do not need it for the hooks or the MCP server."
    )


def last(outcome: SetupOutcome) -> None:
    """Print what was done, what was not, and what comes next."""
    click.echo()
    if outcome.done:
        say(f"Set up: {'; '.join(_by_client(outcome.done))}.", bold=True)
    elif outcome.unasked:
        say("Nothing was changed: there is no terminal to ask at.", bold=True)
    elif any(map(outcome.has, outcome.offered)) and not outcome.declined and not outcome.failed:
        there = [one for one in outcome.offered if outcome.has(one)]
        say(f"undrift is set up already: {'; '.join(_by_client(there))}. Nothing was changed.", bold=True)
    else:
        say("Nothing was changed.", bold=True)
    for line in _undone(outcome):
        say(f"  {line}", hang="  ")
    for line in _then(outcome):
        say(line)
    if outcome.unasked and not outcome.done:
        next_commands(Make_these_changes="undrift setup --yes")
        return
    compacting = any(outcome.has(one) and one.part == "hooks" for one in outcome.offered)
    if not outcome.done and not any(map(outcome.has, outcome.offered)):
        next_commands(See_what_compactions_removed="undrift autopsy", Set_it_up_later="undrift setup")
        return
    next_commands(
        **({"See_that_it_works,_in_a_session_of_the_client": "/compact"} if compacting and outcome.done else {}),
        See_what_was_given_back="undrift status",
        Undo_all_of_it="undrift setup --undo",
    )


def _by_client(some: Sequence[Offer]) -> list[str]:
    """Return each client with its parts."""
    titles = dict.fromkeys(one.client.title for one in some)
    return [f"{t} ({', '.join(PARTS[one.part][0] for one in some if one.client.title == t)})" for t in titles]


def _undone(outcome: SetupOutcome) -> Iterator[str]:
    """Yield what was not done, and why."""
    for one, why in outcome.failed:
        yield f"Not done: {one.client.title}, {PARTS[one.part][0]}: {why}"
    for one in outcome.offered:
        if one.state == "blocked" and (one.part != "gateway" or one.is_fault or outcome.with_gateway):
            yield f"Not done: {one.client.title}, {PARTS[one.part][0]}: {safe(one.why)}"
    if outcome.declined:
        yield f"Not done, as you chose: {'; '.join(_by_client(outcome.declined))}."
    gateways = [one for one in outcome.offered if (one.part, one.state) == ("gateway", "missing")]
    touched = (*outcome.done, *outcome.declined, *outcome.unasked, *(one for one, _ in outcome.failed))
    if gateways and not any(one in touched for one in gateways):
        yield "The gateway is off. To add it: undrift setup --gateway"


def _then(outcome: SetupOutcome) -> Iterator[str]:
    """Yield what the person has to do now."""
    titles = list(dict.fromkeys(one.client.title for one in outcome.done))
    if titles:
        yield f"Restart {_listed(titles)}: a session that runs has its old settings."
    for line, title in outcome.notes.items():
        if not line.startswith(f"Restart {title}"):
            yield line if title in line else f"{title}: {line}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def as_json(outcome: SetupOutcome, losses: Losses, changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the whole run as one JSON object."""
    clients = {one.client.name: one.client for one in outcome.offered}.values()
    failed = {(one.client.name, one.part): why for one, why in outcome.failed}
    parts = [
        {
            "client": one.client.name,
            "part": one.part,
            "before": one.state,
            "is_set": outcome.has(one),
            "why": failed.get((one.client.name, one.part)) or one.why or None,
        }
        for one in outcome.offered
    ]
    return {
        "clients": [
            {
                "name": one.name,
                "title": one.title,
                "folder": None if one.folder is None else str(one.folder),
                "program": one.program,
            }
            for one in clients
        ],
        "losses": {
            "headline": headline(totals(losses.found)) if losses.found else None,
            "sessions": len(losses.found),
            "looked_at": losses.looked_at,
            "recorded": losses.recorded,
            "totals": findings_as_json((), totals(losses.found))["totals"],
        },
        "parts": parts,
        "changes": list(changes),
        "changed": bool(outcome.done),
        "notes": list(_then(outcome)),
    }
