"""The options that many commands share, and the session that a command is about: the given one, else the newest.

Law: nothing is created if there is only something to look at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.place import HOME_HELP, is_wide, place_here, places_here, project_option, project_options, settings_at
from undrift.cli.show import again
from undrift.errors import RecallError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.rules import AUTO, is_count, is_share, tokens_of
from undrift.stores.opening import open_store
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = [
    "BUDGET",
    "FIRST_SESSION",
    "TOKENS",
    "Whole",
    "home_options",
    "moment_of",
    "one_home_options",
    "one_session_options",
    "open_session",
    "opened",
    "session_options",
    "settings_in",
    "settings_of",
]

FIRST_SESSION = "notes"
"""The session of a memory in a home that has no session yet."""

F = TypeVar("F", bound=Callable[..., Any])


class _Tokens(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of tokens: 60000, 60,000 or 60k."""

    name = "tokens"
    examples = "60000 or 60k"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the tokens that a text means."""
        try:
            tokens = tokens_of(str(value).replace(",", "").replace("_", "").strip())
        except ValueError:
            tokens = 0
        if not is_count(tokens):
            self.fail(f"{value!r} is not a number of tokens; type for example {self.examples}", param, ctx)
        return tokens


class _Budget(_Tokens):
    """A number of tokens, a share of the model's window, or auto."""

    name = "budget"
    examples = "60000, 60k, 60% or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the tokens that a text means; auto and a share stay as they are."""
        return str(value) if value == AUTO or is_share(value) else super().convert(value, param, ctx)


TOKENS = _Tokens()
BUDGET = _Budget()


class Whole(click.IntRange):
    """A whole number, with its range in words."""

    def _describe_range(self) -> str:
        return f"{self.min} or more" if self.max is None else f"{self.min} to {self.max}"


def home_options(command: F) -> F:
    """Give a command the options --project, --all-projects, --home and --json."""
    return _home_options(command, wide=True)


def one_home_options(command: F) -> F:
    """Give a command that is about one project the options --project, --home and --json."""
    return _home_options(command, wide=False)


def _home_options(command: F, *, wide: bool) -> F:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout."),
        click.option("--home", metavar="DIR", help=HOME_HELP),
    ):
        command = option(command)
    return project_options(command) if wide else project_option(command)


def session_options(command: F) -> F:
    """Give a command the options --session, --project, --all-projects, --home and --json."""
    return _session_option(home_options(command))


def one_session_options(command: F) -> F:
    """Give a command that is about one project the options --session, --project, --home and --json."""
    return _session_option(one_home_options(command))


def _session_option(command: F) -> F:
    return click.option("--session", metavar="ID", help="The session's id (default: the newest session).")(command)


def settings_of(home: str | None, **more: Any) -> Settings:
    """Return the settings for this project, with the options of the command line; None is an option that was not given.

    Their `home` is the folder of the project's records. It may not be there yet.
    """
    return settings_in(place_here(home), **more)


def settings_in(place: Place, **more: Any) -> Settings:
    """Return the settings with their `home` at a place, and with the options of the command line."""
    return settings_at(place.records, **more)


@contextmanager
def opened(home: str | None, session: str | None, *, keeps_notes: bool = False, makes: str = "") -> Iterator[Session]:
    """Open a session that exists; `makes`: the commands that make one, for the message that there is none.

    Raises RecallError: there is none, or none of that id. Raises StoreError: there is no store.
    """
    place, chosen = _found(home, session, makes or (MAKES_OWN if keeps_notes else ""))
    with open_session(place, chosen, keeps_notes=keeps_notes) as found:
        yield found


def _found(home: str | None, session: str | None, makes: str) -> tuple[Place, str]:
    """Return the place and the id of a session; if all projects are meant, the newest of all of them."""
    places = [one for one in places_here(home)[: None if is_wide() else 1] if has_store(one)]
    if not places:
        raise RecallError(no_store((str(place_here(home).records),), makes))
    found = []
    for place in places:
        with open_store(place, Scope(), create=False) as store:
            if len(places) == 1:  # its newest by its own order: a clock can have run backwards
                chosen = store.newest_session() if session is None else session
                found += [(0, place, chosen)] if chosen is not None and store.last_seq(chosen) else []
            else:
                rows = [row for row in store.sessions() if session in (None, row.session_id)]
                found += [(row.last_at_ms, place, row.session_id) for row in rows[:1]]
    if found:
        _, place, chosen = max(found, key=lambda one: one[0])
        return place, chosen
    where = places[0].records
    if session is None:
        raise RecallError(f"there is no session in {where} yet; --home DIR names another folder")
    raise RecallError(
        f"there is no session {session[:80]!r} in {where}; `undrift session list{again(home)}` shows what it has"
    )


def open_session(place: Place, session_id: str, *, keeps_notes: bool = False) -> Session:
    """Open a session, new or known; its scratchpad is made only if that is asked for."""
    return Session.open(session_id, home=place, settings=settings_in(place), keeps_notes=keeps_notes)


def moment_of(text: str) -> int | str:
    """Return the number of an operation, or the name of a checkpoint or task."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text
