"""An option is a promise: every setting, command and option has its line in the documents."""

import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).parents[2]
REQUIRED = (
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    ".env.example",
    "docs/ARCHITECTURE.md",
    "docs/settings.md",
    "docs/cli.md",
)
EVERYWHERE = {"--help"}  # click gives it to every command


def read(*paths: str) -> str:
    """Return the documents' text; one that is missing fails the test, it does not pass for an empty one."""
    missing = [path for path in paths if not (ROOT / path).is_file()]
    assert not missing, f"{' and '.join(missing)} must exist: write it, this test looks for what it has to say"
    return "\n".join((ROOT / path).read_text(encoding="utf-8") for path in paths)


def module(name: str):
    """Import a module of ours; one that is missing fails the test."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.fail(f"{name} cannot be imported, so nothing of it can be documented: {error}")


def unnamed(words: Iterable[str], text: str) -> list[str]:
    """Return the words that the text never names as words of their own: ``--json`` is not named by ``--json-lines``."""
    return [word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all below it with what one types to call it; hidden ones are nobody's promise."""
    if command.hidden:
        return
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, f"{path} lists {name}, which does not load"
            yield from commands(child, f"{path} {name}")


def long_options(command: click.Command) -> list[str]:
    """Return the long names of a command's options, hidden ones and ``--help`` apart."""
    options = [
        parameter for parameter in command.params if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    names = {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}
    return sorted(names - EVERYWHERE)


def undocumented(root: click.Command, text: str) -> list[str]:
    """Return a sentence for each command, option or help text that is missing."""
    found = []
    for path, command in commands(root, "undrift"):
        found += [f"`{path}` is not named" for _ in unnamed([path], text)]
        found += [f"option {name} of `{path}` is not named" for name in unnamed(long_options(command), text)]
        if not (command.help or command.short_help):
            found.append(f"`{path}` has no help: give its function a docstring")
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.help and not parameter.hidden:
                found.append(f"option {parameter.opts[0]} of `{path}` has no help=")
    return found


def dead_links(text: str, folder: Path) -> list[str]:
    """Return the relative targets of a Markdown text's links that do not exist, seen from its folder."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [target for target in targets if ":" not in target and not (folder / target).exists()]


def headings(text: str) -> set[str]:
    """Return the anchors of a Markdown text's headings, as the pages of a repository have them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def dead_anchors(path: Path) -> list[str]:
    """Return the links of a Markdown file to a heading that is not there."""
    text = path.read_text(encoding="utf-8")
    found = []
    for target, anchor in re.findall(r"\]\(([^)#\s:]*\.md)?#([^)\s]+)\)", text):
        page = path.parent / target if target else path
        if page.is_file() and anchor not in headings(page.read_text(encoding="utf-8")):
            found.append(f"{target}#{anchor}")
    return found


@pytest.mark.parametrize("path", REQUIRED)
def test_the_document_exists_and_says_something(path: str):
    assert len(read(path)) > 200, f"{path} is all but empty: write what it promises"


def test_every_setting_is_in_the_example_environment():
    settings = module("undrift.settings").SETTINGS
    assert settings, "undrift.settings.SETTINGS is empty: it must hold one record for each setting"
    names = [name for setting in settings for name in setting.environment]
    missing = unnamed(names, read(".env.example"))
    assert not missing, f".env.example lacks {missing}: add each with its default and one line on what it does"


def test_every_setting_is_described():
    settings = module("undrift.settings").SETTINGS
    text = read("docs/settings.md")
    missing = unnamed([setting.name for setting in settings], text)
    missing += unnamed([name for setting in settings for name in setting.environment], text)
    assert not missing, f"docs/settings.md lacks {missing}: describe each with its variables, default and rule"


def test_no_document_names_a_variable_that_is_not_a_setting():
    known = {name for setting in module("undrift.settings").SETTINGS for name in setting.environment}
    known |= set(module("undrift.settings.keys").KEYS.values())
    text = read("README.md", ".env.example", "docs/settings.md", "docs/cli.md")
    unknown = sorted(set(re.findall(r"\b(?:UNDRIFT|DEVS)_[A-Z_]*[A-Z]\b", text)) - known)
    assert not unknown, (
        f"{unknown} set nothing: add them to SETTINGS in settings/__init__.py, or take them out of the documents"
    )


def test_every_command_and_option_is_documented():
    found = undocumented(module("undrift.cli").main, read("docs/cli.md"))
    assert not found, "docs/cli.md must follow:\n" + "\n".join(found)


def test_no_document_links_to_a_file_that_is_not_there():
    paths = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    found = [
        f"{path.relative_to(ROOT)}: links to {target}, which does not exist"
        for path in paths
        for target in dead_links(path.read_text(encoding="utf-8"), path.parent)
    ]
    assert not found, "\n".join(found)


def test_no_document_links_to_a_heading_that_is_not_there():
    paths = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    found = [f"{path.relative_to(ROOT)}: {link}" for path in paths for link in dead_anchors(path)]
    assert not found, "\n".join(found)


def test_every_record_has_its_title_in_the_list_and_a_sentence_below_it():
    listed = re.findall(r"^- \[(\d{4})\]\((\S+)\) (.+)$", read("docs/adr/README.md"), flags=re.MULTILINE)
    paths = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    titles = [text.splitlines()[0].removeprefix("# ") for text in texts]
    assert listed == [(path.name[:4], path.name, title) for path, title in zip(paths, titles, strict=True)]
    assert all(text.splitlines()[1].startswith("**In short:** ") for text in texts)


@click.group(help="Example.")
def example() -> None: ...


@example.command(help="Replay.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@click.option("--secret", hidden=True)
def replay(as_json: bool, secret: str) -> None: ...


@example.command()
@click.option("--bare")
def silent(bare: str) -> None: ...


def test_a_documented_command_passes_and_hidden_options_need_no_line():
    text = "`undrift`, `undrift replay [--json]`, `undrift silent --bare`"
    assert undocumented(example, text) == [
        "`undrift silent` has no help: give its function a docstring",
        "option --bare of `undrift silent` has no help=",
    ]


def test_an_undocumented_command_or_option_is_found():
    found = undocumented(example, "`undrift replays`, `undrift --json-lines`")
    assert "`undrift replay` is not named" in found
    assert "option --json of `undrift replay` is not named" in found


def test_a_word_inside_another_is_not_named():
    assert unnamed(["UNDRIFT_HOME", "--budget"], "UNDRIFT_HOME_DIR, --budget-share") == ["UNDRIFT_HOME", "--budget"]
    assert unnamed(["UNDRIFT_HOME", "--budget"], "# UNDRIFT_HOME=x and `--budget N`") == []


def test_a_missing_document_or_module_fails():
    with pytest.raises(AssertionError, match=r"no-such-file\.md must exist"):
        read("no-such-file.md")
    with pytest.raises(pytest.fail.Exception, match="cannot be imported"):
        module("undrift.no_such_module")


def test_a_dead_link_is_found(tmp_path: Path):
    (tmp_path / "there.md").touch()
    text = "[a](there.md#part) [b](gone.md) [c](https://example.org/x) [d](#part) ![e](gone.png 'title')"
    assert dead_links(text, tmp_path) == ["gone.md", "gone.png"]


def test_a_dead_anchor_is_found(tmp_path: Path):
    (tmp_path / "a.md").write_text("# One: `two`, three\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# B\n[a](a.md#one-two-three) [b](a.md#four) [c](#b) [d](#e)\n", encoding="utf-8")
    assert dead_anchors(tmp_path / "b.md") == ["a.md#four", "#e"]
