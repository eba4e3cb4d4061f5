"""How one is told to add what is missing: a command that runs as it stands."""

import re
import shlex
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from undrift.values import extras

ROOT = Path(__file__).parents[2]
PLACES = [
    "README.md",
    "Makefile",
    ".env.example",
    *("src/**/*.py", "docs/**/*.md", "examples/**/*.py", "tests/**/*.py"),
]


def test_the_command_is_that_of_this_interpreter_and_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    command = extras.command_for("proxy")
    assert command == "'/my env/bin/python' -m pip install 'undrift[proxy]'"
    assert shlex.split(command)[-1] == "undrift[proxy]"


def test_without_pip_the_command_is_that_of_uv(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    words = shlex.split(extras.command_for("mcp"))
    assert words == ["uv", "pip", "install", "--python", sys.executable, "undrift[mcp]"]


def test_an_interpreter_that_does_not_know_itself_still_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "")
    assert extras.command_for("mcp") == "pip install 'undrift[mcp]'"


def pipx(folder: Path, monkeypatch: pytest.MonkeyPatch, parent: str = "venvs") -> None:
    """Let this interpreter be that of an environment that pipx has made."""
    place = folder / parent / "undrift"
    place.mkdir(parents=True)
    (place / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(place))


def test_from_a_temporary_environment_the_command_installs_undrift_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert extras.lasting_command() is None
    monkeypatch.setattr(PathDistribution, "read_text", lambda *_: "")
    pipx(tmp_path, monkeypatch, "pipx")
    assert extras.lasting_command() == "pipx install 'undrift[all]'"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "uv" / "archive-v0" / "x"))
    assert extras.command_for("mcp") == "uv tool install 'undrift[mcp]'"
    for place in ("file:///a/undrift-1.whl", "file:///a%20clone", "https://example.org/undrift.whl"):
        monkeypatch.setattr(PathDistribution, "read_text", lambda *_, place=place: f'{{"url": "{place}"}}')
        assert extras.command_for("mcp") == f"uv tool install 'undrift[mcp] @ {place}'"
    found = '{"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}'
    monkeypatch.setattr(PathDistribution, "read_text", lambda *_: found)
    assert extras.command_for("mcp") == "uv tool install 'undrift[mcp] @ git+https://example.org/a.git@c0ffee'"


def test_pipx_adds_the_packages_to_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pipx(tmp_path, monkeypatch)
    command = extras.command_for("proxy")
    zstd = ["backports-zstd>=1.0"] if sys.version_info < (3, 14) else []
    words = ["pipx", "inject", "undrift", "aiohttp>=3.11", *zstd, "httptools>=0.6", "uvicorn>=0.34"]
    assert shlex.split(command) == words
    assert "'aiohttp>=3.11'" in command
    assert extras.upgrade_command("apsw") == "pipx runpip undrift install --upgrade apsw"


def test_a_package_that_this_python_has_already_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pipx(tmp_path, monkeypatch)
    rows = ["one>=1 ; (python_version < '3.2') and extra == 'x'", "two ; python_version < '99.1' and extra == 'x'"]
    monkeypatch.setattr(extras, "requires", lambda _: rows)
    assert shlex.split(extras.command_for("x")) == ["pipx", "inject", "undrift", "two"]


def test_a_tool_of_uv_is_installed_with_the_packages_and_those_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = '{ name = "undrift" }, { name = "rich", specifier = ">=13" }'
    (tmp_path / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{rows}]\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    words = ["uv", "tool", "install", "--with", "rich>=13", "--with", "mcp>=2.3", "undrift"]
    assert shlex.split(extras.command_for("mcp")) == words
    (tmp_path / "uv-receipt.toml").write_text("[tool")
    assert shlex.split(extras.command_for("mcp")) == [*words[:3], *words[5:]]


def test_an_unknown_extra_is_left_to_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pipx(tmp_path, monkeypatch)
    assert shlex.split(extras.command_for("no-such")) == [sys.executable, "-m", "pip", "install", "undrift[no-such]"]


def test_no_hint_names_an_extra_without_quotes():
    """zsh takes brackets for a pattern: "no matches found"."""
    texts = {path: path.read_text("utf-8") for place in PLACES for path in ROOT.glob(place) if path.is_file()}
    assert len(texts) > 300
    found = [
        (path.name, hit[0]) for path, text in texts.items() for hit in re.finditer(r"install \"?undrift\[.*", text)
    ]
    assert [hit for hit in found if hit[0] != Path(__file__).name] == []


def test_every_extra_that_a_hint_names_is_one():
    table = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\[", (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert table is not None
    extras_known = set(re.findall(r"^(\w+) = ", table[1], re.MULTILINE))
    sources = "".join(path.read_text("utf-8") for path in ROOT.glob("src/**/*.py"))
    assert set(re.findall(r"(?:command_for\('|undrift\[)(\w+)['\]]", sources)) <= extras_known
