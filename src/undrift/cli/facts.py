"""``undrift agent facts``: the facts that sub-agents learned, now or as of an earlier operation."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import say
from undrift.cli.of_session import home_options
from undrift.cli.place import is_wide
from undrift.cli.show import count, echo_json, note, safe
from undrift.errors import RecallError
from undrift.stores.contract import Store
from undrift.values.facts import FACT_TAGS, FactVersion

__all__ = ["facts_command"]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The facts that the options select: as of an operation's number, or of a time in Unix milliseconds."""

    as_of: int | None
    at_ms: int | None
    subject: str | None
    tags: frozenset[str]
    session: str | None
    ended: bool

    def takes(self, version: FactVersion) -> bool:
        fact = version.fact
        return (
            (self.ended or fact.valid_to is None)
            and (self.subject is None or fact.subject == self.subject)
            and (not self.tags or not self.tags.isdisjoint(fact.tags))
        )


@click.command("facts")
@click.option(
    "--as-of",
    metavar="N|TIME",
    help="Show the facts of an earlier moment: a step's number N, or a time such as 2026-11-22T05:00 (UTC by default).",
)
@click.option("--subject", metavar="TEXT", help="Only facts about this, such as src/app.py or task:5.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    type=click.Choice(FACT_TAGS),
    metavar="TAG",
    help=f"Only facts with this tag: {', '.join(FACT_TAGS)}. You can repeat this option.",
)
@click.option("--session", metavar="ID", help="Show only the run with this id (default: all runs).")
@click.option("--ended", is_flag=True, help="Show also facts that are no longer valid.")
@home_options
def facts_command(
    as_of: str | None,
    subject: str | None,
    tags: tuple[str, ...],
    session: str | None,
    ended: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Show the facts that the agents of a plan learned.

    A fact is a subject, a relation and an object, with the task that reported it.

    \b
    undrift agent facts
    undrift agent facts --subject src/app.py
    """
    seq, at_ms = _moment(as_of)
    wanted = _Wanted(seq, at_ms, subject, frozenset(tags), session, ended)
    homes = lookup.homes_of(home)
    missing = f"there is no run {session!r}" if session else "there are no facts"

    def look(some: Sequence[str]) -> _FoundFacts:
        return lookup.first(some, missing, lambda store, folder: _found(store, folder, wanted))

    found = [look(homes)]
    if is_wide():
        for other in homes:
            with suppress(RecallError):
                found += [look([other])] if Path(other) != found[0].folder else []
    if as_json:
        facts = [_as_json(run, version) for one in found for run, version in one.facts]
        echo_json({"home": str(found[0].folder), "facts": facts})
        return
    for one in found:
        for line in _lines(one.facts):
            say(line)
        note(f"{count(len(one.facts), 'fact')} in {safe(str(one.folder))}")


@dataclass(frozen=True, slots=True)
class _FoundFacts:
    """The facts of a home, each with its run."""

    folder: Path
    facts: Sequence[tuple[str, FactVersion]]


def _moment(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text), None
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return None, int(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"{text[:40]!r} is neither the number of an operation nor a time such as 2026-11-22T05:00",
            param_hint="--as-of",
        ) from error


def _found(store: Store, folder: Path, wanted: _Wanted) -> _FoundFacts:
    runs = [row.session_id for row in reversed(store.sessions())]
    if wanted.session is not None and wanted.session not in runs:
        raise RecallError(f"there is no run {wanted.session[:64]!r}")
    facts = []
    for run in runs if wanted.session is None else [wanted.session]:
        seq = wanted.as_of if wanted.at_ms is None else _operation_at(store, run, wanted.at_ms)
        facts += [(run, version) for version in store.facts(run, as_of=seq) if wanted.takes(version)]
    return _FoundFacts(folder, facts)


def _operation_at(store: Store, run: str, at_ms: int) -> int:
    """Return the run's newest operation at that time; 0 before its first."""
    return max((one.seq for one in store.operations(run) if one.at_ms <= at_ms), default=0)


def _lines(facts: Sequence[tuple[str, FactVersion]]) -> Iterator[str]:
    last = None
    for run, version in facts:
        if run != last:
            yield f"run {safe(run)}"
            last = run
        fact = version.fact
        until = "" if fact.valid_to is None else f", until {_time(fact.valid_to)}"
        triple = " ".join(map(safe, fact.triple))
        notes = f"{', '.join(fact.tags)}; " if fact.tags else ""
        yield f"  {triple}  [task:{safe(fact.source_task_id)}]  ({notes}since {_time(fact.valid_from)}{until})"


def _time(at_ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):  # a clock that was wrong
        return f"{at_ms} ms"


def _as_json(run: str, version: FactVersion) -> dict[str, Any]:
    fact = version.fact
    return {
        "run_id": run,
        "id": fact.id,
        "sequence": version.sequence,
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "tags": list(fact.tags),
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "last_seen": fact.last_seen,
        "source_task_id": fact.source_task_id,
        "source_role": fact.source_role,
        "confidence": fact.confidence,
        "metadata": None if fact.metadata is None else dict(fact.metadata),
    }
