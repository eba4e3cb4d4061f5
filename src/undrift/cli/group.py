"""The groups of commands: how a command is found, listed and suggested, and how an error ends.

Law: a command's module is imported only when that command runs. An error made on purpose is one line and exit code 1.
"""

import difflib
import errno
import gc
import io
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

import click

from undrift.cli.show import safe, wrapped
from undrift.errors import UndriftError
from undrift.settings import removed_variables

__all__ = ["CommandGroup", "Program"]

_WIDE = 78
"""At this width the names of the sections stand to the left of the commands."""


class _Failed(click.ClickException):
    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(wrapped(f"undrift: {safe(self.message)}", sys.stderr), file=file, err=True)


class CommandGroup(click.Group):
    """A group that loads a command when it is asked for.

    `rooms`: a command's name to where it stands (``module:attribute``, or a group) and its line in the help. `moved`: an
    older name to where its command stands; it is in no list. `default`: the command that runs where none is named.
    """

    def __init__(
        self,
        *args: Any,
        rooms: "Mapping[str, tuple[str | CommandGroup, str]]",
        moved: Mapping[str, str] | None = None,
        default: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("context_settings", {"help_option_names": ["-h", "--help"], "max_content_width": 80})
        super().__init__(*args, **kwargs)
        self._rooms = rooms
        self._moved = moved or {}
        self._default = default

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """Return the names of all commands, in the order of the help."""
        return list(self._rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loaded now; None for an unknown name."""
        if cmd_name in self._moved:
            return _loaded(self._moved[cmd_name])
        return _loaded(self._rooms[cmd_name][0]) if cmd_name in self._rooms else None

    def lines(self) -> list[tuple[str, str]]:
        """Return each command's name and line, without loading any."""
        return [(name, line) for name, (_, line) in self._rooms.items()]

    def spellings(self) -> dict[str, str]:
        """Return the name of each command below this group, with the words that call it."""
        found = {name: name for name in self._rooms}
        for name, (room, _) in self._rooms.items():
            if isinstance(room, CommandGroup):
                found |= {below: f"{name} {words}" for below, words in room.spellings().items() if below not in found}
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands' lines of the help, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(self.lines())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Run the default command, or print the help, if nothing else is asked for."""
        if self._default is not None and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [self._default, *args]
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error that suggests the nearest ones."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            root = ctx.find_root().command
            known = self.spellings() if self is root else {}
            prefix = ctx.command_path.partition(" ")[2]
            known |= {below: f"{prefix} {words}".strip() for below, words in self.spellings().items()}
            if isinstance(root, CommandGroup):
                known = root.spellings() | known
            near = dict.fromkeys(known[one] for one in difflib.get_close_matches(name, known, n=3, cutoff=0.65))
            meant = f" Did you mean: {' or '.join(f'undrift {one}' for one in near)}?" if near else ""
            ctx.fail(f"There is no command {safe(name[:80])!r}.{meant}")
        return super().resolve_command(ctx, args)


class Program(CommandGroup):
    """The program: the first screen, the older spellings, and what an error looks like.

    `sections`: the title of a section to the names in it. `older`: an older spelling to its present one. `kept`: an
    older spelling that has a command of its own, to where that stands.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, tuple[str, ...]],
        first: Mapping[str, str],
        older: Mapping[str, str],
        kept: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._first = first
        self._older = older
        self._kept = kept

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command under its name or its older spelling."""
        if cmd_name in self._kept:
            return _loaded(self._kept[cmd_name])
        if cmd_name not in self._older:
            return super().get_command(ctx, cmd_name)
        command: click.Command | None = self
        for word in self._older[cmd_name].split():
            command = command.get_command(ctx, word) if isinstance(command, click.Group) else None
        return command

    def spellings(self) -> dict[str, str]:
        """Return the name of each command, older ones included, with the words that call it."""
        return {**super().spellings(), **self._older}

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the first screen."""
        formatter.write_text(self.help or "")
        formatter.write("\nStart here:\n")
        longest = max(map(len, self._first))
        for words, line in self._first.items():
            formatter.write(f"  {words:{longest}}  {line}\n")
        formatter.write("\n")
        lines = dict(self.lines())
        left = max(map(len, self._sections)) if formatter.width >= _WIDE else 0
        for title, names in self._sections.items():
            if not left:
                formatter.write(f"{title}\n")
            for number, name in enumerate(names):
                shown = title if left and not number else ""
                formatter.write(f"{shown:{left}}  {name:<8} {lines[name]}\n")
        formatter.write("\n")
        formatter.write_text("undrift help COMMAND explains a command, undrift config shows the settings.")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what the engine or the system refuses ends in one line."""
        if sys.stdout is None:  # before anything is done that no one would learn of
            raise _Failed("stdout is closed; open it, as with >/dev/null")
        for warning in removed_variables():
            click.echo(f"undrift: {warning}", err=True)
        log = logging.getLogger("undrift")
        if not log.handlers:
            log.addHandler(logging.NullHandler())  # the reports say what the engine logs
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a console that cannot show a letter is no failure
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise click.UsageError(wrapped(error.format_message(), sys.stderr), error.ctx) from error
        except UndriftError as error:
            raise _Failed(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of our output has enough; click ends quietly
            _drop_output()
            raise _Failed(f"{error.filename or 'the output'}: {error.strerror or error}") from error


def _drop_output() -> None:
    """Let what could not be written go: else Python tries again at its end, and exits with 120."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _loaded(room: "str | CommandGroup") -> click.Command | None:
    if isinstance(room, CommandGroup):
        return room
    module, _, attribute = room.partition(":")
    is_collecting = gc.isenabled()
    gc.disable()  # what a module makes stays: a sixth of a start was the collector's search in it
    try:
        command = getattr(import_module(module), attribute)
    finally:
        if is_collecting:
            gc.enable()
    return command if isinstance(command, click.Command) else None
