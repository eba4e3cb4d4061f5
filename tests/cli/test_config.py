"""`undrift config`: each setting's active value and its place, within 80 columns."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from undrift.cli import main
from undrift.settings import SETTINGS, Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for setting in SETTINGS:
        for variable in setting.environment:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["config", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_lists_what_is_active_and_where_it_comes_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "undrift.toml").write_text("# ours\nprune_when = 'cheapest'\nphase_weight = 60\n")
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "8")
    lines = config().splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ") and line.split()[1:]}
    assert rows["policy"] == ["worth", "default"]
    assert rows["budget_tokens"] == ["auto", "default"]
    assert rows["keep_tool_results"] == ["8", "DEVS_TERMINAL_WINDOW_SIZE"]
    joined = " ".join(" ".join(lines).split())
    assert f"prune_when cheapest {folder}/undrift.toml:2" in joined
    assert f"phase_weight 60 {folder}/undrift.toml:3" in joined
    assert "min_decay_floor" not in joined
    assert "15 rarely used ones have their default" in joined
    assert lines[-1].startswith("Next: undrift config NAME")


@pytest.mark.parametrize("arguments", [(), ("--all",), *((setting.name,) for setting in SETTINGS)])
def test_it_fits_80_columns(arguments: tuple[str, ...]) -> None:
    assert max(map(len, config(*arguments).splitlines())) <= 80


def test_all_lists_every_setting() -> None:
    text = config("--all")
    assert [setting.name for setting in SETTINGS if f"  {setting.name} " not in text] == []


def test_a_name_or_a_variable_explains_one_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDRIFT_HOME", "/kept")
    text = config("home")
    assert text.startswith("home = /kept  (UNDRIFT_HOME)\n\nThe folder that holds the records")
    assert 'A project\'s undrift.toml cannot set it; your own can.\nIn undrift.toml: home = "/kept"' in text
    assert config("UNDRIFT_HOME") == text
    assert "In undrift.toml: keep_tool_results = 5" in config("DEVS_TERMINAL_WINDOW_SIZE")
    assert config("keep_tool_results").startswith("keep_tool_results = 5  (default)")


def test_what_it_says_of_the_file_is_what_the_file_takes(folder: Path) -> None:
    for setting in SETTINGS:
        line = config(setting.name).splitlines()[-1].rpartition(": ")[2]
        if setting.is_private or setting.default is None:
            continue
        (folder / "undrift.toml").write_text(line)
        assert Settings.from_environment() == Settings()
        (folder / "undrift.toml").unlink()


def test_the_json_has_each_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDRIFT_APPEND_ONLY", "true")
    found = json.loads(config("--json"))
    assert list(found["settings"]) == [setting.name for setting in SETTINGS]
    assert found["settings"]["mask_secrets"] == {
        "value": True,
        "source": "default",
        "default": True,
        "accepted": "true or false (in the environment also 1 or 0)",
        "variables": ["UNDRIFT_MASK_SECRETS"],
        "group": "The store",
        "project_file": False,
        "help": "Mask API keys, tokens and private keys before anything is written to disk.",
    }
    assert found["warnings"][0].startswith("UNDRIFT_APPEND_ONLY has no effect")
    assert list(json.loads(config("home", "--json"))["settings"]) == ["home"]


def test_an_unknown_name_suggests_the_right_one() -> None:
    result = CliRunner().invoke(main, ["config", "budget"])
    assert result.exit_code == 2
    assert "Did you mean budget_tokens?" in " ".join(result.output.split())


def test_a_wrong_file_is_one_line_that_names_file_and_line(folder: Path) -> None:
    (folder / "undrift.toml").write_text("polciy = 'worth'\n")
    result = CliRunner().invoke(main, ["config"])
    assert result.exit_code == 1
    assert f"{folder}/undrift.toml:1: there is no setting 'polciy'. Did you mean policy?" in " ".join(
        result.output.split()
    )


def test_a_removed_variable_is_a_warning_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDRIFT_PLAN_TASKS", "at_once")
    result = CliRunner().invoke(main, ["config"])
    assert result.stderr.startswith("undrift: UNDRIFT_PLAN_TASKS has no effect: it was removed; ")
    assert "UNDRIFT_PLAN_TASKS" not in result.stdout
