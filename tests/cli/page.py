"""The generated parts of docs/cli.md: ``python -m tests.cli.page`` writes each command's first line, examples and options."""

import re
from pathlib import Path

import click

from undrift.cli import main

__all__ = ["PAGE", "written"]

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
_BLOCK = re.compile(r"^(#{2,3} `undrift ([\w -]+)`\n)(?:(?!#).*\n)*?<!--end-->\n", re.MULTILINE)
_SHARED = {"--home", "--json", "--session", "--help"}
"""Options that the page explains once."""


def written(text: str) -> str:
    """Return the page with each generated part as the commands are now."""
    return _BLOCK.sub(lambda found: f"{found[1]}{_part(found[2])}<!--end-->\n", text)


def _part(words: str) -> str:
    context, command = click.Context(main), main
    for word in words.split():
        inner = command.get_command(context, word)
        assert inner is not None, words
        command = inner  # type: ignore[assignment]
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    examples = [line.strip() for line in (command.help or "").splitlines() if line.strip().startswith("undrift ")]
    parts = [first]
    if examples:
        parts.append("\n".join(["```sh", *examples, "```"]))
    rows = [_row(option) for option in command.params if isinstance(option, click.Option) and not option.hidden]
    if rows := [row for row in rows if row]:
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _row(option: click.Option) -> str:
    names = [*option.opts, *option.secondary_opts]
    if _SHARED.intersection(names):
        return ""
    value = "" if option.is_flag else f" {option.make_metavar(click.Context(main))}"
    value_shown = option.show_default if isinstance(option.show_default, str) else option.default
    default = f" Default: {value_shown}." if option.show_default and value_shown is not None else ""
    shown = ", ".join([*(f"`{name}`" for name in names[:-1]), f"`{names[-1]}{value}`"])
    return f"- {shown}: {option.help}{default}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
