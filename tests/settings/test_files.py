"""`undrift.toml`: found, read and refused; an argument wins over a variable, that over the project, that over the user."""

import os
import sys
from pathlib import Path

import pytest

from undrift.errors import SettingsError
from undrift.settings import SETTINGS, Settings, removed_variables, sources
from undrift.settings.files import project_file, user_file
from undrift.settings.removed import REMOVED, RENAMED


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which we are, and a user with a folder for settings and no variables of ours."""
    for setting in SETTINGS:
        for variable in setting.environment:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/undrift").mkdir(parents=True)
    folder = tmp_path / "repository/src/deep"
    folder.mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir()
    monkeypatch.chdir(folder)
    return tmp_path / "repository"


def of_project(project: Path, text: str) -> Path:
    path = project / "undrift.toml"
    path.write_text(text, encoding="utf-8")
    return path


def of_user(project: Path, text: str) -> Path:
    path = project.parent / "config/undrift/undrift.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal() -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment()
    return str(caught.value)


def test_without_a_file_all_is_at_its_default(project: Path) -> None:
    assert Settings.from_environment() == Settings()
    assert set(sources().values()) == {"default"}


def test_an_argument_wins_over_a_variable_that_over_the_project_that_over_the_user(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = of_user(project, "# mine\nkeep_tool_results = 2\npolicy = 'recency'\nbudget_tokens = 1\nhome = '/h'\n")
    found = of_project(project, "keep_tool_results = 3\n\n'budget_tokens' = 2\nprune_target_ratio = 1\n")
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "4")
    settings = Settings.from_environment(prune_target_ratio=0.5)
    assert settings == Settings(
        keep_tool_results=4, policy="recency", budget_tokens=2, home="/h", prune_target_ratio=0.5
    )
    come_from = sources()
    assert {name: place for name, place in come_from.items() if place != "default"} == {
        "keep_tool_results": "DEVS_TERMINAL_WINDOW_SIZE",
        "policy": f"{user}:3",
        "budget_tokens": f"{found}:3",
        "home": f"{user}:5",
        "prune_target_ratio": f"{found}:4",
    }


def test_given_variables_are_read_alone(project: Path) -> None:
    of_project(project, "keep_tool_results = 3\n")
    assert Settings.from_environment({}) == Settings()
    assert sources({})["keep_tool_results"] == "default"


def test_the_nearest_file_up_to_the_root_of_the_repository_counts_and_none_above_it(project: Path) -> None:
    (project.parent / "undrift.toml").write_text("no toml")
    assert Settings.from_environment() == Settings()
    of_project(project, "keep_tool_results = 3\n")
    assert Settings.from_environment().keep_tool_results == 3
    (project / "src/undrift.toml").write_text("keep_tool_results = 6\n")
    assert Settings.from_environment().keep_tool_results == 6


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "undrift.toml").write_text("")
    assert project_file(below) is None
    assert project_file(tmp_path) == tmp_path / "undrift.toml"


def test_a_folder_that_was_deleted_has_no_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    of_user(project, "keep_tool_results = 2\n")
    assert Settings.from_environment().keep_tool_results == 2


def test_the_users_file_is_where_the_platform_keeps_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    own = tmp_path / ".config/undrift/undrift.toml"
    assert user_file({}) == user_file({"XDG_CONFIG_HOME": "relative", "APPDATA": "relative"}) == own


PRIVATE = {
    "token_counter": "'characters/4'",
    "models_file": "'/etc/passwd'",
    "learns": "'tasks'",
    "memory_tokens": "500",
    "home": "'/tmp/elsewhere'",
    "retention": "'1 day'",
    "rule_guard": "'off'",
    "reranker": "'https://example.org/rerank'",
    "mask_secrets": "false",
    "task_markers": "true",
    "debug_archive": "true",
    "route_simple": "'x'",
    "route_complex": "'x'",
}


def test_what_could_open_or_leak_something_is_private() -> None:
    assert {one.name for one in SETTINGS if one.is_private} == set(PRIVATE)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_projects_file_sets_nothing_that_could_open_or_leak_something_and_the_users_does(
    project: Path, name: str
) -> None:
    """The file can come with a repository that someone cloned."""
    found = of_project(project, f"keep_tool_results = 3\n{name} = {PRIVATE[name]}\n")
    said = refusal()
    assert said.startswith(f"{found}:2: a project's file cannot set {name}, ")
    assert f"UNDRIFT_{name.upper()}" in said
    assert str(project.parent / "config/undrift/undrift.toml") in said
    found.unlink()
    own = of_user(project, f"{name} = {PRIVATE[name]}\n")
    assert sources()[name] == f"{own}:1"


def test_a_tilde_is_the_users_own_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME" if sys.platform != "win32" else "USERPROFILE", str(project))
    of_user(project, "home = '~/kept'\ntoken_counter = 'characters/4'\n")
    settings = Settings.from_environment()
    assert (settings.home, settings.token_counter) == (str(project / "kept"), "characters/4")
    of_user(project, "home = 'postgresql://host/base'\n")
    assert Settings.from_environment().home == "postgresql://host/base"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("keep_tool_result = 3", 1, "there is no setting 'keep_tool_result'. Did you mean keep_tool_results?"),
        ("\nxyzzy = 3", 2, "there is no setting 'xyzzy'. undrift config lists all"),
        ("\n\n[window]\nkeep_tool_results = 3", 3, "there is no setting 'window'"),
        ("window_share = 0.6", 1, "window_share has no effect: it was removed; set budget_tokens to a share"),
        ("decay_rate = 0.1", 1, "decay_rate has no effect: it is a constant now, 0.05"),
        ("# first\nkeep_tool_results = 0", 2, "keep_tool_results = 0: must be an integer of at least 1"),
        ("keep_tool_results = '3'", 1, "keep_tool_results = '3': must be an integer of at least 1"),
        ("keep_tool_results = true", 1, "keep_tool_results = True: must be an integer"),
        ("prune_target_ratio = nan", 1, "prune_target_ratio = nan: must be a decimal number above 0 and at most 1"),
        ("policy = 'newest'", 1, "policy = 'newest': must be worth or recency"),
        ("policy = ['worth']", 1, "policy = ['worth']: must be worth or recency"),
        ("policy.a = 1", 1, "policy = {'a': 1}: must be worth or recency"),
    ],
)
def test_a_wrong_key_or_value_names_file_line_and_what_is_accepted(
    project: Path, text: str, line: int, said: str
) -> None:
    found = of_project(project, text)
    assert refusal().startswith(f"{found}:{line}: {said}")


@pytest.mark.parametrize(
    "text", [b"keep_tool_results = ", b"policy = 1\npolicy = 2", b"\xff\xfe", b"a = " + b"[" * 9_000]
)
def test_a_damaged_file_names_itself(project: Path, text: bytes) -> None:
    found = of_project(project, "")
    found.write_bytes(text)
    assert refusal().startswith(f"{found}: ")


def test_a_mark_of_byte_order_is_no_damage(project: Path) -> None:
    of_project(project, "\ufeffkeep_tool_results = 3\r\n")
    assert Settings.from_environment().keep_tool_results == 3


def test_a_large_file_is_refused(project: Path) -> None:
    of_project(project, "#" * 70_000)
    assert "must have at most 64 KiB" in refusal()


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links for everybody")
def test_neither_a_pipe_nor_a_link_is_read(project: Path) -> None:
    os.mkfifo(project / "undrift.toml")
    assert "must be a regular file" in refusal()
    (project / "undrift.toml").unlink()
    (project / "undrift.toml").symlink_to("/etc/passwd")
    assert "must be a regular file" in refusal()


def test_a_link_of_the_users_own_is_followed(project: Path) -> None:
    own = of_user(project, "")
    (project / "elsewhere").write_text("keep_tool_results = 2\n")
    own.unlink()
    own.symlink_to(project / "elsewhere")
    assert Settings.from_environment().keep_tool_results == 2


def test_a_removed_variable_is_a_warning_that_names_what_takes_its_place(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert not set(REMOVED) & {one.name for one in SETTINGS}
    given = {f"UNDRIFT_{name.upper()}": "x" for name in REMOVED if name not in RENAMED}  # those are errors
    assert len(removed_variables(given)) == len(REMOVED) - len(RENAMED)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for _ in range(3):
        assert Settings.from_environment() == Settings()
    assert [record.getMessage() for record in caplog.records] == list(removed_variables(given))
    assert "UNDRIFT_APPEND_ONLY has no effect: it was removed; set bound_thinking" in caplog.text


@pytest.mark.parametrize("name", ["evil:Run", "https://evil.example/e", "http://127.0.0.1:9/e", "fastembed:a/b"])
def test_a_projects_file_names_no_part_that_runs_code_or_reads_memories(project: Path, name: str) -> None:
    of_project(project, f"embedder = '{name}'\n")
    with pytest.raises(SettingsError, match="can only say auto, wordllama, none, as it can come with a cloned"):
        Settings.from_environment()
    of_project(project, "embedder = 'none'\n")
    assert Settings.from_environment().embedder == "none"
    (project / "undrift.toml").unlink()
    of_user(project, f"embedder = '{name}'\n")
    assert Settings.from_environment().embedder == name
