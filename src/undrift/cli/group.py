"""The group of all commands: its way with errors. An error made on purpose is one line and exit code 1, no traceback."""

import errno
import io
import logging
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import IO, Any

import click

from undrift.cli.show import safe
from undrift.errors import UndriftError

__all__ = ["CommandGroup"]


class _Failed(click.ClickException):
    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"undrift: {safe(self.message)}", file=file, err=True)


class CommandGroup(click.Group):
    """A click group that turns errors into one line each, and loads a command when it is asked for.

    Args:
        rooms: Name of a command to the module where it stands (as ``NAME_command``, with ``_`` for ``-``) and its line in the help: what a
            command needs is imported only when that command runs.
    """

    def __init__(self, *args: Any, rooms: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rooms = rooms

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """Return the names of all commands, in the order of the help."""
        return list(self._rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loaded now; None for a name that is none."""
        if cmd_name not in self._rooms:
            return None
        command = getattr(import_module(self._rooms[cmd_name][0]), f"{cmd_name.replace('-', '_')}_command")
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands' lines of the help, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._rooms.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what the engine or the system refuses ends in one line."""
        if sys.stdout is None:  # before anything is done of which nobody would learn
            raise _Failed("stdout is closed; open it, as with >/dev/null")
        log = logging.getLogger("undrift")
        if not log.handlers:
            log.addHandler(logging.NullHandler())  # what the engine logs stands in the reports as well
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a console that cannot show a letter is no failure
        try:
            return super().invoke(ctx)
        except UndriftError as error:
            raise _Failed(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read our output has enough; click ends quietly
            raise _Failed(f"{error.filename or 'the output'}: {error.strerror or error}") from error
