"""The options that many commands share, and the session that a command is about: the given one, else the newest.

Law: nothing is created if there is only something to look at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.show import again
from undrift.errors import RecallError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.rules import AUTO, is_count, tokens_of
from undrift.stores.opening import open_store
from undrift.values.scope import Scope

__all__ = [
    "BUDGET",
    "FIRST_SESSION",
    "HOME_HELP",
    "TOKENS",
    "Whole",
    "home_options",
    "moment_of",
    "open_session",
    "opened",
    "session_options",
    "settings_of",
]

HOME_HELP = "The folder of undrift's data (default: your `home` setting)."

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
    """A number of tokens, or auto."""

    name = "budget"
    examples = "60000, 60k or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the tokens that a text means, or auto."""
        return AUTO if value == AUTO else super().convert(value, param, ctx)


TOKENS = _Tokens()
BUDGET = _Budget()


class Whole(click.IntRange):
    """A whole number, with its range in words."""

    def _describe_range(self) -> str:
        return f"{self.min} or more" if self.max is None else f"{self.min} to {self.max}"


def home_options(command: F) -> F:
    """Give a command the options --home and --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout."),
        click.option("--home", metavar="DIR", help=HOME_HELP),
    ):
        command = option(command)
    return command


def session_options(command: F) -> F:
    """Give a command the options --session, --home and --json."""
    return click.option("--session", metavar="ID", help="The session's id (default: the newest session).")(
        home_options(command)
    )


def settings_of(home: str | None, **more: Any) -> Settings:
    """Return the settings, with the options that were given on the command line; None is an option that was not."""
    given = {name: value for name, value in {"home": home, **more}.items() if value is not None}
    return Settings.from_environment(None, **given)


@contextmanager
def opened(home: str | None, session: str | None, *, keeps_notes: bool = False, makes: str = "") -> Iterator[Session]:
    """Open a session that exists; `makes`: the commands that make one, for the message that there is none.

    Raises RecallError: there is none, or none of that id. Raises StoreError: there is no store.
    """
    settings = settings_of(home)
    if not has_store(settings.home):
        raise RecallError(no_store((settings.home,), makes or (MAKES_OWN if keeps_notes else "")))
    with open_store(settings.home, Scope(), create=False) as store:
        chosen = store.newest_session() if session is None else session
        if chosen is None:
            raise RecallError(f"there is no session in {settings.home} yet; --home DIR names another folder")
        if not store.last_seq(chosen):
            raise RecallError(
                f"there is no session {chosen[:80]!r} in {settings.home}; `undrift session list{again(home)}` shows what it has"
            )
    with open_session(settings, chosen, keeps_notes=keeps_notes) as found:
        yield found


def open_session(settings: Settings, session_id: str, *, keeps_notes: bool = False) -> Session:
    """Open a session, new or known; its scratchpad is made only if that is asked for."""
    return Session.open(session_id, settings=settings, keeps_notes=keeps_notes)


def moment_of(text: str) -> int | str:
    """Return the number of an operation, or the name of a checkpoint or task."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text
