"""The facts about a client, and our hooks in its settings. Pure."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from undrift.clients.events import MakeCommand
from undrift.clients.hookfile import Edited, Groups, has_hooks, our_commands, with_hooks, without_hooks

__all__ = ["EntryScope", "HookedClient", "command", "is_ours"]

_OURS = re.compile(r"(?:^|[\s/\\])undrift(?:\.exe)?['\"]? hook [A-Z][A-Za-z]+ --client=")


@dataclass(frozen=True, slots=True)
class EntryScope:
    """The settings file to change: the user's or the project's.

    `project`: the project's folder for settings of one project; None for those of the user.
    """

    client_home: Path
    project: Path | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class HookedClient:
    """A client that has hooks.

    Args:
        folder: Of the user's home folder; with `variable` the one that overrides it.
        groups: From how a command of ours is made to the entries by event.
    """

    name: str
    title: str
    folder: str
    variable: str
    settings: Callable[[EntryScope], Path]
    groups: Callable[[MakeCommand], Groups]
    notes: tuple[str, ...] = ()
    comments: bool = False
    lacking: str = ""

    def installed(self, text: str, make: MakeCommand) -> Edited:
        """Return the text with our entries added, if it has none yet; raises the same errors as `with_hooks`."""
        return with_hooks(text, self.groups(make), comments=self.comments)

    def without_ours(self, text: str, pieces: Sequence[str] = (), containers: Sequence[str] | None = None) -> str:
        """Return the text without our entries; raises the same errors as `without_hooks`."""
        if not text.strip("\ufeff \t\r\n"):
            return text
        return without_hooks(text, is_ours, pieces=pieces, containers=containers, comments=self.comments)

    def home(self, text: str) -> Path | None:
        """Return the home in our entries. None means: the text has no entries of ours."""
        if not text.strip("\ufeff \t\r\n"):
            return None
        for line in our_commands(text, is_ours, comments=self.comments):
            try:
                words = shlex.split(line)
            except ValueError:
                continue  # not as we write it
            for word in words:
                if word.startswith("--home="):
                    return Path(word.removeprefix("--home="))
        return None

    def has(self, text: str, make: MakeCommand) -> bool:
        """Tell whether the text has exactly these entries of ours."""
        if not text.strip("\ufeff \t\r\n"):
            return False
        return has_hooks(text, self.groups(make), is_ours, comments=self.comments)


def is_ours(text: str) -> bool:
    """Tell whether `command`, of any version of undrift, made a hook's command."""
    return _OURS.search(text) is not None


def command(program: Sequence[str], client: str, home: Path, client_home: Path) -> MakeCommand:
    """Return how the shell command of an entry is made.

    `home`: absolute. `client_home`: absolute.
    """

    def make(event: str, options: Sequence[str]) -> str:
        words = [*program, "hook", event, f"--client={client}", f"--home={home}", f"--client-home={client_home}"]
        return shlex.join([*words, *options])

    return make
