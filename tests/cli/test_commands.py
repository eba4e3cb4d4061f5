"""The first screen, the groups behind it, and that no older spelling is lost."""

import shutil
import subprocess
import sys

import click
import pytest

from tests.cli.builders import environment, undrift
from undrift import __version__
from undrift.cli import main
from undrift.cli.group import CommandGroup, Program

MOST_ON_THE_FIRST_SCREEN = 12
"""Who raises this says in the same commit what the new command replaced."""

BEHIND_IT = (
    "install",
    "bench",
    "config",
    "help",
    "completion",
    "handoff",
    "rules",
    "continue",
    "agent",
    "serve",
    "team",
)
"""Commands that `undrift help` lists, and the first screen does not."""

OLDER = (
    "autopsy restore install uninstall replay recall why facts sessions tasks archive mcp manage remember search conflicts "
    "checkpoint rewind undo history diff rebuild purge proxy wrap dispatch doctor backup restore-backup hook"
)


def below(group: click.Command, words: str = "") -> list[str]:
    """The spelling of every command that is listed."""
    if not isinstance(group, click.Group):
        return [words]
    context = click.Context(group)
    found = [words] if words else []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found += below(command, f"{words} {name}".strip())
    return found


LISTED = below(main)


def test_the_first_screen_fits_and_shows_at_most_twelve_commands():
    assert isinstance(main, Program)
    shown = undrift()
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert len(lines) < 24  # the prompt takes the last one
    assert max(map(len, lines)) <= 80
    on_it = [name for names in main._sections.values() for name in names]
    assert len(on_it) <= MOST_ON_THE_FIRST_SCREEN
    assert sum(any(f"  {name} " in line for line in lines) for name in on_it) == len(on_it)
    assert set(main.list_commands(click.Context(main))) == {*on_it, *BEHIND_IT}
    assert max(map(len, undrift(columns=60).stdout.splitlines())) <= 60
    assert undrift("--help").stdout == shown.stdout


@pytest.mark.parametrize("name", OLDER.split())
def test_every_older_spelling_works_with_the_same_options(name: str):
    assert isinstance(main, Program)
    older = undrift(name, "--help")
    assert (older.exit_code, older.stderr) == (0, "")
    words = main._older.get(name, name).split()
    if name in main._kept:
        return  # a command of its own; the other tests of tests/cli run it
    present = undrift(*words, "--help")
    assert older.stdout.partition("\n")[2] == present.stdout.partition("\n")[2]
    context, group = click.Context(main), main.get_command(click.Context(main), words[0])
    command = group.get_command(context, words[1]) if isinstance(group, CommandGroup) else group
    assert main.get_command(context, name) is command


def test_older_spellings_are_in_no_list():
    assert not {"remember", "why", "uninstall", "sessions"} & set(main.list_commands(click.Context(main)))
    assert not {"session drift", "bench overhead", "bench store"} & set(LISTED)


def test_a_command_that_moved_to_another_group_is_the_same_one():
    older, present = undrift("session", "drift", "--help"), undrift("bench", "drift", "--help")
    assert (older.exit_code, older.stdout.partition("\n")[2]) == (0, present.stdout.partition("\n")[2])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("autopsi",), "undrift autopsy"),
        (("serch",), "undrift memory search"),
        (("uninstal",), "undrift install --undo"),
        (("sesions",), "undrift session list"),
        (("memory", "conflict"), "undrift memory conflicts"),
        (("store", "remeber"), "undrift memory remember"),
    ],
)
def test_a_mistyped_command_suggests_the_right_one(typed: tuple[str, ...], meant: str):
    result = undrift(*typed)
    assert result.exit_code == 2
    assert f"There is no command {typed[-1]!r}. Did you mean: {meant}" in result.stderr


def test_what_is_like_no_command_suggests_nothing():
    result = undrift("zzzzzz\x1b[2J")
    assert (result.exit_code, "mean" in result.stderr, "\x1b" in result.stderr) == (2, False, False)


def test_help_explains_a_command_of_any_group():
    assert undrift("help").stdout == undrift().stdout
    for words in LISTED:
        asked = undrift("help", *words.split())
        assert (asked.exit_code, asked.stdout) == (0, undrift(*words.split(), "--help").stdout)
    assert undrift("help", "remember").stdout == undrift("remember", "--help").stdout
    wrong = undrift("help", "memory", "serch")
    assert (wrong.exit_code, "undrift memory search" in wrong.stderr) == (2, True)
    assert undrift("help", "replay", "more").exit_code == 2


def test_the_version_has_a_short_option():
    assert undrift("-v").stdout == undrift("--version").stdout != ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_is_printed(shell: str):
    result = undrift("completion", shell)
    assert result.exit_code == 0
    assert "_UNDRIFT_COMPLETE" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_a_command_of_a_group():
    env = environment(_UNDRIFT_COMPLETE="bash_complete", COMP_WORDS="undrift memory s", COMP_CWORD="2")
    command = [sys.executable, "-c", "from undrift.cli import main; main(prog_name='undrift')"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,search"]


def test_version_and_help():
    assert undrift("--version").stdout == f"undrift {__version__}\n"
    text = undrift("--help").stdout
    assert all(command in text for command in ("replay", "recall", "why"))
    assert "--claude-home" not in undrift("replay", "-h").stdout
    assert undrift("no-such-command").exit_code == 2
