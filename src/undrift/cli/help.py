"""``undrift help`` and ``undrift completion``."""

import click
from click.shell_completion import get_completion_class

from undrift.cli.show import safe

__all__ = ["completion_command", "help_command"]


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command.

    \b
    undrift help replay
    undrift help memory search
    """
    root = context.find_root()
    command: click.Command = root.command
    shown = click.Context(command, info_name=root.info_name, **command.context_settings)
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{shown.command_path} has no command {safe(word[:80])!r} below it", context)
        _, found, _ = command.resolve_command(shown, [word])
        assert found is not None
        command, shown = found, click.Context(found, parent=shown, info_name=word)
    click.echo(command.get_help(shown))


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print a script that completes undrift's commands in a shell.

    Put one of these lines into the start-up file of your shell.

    \b
    ~/.bashrc:   eval "$(undrift completion bash)"
    ~/.zshrc:    eval "$(undrift completion zsh)"
    fish config: undrift completion fish | source
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "undrift", "_UNDRIFT_COMPLETE").source())
