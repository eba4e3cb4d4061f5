"""The active rules at a place, for a session of it: what `undrift rules` lists, and what `undrift handoff` hands over.

Law: recordings, files and the books of added rules are only read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from undrift.core.restore.carried import carried_rules
from undrift.core.rules.crowded import left_out
from undrift.core.rules.holding import EndedRule, holding
from undrift.core.rules.typed import sayings
from undrift.core.text.secrets import mask
from undrift.errors import StoreError
from undrift.hooks.call import CLIENTS
from undrift.hooks.rule_files import rules_of_files
from undrift.profiles import PROFILES
from undrift.recordings.open_work import OpenWork
from undrift.settings import working_folder
from undrift.stores.projects import place_of
from undrift.stores.rule_book import added_rules, is_removed
from undrift.values.project import Place
from undrift.values.rule import Rule

__all__ = ["ActiveRules", "active_rules"]


@dataclass(frozen=True, slots=True)
class ActiveRules:
    """The rules of a place.

    `session`: client and id of its session; empty if there is none. `left_out`: by message, the number of sentences that are
    no rules because the message has too many. `unread`: the files for which there was no room.
    """

    rules: tuple[Rule, ...]
    ended: tuple[EndedRule, ...]
    removed: tuple[Rule, ...]
    session: str
    left_out: Mapping[str, int]
    unread: tuple[str, ...]


def active_rules(place: Place, work: OpenWork | None, folders: Mapping[str, Path | None]) -> ActiveRules:
    """Return the rules of files, then added ones, then those of a session, without what was removed.

    `folders`: the clients' own folders by ``CLIENT_home``; the usual ones if they are not given.
    """
    session = f"{work.client}:{work.session_id}" if work is not None else ""
    folder = working_folder()
    root = Path(place.project.checkout or place.project.root) if place.project is not None else folder
    files = [rules_of_files(folder, root, own) for own in _own_folders(folders)]
    added, gone = list(added_rules(place, session)), is_removed(place, session)
    if work is not None and (other := _place_of(work, place)) is not None:  # what was said of this one session is there
        added += [rule for rule in added_rules(other, session) if rule.scope == "session"]
        gone |= is_removed(other, session)
    before = {rule.id: rule for rule in (*(rule for one in files for rule in one.rules), *added)}
    entries = work.entries if work is not None else ()
    said = [replace(one, text=mask(one.text).text) for one in sayings(entries)]
    held = holding(said, (*before.values(), *carried_rules(entries)))
    return ActiveRules(
        tuple(rule for rule in held.rules if rule.id not in gone),
        held.ended,
        tuple(rule for rule in held.rules if rule.id in gone),
        session,
        left_out(said),
        tuple(dict.fromkeys(name for one in files for name in one.unread)),
    )


def _place_of(work: OpenWork, here: Place) -> Place | None:
    """Return the place of a session that worked in another project; None if that is here, or not known."""
    folder = Path(work.cwd)
    if not folder.is_absolute():
        return None
    try:
        other = place_of(here.home, folder, shares=True)
    except StoreError:
        return None
    return None if other.records == here.records else other


def _own_folders(folders: Mapping[str, Path | None]) -> list[Path]:
    named = ((folders.get(f"{client}_home"), layout.folder) for client, layout in CLIENTS.items() if client in PROFILES)
    return [given or Path.home() / usual for given, usual in named]
