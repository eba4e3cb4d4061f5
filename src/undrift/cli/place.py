"""The options ``--home``, ``--project`` and ``--all-projects``, and the places that a command means by them.

Law: a look creates nothing. The options travel in click's context, so that a command does not pass them on.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from undrift.cli.show import PROJECT, safe
from undrift.errors import InputError
from undrift.profiles import PROFILES
from undrift.settings import Settings, environment, working_folder
from undrift.stores.opening import engine_of
from undrift.stores.projects import FILES, keep, place_at, place_of, places_in
from undrift.stores.served import home_path
from undrift.values.project import Place

__all__ = [
    "HOME_HELP",
    "agents_client",
    "home_of",
    "home_settings",
    "is_wide",
    "kept_place",
    "named_place",
    "names_project",
    "place_here",
    "places_here",
    "project_option",
    "project_options",
    "settings_at",
    "takes_all_projects",
]

HOME_HELP = "The folder of undrift's data (default: your `home` setting, ~/.undrift)."

F = TypeVar("F", bound=Callable[..., Any])

_WIDE = "undrift.all_projects"
_MOST_NAMES = 8


def project_option(command: F) -> F:
    """Give a command that is about one project the option --project."""
    return click.option(
        "--project",
        metavar="P",
        expose_value=False,
        callback=_kept(PROJECT),
        help="The project: its name or a folder in it (default: that of the current folder).",
    )(command)


def project_options(command: F) -> F:
    """Give a command that can look at several projects the options --project and --all-projects."""
    return project_option(
        click.option(
            "--all-projects", is_flag=True, expose_value=False, callback=_kept(_WIDE), help="Look at all your projects."
        )(command)
    )


def _kept(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep_it(context: click.Context, _option: click.Parameter, value: Any) -> None:
        context.meta[name] = value
        if context.meta.get(PROJECT) and context.meta.get(_WIDE):
            raise click.UsageError("--project and --all-projects exclude each other", context)

    return keep_it


def takes_all_projects() -> bool:
    """Tell whether the command that runs has the option --all-projects."""
    context = click.get_current_context(silent=True)
    return context is not None and any("--all-projects" in one.opts for one in context.command.params)


def is_wide() -> bool:
    """Tell whether all projects are meant."""
    return bool(_given(_WIDE))


def names_project() -> bool:
    """Tell whether the command line names another project, or all of them."""
    return is_wide() or _given(PROJECT) is not None


def agents_client() -> str:
    """Return the title of the client that runs this command for its agent; empty for a person.

    A person has allowed the agent to recall without a question: that is meant for the agent's own project.
    """
    variables = environment()
    found = (one.title for one in PROFILES.values() if one.recall.variable and variables.get(one.recall.variable))
    return next(found, "")


def home_of(given: str | None) -> Path:
    """Return the home: the given one, else that of the settings."""
    settings = Settings.from_environment() if given is None else Settings.from_environment(home=given)
    return home_path(settings.home)


def place_here(given: str | None, folder: Path | None = None) -> Place:
    """Return the place of the project that a command means.

    Args:
        given: The option --home.
        folder: The folder that tells the project; None: the one that this process works for.

    Raises:
        InputError: No project of the home has the name, or several have.
        StoreError: The user's home folder is not known.
    """
    home, named = home_of(given), _given(PROJECT)
    if named is None:
        return place_of(home, folder or working_folder(), shares=True)
    if os.sep in named or Path(named).is_dir():
        return place_of(home, Path(named).absolute(), shares=True)
    return _named(home, named)


def places_here(given: str | None, *, everywhere: bool = False) -> tuple[Place, ...]:
    """Return the places that a command looks at: this project's first, then the records of earlier versions.

    `everywhere`: also all other projects, as for a reference, which no two texts share.
    """
    here = place_here(given)
    found = [here]
    if everywhere or is_wide():
        found += places_in(here.home)
    earlier = [here.home]
    if given is None:
        local = working_folder() / FILES
        earlier += [*([local] if _is_own(local) else []), Path.home() / FILES]
    found += [place_at(one) for one in earlier if engine_of(one).is_there(one)]
    first: dict[str, Place] = {}
    for place in found:
        first.setdefault(os.path.realpath(place), place)
    return tuple(first.values())


def _is_own(home: Path) -> bool:
    """Tell whether undrift made a home's store: a file that came with a repository can be read by others."""
    for name in engine_of(home).own_files:
        with suppress(FileNotFoundError):
            status = (home / name).lstat()
            if not stat.S_ISREG(status.st_mode) or (os.name != "nt" and stat.S_IMODE(status.st_mode) & 0o077):
                return False
    return True


def home_settings(given: str | None, **more: Any) -> Settings:
    """Return the settings with the home itself; `more` as in `settings_at`."""
    return settings_at(home_of(given), **more)


def settings_at(home: Path, **more: Any) -> Settings:
    """Return the settings with a home; `more`: options of the command line, None is an option that was not given."""
    chosen = {name: value for name, value in more.items() if value is not None}
    return Settings.from_environment(None, home=str(home), **chosen)


def named_place(given: str | None) -> Place | None:
    """Return the place of the project that --project names. None means: the option was not given."""
    return None if _given(PROJECT) is None else keep(place_here(given))


def kept_place(given: str | None) -> Place:
    """Return the place of the project to write to; create the folder of its records.

    Raises StoreError: the system refuses.
    """
    return keep(place_here(given))


def _given(name: str) -> Any:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(name)


def _named(home: Path, name: str) -> Place:
    known = places_in(home)
    found = [one for one in known if one.project is not None and name in (one.project.name, one.records.name)]
    if len(found) == 1:
        return found[0]
    names = [one.records.name if found else one.project.name for one in found or known if one.project is not None]
    shown = ", ".join(safe(one[:80]) for one in names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    if found:
        raise InputError(f"several projects are named {name[:80]!r}; name one of: {shown}")
    known_names = f"it has {shown}" if names else "it has no project yet"
    raise InputError(f"there is no project {name[:80]!r} in {home}: {known_names}; a folder names one too")
