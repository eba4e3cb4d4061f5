"""``undrift rules``: the rules that hold in a project's newest session, with where each stands; added and removed ones.

Law: recordings and files are only read. A small file beside the store has the rules that a person added or removed.
"""

from dataclasses import asdict
from pathlib import Path
from typing import cast, get_args

import click

from undrift.cli.active_rules import ActiveRules, active_rules
from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import one_home_options
from undrift.cli.own import client_folders, own_recordings
from undrift.cli.place import kept_place, place_here
from undrift.cli.show import again, count, echo_json, excerpt, note, safe
from undrift.core.rules.crowded import MOST_OF_A_MESSAGE
from undrift.core.text.secrets import mask
from undrift.errors import InputError, StoreError, TranscriptError
from undrift.hooks.rule_files import MOST_BYTES
from undrift.recordings.open_work import OpenWork, open_work, sessions_of
from undrift.stores.projects import place_of
from undrift.stores.rule_book import BookedRule, RuleBook, book_of, is_removed, keep_book
from undrift.values.project import Place
from undrift.values.rule import LONGEST_RULE, Rule, RuleScope, rule_id

__all__ = ["rules_add_command", "rules_list_command", "rules_remove_command"]

_SCOPE = click.Choice(get_args(RuleScope))
_COMMAND = "undrift rules"
_SCOPES: tuple[RuleScope, ...] = ("session", "project", "user")
_LEAST_ID = 4


@click.command("list")
@click.option("--all", "shows_all", is_flag=True, help="Show also rules that ended or were removed, and why.")
@client_folders
@one_home_options
def rules_list_command(*, shows_all: bool, home: str | None, as_json: bool, **folders: Path | None) -> None:
    """List the rules that hold: typed in the newest session of this project, of its files, and added.

    A rule is your own sentence. Each has its place, and how far it holds: in the session, in the project, or for you in
    every project.

    \b
    undrift rules
    undrift rules list --all
    """
    found = _found(place_here(home), folders)
    if as_json:
        rules = [asdict(rule) for rule in found.rules]
        ended = [{"rule": asdict(one.rule), "by": one.by} for one in found.ended]
        removed = [asdict(rule) for rule in found.removed]
        kept = {"session": found.session, "rules": rules, "ended": ended, "removed": removed}
        echo_json({**kept, "left_out": found.left_out, "unread": list(found.unread)})
        return
    holding_now = [rule for rule in found.rules if not rule.lifts]
    say(f"{count(len(holding_now), 'rule holds', 'rules hold')}.", bold=bool(holding_now))
    for rule in holding_now:
        _show(rule)
    if shows_all:
        for one in found.ended:
            _show(one.rule, f"ended by: {excerpt(one.by, 60)}")
        for rule in found.removed:
            _show(rule, "you removed it")
    elif found.ended or found.removed:
        note(f"{count(len(found.ended) + len(found.removed), 'rule')} no longer holds or hold: add --all")
    for message, number in found.left_out.items():
        note(
            f"{message}: {count(number, 'more sentence')} left out; of one message the first {MOST_OF_A_MESSAGE} are kept"
        )
    for name in found.unread:
        note(f"{safe(name)}: not read; the files with rules are read up to {MOST_BYTES >> 10} KiB in all")
    next_commands(
        To_add_one=f'undrift rules add "TEXT"{again(home)}', To_remove_one=f"undrift rules remove ID{again(home)}"
    )


@click.command("add")
@click.argument("text")
@click.option("--scope", type=_SCOPE, default="project", help="The reach of the rule (default: project).")
@client_folders
@one_home_options
def rules_add_command(*, text: str, scope: str, home: str | None, as_json: bool, **folders: Path | None) -> None:
    """Add a rule, or bring one back that you removed.

    TEXT is one sentence. Agents see it word for word after each compaction. The scope `session` means the newest session
    of this project.

    \b
    undrift rules add "Never push to main." --scope user
    """
    words = mask(" ".join(text.split())).text
    if not words or len(words) > LONGEST_RULE:
        raise InputError(f"a rule has 1 to {LONGEST_RULE:,} characters, this one has {len(words):,}")
    place, reach = kept_place(home), cast(RuleScope, scope)
    session = _session_for(place, reach, folders)
    entry = BookedRule(rule_id(words), words, reach, session)
    was_removed = entry.id in is_removed(place, session or _found(place, folders).session)
    _without(place, entry.id)
    if not was_removed or entry.id not in {rule.id for rule in _found(place, folders).rules}:
        book = book_of(place, reach)
        keep_book(place, reach, RuleBook((*book.added, entry), book.removed))
    if as_json:
        echo_json({"id": entry.id, "text": words, "scope": scope, "session": session, "brought_back": was_removed})
        return
    click.echo(entry.id)
    note(
        "With its hooks (undrift setup) Claude Code hears of it at your next message, Codex at the next start or compaction. "
        f"To see all: undrift rules{again(home)}"
    )


@click.command("remove")
@click.argument("rule", metavar="RULE")
@click.option("--scope", type=_SCOPE, default="project", help="The reach of the removal (default: project).")
@client_folders
@one_home_options
def rules_remove_command(*, rule: str, scope: str, home: str | None, as_json: bool, **folders: Path | None) -> None:
    """Remove a rule. `undrift rules add` with its words brings it back.

    RULE is an id of `undrift rules`, or its beginning. An added rule is deleted. A typed rule, or one of a file, no longer
    holds in the scope; its message and its file stay as they are.

    \b
    undrift rules remove RULE
    """
    place, reach = kept_place(home), cast(RuleScope, scope)
    chosen = _named(_found(place, folders).rules, rule)
    session = _session_for(place, reach, folders)
    if chosen.origin == "added":
        _without(place, chosen.id)
    else:
        book = book_of(place, reach)
        keep_book(place, reach, RuleBook(book.added, (*book.removed, BookedRule(chosen.id, "", reach, session))))
    if as_json:
        echo_json({"removed": asdict(chosen)})
        return
    say(f"Removed: {excerpt(chosen.text, 66)}")
    note("To bring it back, add it again with the same words: undrift rules add TEXT")


def _found(place: Place, folders: dict[str, Path | None]) -> ActiveRules:
    """Return the rules of a place: of its files, added ones, and typed ones of its newest recorded session."""
    return active_rules(place, _newest(place, folders), folders)


def _newest(place: Place, folders: dict[str, Path | None]) -> OpenWork | None:
    try:
        paths = own_recordings(_COMMAND, **folders)
        found = next(sessions_of(paths, lambda cwd: _is_of(place, cwd)), None)
        return None if found is None else open_work(found)
    except TranscriptError:  # none is recorded yet
        return None


def _is_of(place: Place, cwd: str) -> bool:
    folder = Path(cwd)
    try:
        return folder.is_absolute() and place_of(place.home, folder, shares=True).records == place.records
    except StoreError:
        return False


def _session_for(place: Place, scope: RuleScope, folders: dict[str, Path | None]) -> str:
    """Return the session that a scope means; empty for the wider ones. Raises InputError: none is recorded."""
    if scope != "session":
        return ""
    work = _newest(place, folders)
    if work is None:
        raise InputError("no session of this project is recorded; choose --scope project or --scope user")
    return f"{work.client}:{work.session_id}"


def _without(place: Place, id_: str) -> None:
    """Take a rule out of all that was added and removed."""
    for scope in _SCOPES[1:]:
        book = book_of(place, scope)
        left = RuleBook(*(tuple(one for one in some if one.id != id_) for some in (book.added, book.removed)))
        if left != book:
            keep_book(place, scope, left)


def _named(rules: tuple[Rule, ...], id_: str) -> Rule:
    found = [rule for rule in rules if rule.id == id_ or (len(id_) >= _LEAST_ID and rule.id.startswith(id_))]
    if not found and len(id_) < _LEAST_ID:
        raise InputError(f"{id_[:40]!r} is too short for an id: give at least {_LEAST_ID} characters of it")
    if len(found) != 1:
        raise InputError(
            f"{'no rule' if not found else 'more than one rule'} has the id {id_[:40]!r}; `undrift rules` lists them"
        )
    return found[0]


def _show(rule: Rule, why: str = "") -> None:
    click.echo(f"{rule.id}  {excerpt(rule.text, 300)}")
    facts = [rule.origin, excerpt(rule.where, 80), f"scope {rule.scope}", *([why] if why else [])]
    click.echo(f"{'':14}{', '.join(facts)}")
    for text in rule.later:
        click.echo(f"{'':14}later: {excerpt(text, 300)}")
