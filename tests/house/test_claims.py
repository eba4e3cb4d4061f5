"""Help, errors, README and the pages name the commands, formats, clients and versions of the program's own tables."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.house.claims import commands_in, lists_of, refused, versions_in
from tests.house.trees import nodes
from undrift import AGENT_RULES
from undrift.cli import main
from undrift.cli.own import FORMATS_READ
from undrift.clients import CLIENTS, SERVED
from undrift.clients.addressed import ADDRESSED
from undrift.clients.wrapped import WRAPPED
from undrift.profiles import PROFILES
from undrift.transcripts import FORMATS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "undrift"
PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "clients", ROOT / "docs" / "guides", ROOT / "plugins")
    for path in folder.glob("*.md")
    if path.name != "CHANGELOG.md"
)
"""Without the records of decisions and changes, which describe their own day."""

TITLES = {name: client.title for name, client in ADDRESSED.items()}
HOOKED = [name for name, client in CLIENTS.items() if not client.lacking]
TABLES = {
    "hooks": tuple(HOOKED),
    "known to `undrift install`": tuple(CLIENTS),
    "MCP server": tuple(SERVED),
    "gateway": tuple(ADDRESSED),
    "wrap": tuple(WRAPPED),
}
CALIBRATED = ("Claude Code", "Codex", "Gemini CLI", "opencode", "pi")
OTHER_LISTS = {"docs/calibration.md": [CALIBRATED]}
"""Page -> lists that are complete, but of something else than a table of ours."""


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def messages() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each string of the program that is no docstring of a module or a class."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "undrift" in node.value:
                yield path.relative_to(ROOT).as_posix(), node.value


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


def row(text: str, first: str) -> list[str]:
    """Return the cells of the table row that begins with a word, without it."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


# ------------------------------------------------------------------------------------------------------------- commands
def test_every_command_line_in_a_page_is_one_that_the_program_takes() -> None:
    lines = [
        (path.relative_to(ROOT).as_posix(), line) for path in PAGES for line in commands_in(path.read_text("utf-8"))
    ]
    assert len(lines) > 150
    wrong = [f"{name}: {line}: {why}" for name, line in lines if (why := refused(main, line))]
    assert not wrong, "\n".join(wrong)


def test_every_command_that_the_program_names_is_one_that_it_takes() -> None:
    lines = [(name, line) for name, text in messages() for line in commands_in(text)]
    assert len(lines) > 50
    wrong = [f"{name}: {line}: {why}" for name, line in lines if (why := refused(main, line))]
    assert not wrong, "\n".join(wrong)


def test_every_example_of_a_help_is_one_that_the_program_takes() -> None:
    for path, command in commands(main, "undrift"):
        examples = [line.strip() for line in (command.help or "").splitlines() if line.strip().startswith("undrift ")]
        wrong = [f"{line}: {why}" for line in examples if (why := refused(main, re.sub(r"\s+[<|].*", "", line)))]
        assert not wrong, f"help of {path}: {wrong}"


@pytest.mark.parametrize(
    "line",
    [
        "undrift autopsi",
        "undrift session taks",
        "undrift replay --bugdet 5",
        "undrift install cursor",
        "undrift memory search 'x",
        "undrift wrap --bugdet 5 claude",
    ],
)
def test_a_command_line_that_the_program_does_not_take_is_found(line: str) -> None:
    assert refused(main, line)


@pytest.mark.parametrize(
    "line",
    [
        "undrift install CLIENT",
        "undrift wrap codex -- --any",
        "undrift COMMAND --x",
        "undrift wrap claude --theirs",
        "undrift -v",
    ],
)
def test_a_command_line_with_a_placeholder_or_of_a_client_is_let_through(line: str) -> None:
    assert not refused(main, line)


def test_command_lines_are_found_in_blocks_and_spans() -> None:
    text = "Type `undrift doctor`.\n```sh\nundrift replay x   # a note\nA=1 undrift wrap claude | cat\nmake\n```\n"
    assert list(commands_in(text)) == ["undrift replay x", "undrift wrap claude", "undrift doctor"]


# -------------------------------------------------------------------------------------------------------------- formats
def test_the_page_of_recordings_has_one_row_for_each_format() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", page("docs/recordings.md"), re.MULTILINE)
    assert sorted(rows) == sorted(FORMATS)


def test_the_folders_in_the_page_of_recordings_are_moved_by_the_variables_that_the_program_reads() -> None:
    named = set(re.findall(r"\(`([A-Z_]+)`[^)]*\) \|", page("docs/recordings.md")))
    autopsy = main.get_command(click.Context(main), "autopsy")
    assert autopsy is not None
    read = {
        str(option.envvar)
        for option in autopsy.params
        if isinstance(option, click.Option) and option.hidden and option.envvar
    }
    assert named == read


def lists_of_formats(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the lists of formats; some formats have the names of their clients, so a list of these alone is none."""
    yield from (found for found in lists_of(FORMATS, text) if not set(found) <= {*TITLES, *TITLES.values()})


def test_every_help_that_lists_formats_lists_all_of_them() -> None:
    shown = {path for path, command in commands(main, "undrift") if getattr(command, "epilog", None) == FORMATS_READ}
    assert {"undrift autopsy", "undrift replay", "undrift session restore"} <= shown
    for _, command in commands(main, "undrift"):
        text = " ".join(f"{command.help} {command.epilog}".split())
        assert all(set(found) == set(FORMATS) for found in lists_of_formats(text))


def test_every_page_that_lists_formats_lists_all_of_them() -> None:
    for path in PAGES:
        for found in lists_of_formats(path.read_text(encoding="utf-8")):
            assert set(found) == set(FORMATS), f"{path.name}: {found}"


def test_a_list_that_lacks_a_format_is_found_and_one_of_clients_is_not_taken_for_it() -> None:
    assert list(lists_of_formats("claude-code, codex or gemini-cli")) == [("claude-code", "codex", "gemini-cli")]
    assert list(lists_of_formats("Codex, opencode, aider and mini-swe-agent")) == []


def test_a_client_whose_hooks_are_lacking_is_told_the_truth_on_its_recordings() -> None:
    """The error of `undrift install` says that its sessions are read: so there is a format of that client."""
    for name, client in CLIENTS.items():
        if client.lacking:
            is_read = re.search("undrift autopsy, restore and replay read (its|what)", client.lacking) is not None
            assert is_read == (PROFILES[name].format in FORMATS), name


# -------------------------------------------------------------------------------------------------------------- clients
def allowed_lists() -> set[frozenset[str]]:
    """Return each table, also without the client that the sentence names before it, in typed names and in titles."""
    found = set[frozenset[str]]()
    for table in TABLES.values():
        for names in (table, tuple(TITLES[name] for name in table)):
            found |= {frozenset(names), *(frozenset(names) - {name} for name in names)}
    return found


def texts() -> Iterator[tuple[str, str]]:
    yield from ((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in PAGES)
    yield from messages()


def test_every_list_of_clients_is_that_of_a_table() -> None:
    allowed, known, seen = allowed_lists(), {*TITLES, *TITLES.values(), "pi"}, 0
    for name, text in texts():
        for found in lists_of(known, text):
            seen += 1
            is_other = found in [tuple(one) for one in OTHER_LISTS.get(name, ())]
            assert frozenset(found) in allowed or is_other, (
                f"{name}: {found} is the list of no table in undrift.clients"
            )
    assert seen >= 8


def test_a_list_of_clients_that_lacks_one_is_found() -> None:
    (found,) = lists_of({*TITLES}, "CLIENT is `claude`, `codex`, `gemini` or `aider`.")
    assert found == ("claude", "codex", "gemini", "aider")
    assert frozenset(found) not in allowed_lists()


def test_the_section_of_each_command_names_the_words_that_its_argument_takes() -> None:
    sections = dict(re.findall(r"^#{2,3} `(undrift [\w -]+)`\n(.*?)(?=^#{2,3} |\Z)", page("docs/cli.md"), re.M | re.S))
    for path, command in commands(main, "undrift"):
        for argument in command.params:
            if isinstance(argument, click.Argument) and isinstance(argument.type, click.Choice):
                missing = [word for word in argument.type.choices if not re.search(rf"\b{word}\b", sections[path])]
                assert not missing, f"docs/cli.md says nothing of {missing} in the section of {path}"


def test_the_table_of_hooks_has_the_clients_that_have_them() -> None:
    text = page("docs/hooks.md")
    (head,) = [line for line in text.splitlines() if line.startswith("| | Claude Code |")]
    titles = [cell.strip() for cell in head.strip("|").split("|")][1:]
    assert titles == [client.title for client in CLIENTS.values()]
    for first in ("recorded before a compaction", "restored after it"):
        assert dict(zip(CLIENTS, row(text, first), strict=True)) == {
            name: "yes" if name in HOOKED else "no" for name in CLIENTS
        }


def test_the_table_of_servers_has_the_clients_that_take_one() -> None:
    listed = re.findall(
        r"^\| ([^|`]+) \| `~/[^|]*\|[^|]*\| `?mcp|^\| ([^|`]+) \| `~/[^|]*\|[^|]*\| `\[mcp", page("docs/mcp.md"), re.M
    )
    assert sorted(one or other for one, other in listed) == sorted(client.title for client in SERVED.values())


def test_the_page_of_clients_has_one_row_for_each_that_can_be_wrapped() -> None:
    rows = re.findall(r"^\| [^|]+ \| `undrift wrap (\w+)` \|", page("docs/clients/README.md"), re.MULTILINE)
    assert rows == list(WRAPPED)


# ------------------------------------------------------------------------------------------------------------- versions
@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.version and name in TITLES])
def test_every_page_names_the_version_that_was_recorded(name: str) -> None:
    version = PROFILES[name].version
    for path in PAGES:
        assert versions_in(TITLES[name], path.read_text(encoding="utf-8")) <= {version}, path.name


def test_the_versions_that_make_installs_are_those_of_the_profiles() -> None:
    makefile = page("Makefile")
    variables = {
        "claude": "CLAUDE_CODE",
        "codex": "CODEX",
        "gemini": "GEMINI",
        "opencode": "OPENCODE",
        "aider": "AIDER",
        "mini": "MINI_SWE_AGENT",
    }
    installed = {name: re.findall(rf"^{key} \?= (\S+)$", makefile, re.M) for name, key in variables.items()}
    assert installed == {name: [PROFILES[name].version] for name in variables}


def test_the_table_of_hooks_names_the_versions_that_were_tried_or_read() -> None:
    cells = row(page("docs/hooks.md"), "tried with")
    assert [cell.removeprefix("read: ") for cell in cells] == [PROFILES[name].version for name in CLIENTS]


# ---------------------------------------------------------------------------------------------------------------- texts
def test_the_rules_for_agents_stand_in_the_page_word_for_word() -> None:
    assert AGENT_RULES.strip() in page("docs/tasks.md")


def test_every_block_that_a_page_calls_printed_is_compared_with_its_command() -> None:
    """`test_figures.py` runs this one; another one needs a test beside it."""
    named = [found for path in PAGES for found in re.findall(r"\*\*Printed\*\* by `([^`]+)`", path.read_text("utf-8"))]
    assert named == ["make demo"]
