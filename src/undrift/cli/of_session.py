"""The session that a command is about: the one named, else the newest of the home.

Law: nothing is created where there is only something to look at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from undrift.errors import RecallError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.opening import open_store
from undrift.values.scope import Scope

__all__ = ["FIRST_SESSION", "moment_of", "open_session", "opened", "session_options", "settings_of"]

FIRST_SESSION = "notes"
"""Of what is remembered in a home that has no session yet."""

F = TypeVar("F", bound=Callable[..., Any])


def session_options(command: F) -> F:
    """Give a command the options --session, --home and --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
        click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home)."),
        click.option("--session", metavar="ID", help="Of which session (default: the newest)."),
    ):
        command = option(command)
    return command


def settings_of(home: str | None, **more: Any) -> Settings:
    """Return the settings, with the home that was given."""
    given = more if home is None else {**more, "home": home}
    return Settings.from_environment(None, **given)


@contextmanager
def opened(home: str | None, session: str | None, *, keeps_notes: bool = False) -> Iterator[Session]:
    """Open a session that there is.

    Args:
        home: As given on the command line.
        session: The same; None for the newest.
        keeps_notes: Whether the scratchpad is touched.

    Raises:
        RecallError: There is none, or none of that id.
        StoreError: There is no store.
    """
    settings = settings_of(home)
    with open_store(settings.home, Scope(), create=False) as store:
        chosen = store.newest_session() if session is None else session
        if chosen is None:
            raise RecallError(f"no session in {settings.home}: nothing was recorded there yet; give another --home")
        if not store.last_seq(chosen):
            raise RecallError(f"no session {chosen[:80]!r} in {settings.home}; check --session and --home")
    with open_session(settings, chosen, keeps_notes=keeps_notes) as found:
        yield found


def open_session(settings: Settings, session_id: str, *, keeps_notes: bool = False) -> Session:
    """Open a session, new or known; its scratchpad is made only where that is asked for."""
    return Session.open(session_id, settings=settings, keeps_notes=keeps_notes)


def moment_of(text: str) -> int | str:
    """Return an operation's number where a text is one, else the name of a checkpoint or task."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text
