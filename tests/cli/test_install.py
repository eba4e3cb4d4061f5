"""`undrift install` and `undrift uninstall`: the difference first, only our entries, and the very bytes back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.builders import PROGRAM, environment, undrift
from tests.cli.test_replay import NEEDS_POSIX
from undrift.transcripts import FORMATS

DOCS = Path(__file__).parents[2] / "docs"

SETTINGS = '{\n\t"model" : "opus",\r\n\t"permissions": { "allow": [ "Bash" ] }\n}'


def user(tmp_path: Path, text: str | None = SETTINGS, client: str = "claude") -> Path:
    """Make a user's home; return the path of the client's settings."""
    folder = tmp_path / f".{client}"
    path = folder / {"claude": "settings.json", "codex": "hooks.json"}[client]
    if text is not None:
        folder.mkdir(parents=True)
        path.write_bytes(text.encode())
    return path


def install(tmp_path: Path, *words: str, command: str = "install", client: str = "claude") -> Result:
    return undrift(command, client, *words, env={"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)})


def uninstall(tmp_path: Path, *words: str, client: str = "claude") -> Result:
    return install(tmp_path, *words, command="uninstall", client=client)


@pytest.mark.parametrize("client", ["claude", "codex"])
@pytest.mark.parametrize(
    "before", [SETTINGS, "{}", "{ }\n", "", "\n", '{"hooks": {}}', '{"hooks": {"PreCompact": []}}']
)
def test_the_settings_come_back_to_the_byte(tmp_path: Path, before: str, client: str):
    path = user(tmp_path, before, client)
    assert install(tmp_path, "--yes", client=client).exit_code == 0
    assert "undrift" in path.read_text()
    assert uninstall(tmp_path, "--yes", client=client).exit_code == 0
    assert path.read_bytes() == before.encode()


def test_a_file_and_a_folder_that_were_not_there_are_gone_again(tmp_path: Path):
    user(tmp_path, None)
    install(tmp_path, "--yes")
    result = uninstall(tmp_path, "--yes")
    assert "was removed" in result.stdout
    assert not (tmp_path / ".claude").exists()
    assert not (tmp_path / ".undrift").exists()


def test_the_commands_name_the_homes_and_all_parts(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes", "--home", str(tmp_path / "a b"))
    hooks = json.loads(path.read_text())["hooks"]
    commands = [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]
    assert [group.get("matcher") for group in hooks["SessionStart"]] == ["compact"] * 4 + ["startup|resume|clear"]
    assert all(f"'--home={tmp_path}/a b'" in line for line in commands)
    assert all(f"--client-home={tmp_path}/.claude" in line for line in commands)
    assert [line.split()[-2:] for line in commands[1:5]] == [[f"--part={part}", "--parts=4"] for part in range(1, 5)]


def test_the_difference_is_shown_and_nothing_is_changed_without_yes(tmp_path: Path):
    path = user(tmp_path)
    result = install(tmp_path)
    assert result.exit_code == 1
    assert f"--- {path}" in result.stdout
    assert "+\t\t" in result.stdout
    assert "--yes changes it" in result.stderr
    assert path.read_bytes() == SETTINGS.encode()
    assert not (tmp_path / ".undrift").exists()


def test_a_second_installation_changes_nothing(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes")
    once = path.read_bytes()
    assert "installed already" in install(tmp_path, "--yes").stdout
    assert path.read_bytes() == once


def test_another_home_replaces_the_entries_and_the_bytes_still_come_back(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes")
    install(tmp_path, "--yes", "--home", str(tmp_path / "a second one"))
    assert path.read_text().count("--part=1") == 1
    assert not (tmp_path / ".undrift").exists()
    uninstall(tmp_path, "--yes")
    assert path.read_bytes() == SETTINGS.encode()
    assert not (tmp_path / "a second one").exists()


def test_what_was_recorded_stays(tmp_path: Path):
    user(tmp_path)
    install(tmp_path, "--yes")
    (tmp_path / ".undrift" / "undrift.db").write_text("what was recorded")
    uninstall(tmp_path, "--yes")
    assert [path.name for path in (tmp_path / ".undrift").iterdir()] == ["undrift.db"]


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_whose_settings_are_meant_is_said_once(tmp_path: Path, command: str):
    path = user(tmp_path)
    result = install(tmp_path, "--user", "--project", "--yes", command=command)
    assert result.exit_code == 2
    assert "--user and --project exclude each other" in result.stderr
    assert path.read_bytes() == SETTINGS.encode()


@NEEDS_POSIX
def test_without_any_stdin_nothing_is_changed(tmp_path: Path):
    path = user(tmp_path)
    words = [
        sys.executable,
        "-c",
        f"import os; os.close(0); os.execv({sys.executable!r}, {[sys.executable, '-m', 'undrift', 'install', 'claude']!r})",
    ]
    done = subprocess.run(words, env=environment(HOME=str(tmp_path)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--yes changes it" in done.stderr
    assert path.read_bytes() == SETTINGS.encode()


@NEEDS_POSIX
@pytest.mark.parametrize(("typed", "is_changed"), [(b"y\n", True), (b"n\n", False)])
def test_at_a_terminal_it_asks(tmp_path: Path, typed: bytes, is_changed: bool):
    path = user(tmp_path)
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        words = [sys.executable, "-c", PROGRAM, "install", "claude"]
        with subprocess.Popen(
            words, stdin=theirs, stdout=subprocess.PIPE, env=environment(HOME=str(tmp_path))
        ) as asked:
            terminal.write(typed)
            shown = asked.communicate(timeout=60)[0]
        os.close(theirs)
    assert b"Install?" in shown
    assert ("undrift" in path.read_text()) is is_changed


def test_what_is_not_installed_is_not_uninstalled(tmp_path: Path):
    path = user(tmp_path)
    result = uninstall(tmp_path, "--yes")
    assert (result.exit_code, path.read_bytes()) == (0, SETTINGS.encode())
    assert "is not installed" in result.stdout


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 1}', '{"a": 1,}'])
def test_malformed_settings_are_refused_untouched(tmp_path: Path, text: str):
    path = user(tmp_path, text)
    result = install(tmp_path, "--yes")
    assert result.exit_code == 1
    assert str(path) in result.stderr
    assert path.read_text() == text


def test_settings_that_are_no_utf_8_are_refused_untouched(tmp_path: Path):
    path = user(tmp_path)
    path.write_bytes(b'{"a": "\xff"}')
    assert install(tmp_path, "--yes").exit_code == 1
    assert path.read_bytes() == b'{"a": "\xff"}'


@NEEDS_POSIX
def test_settings_that_are_a_link_are_written_where_it_leads(tmp_path: Path):
    path = user(tmp_path)
    dotfile = tmp_path / "dotfile.json"
    path.rename(dotfile)
    dotfile.chmod(0o640)
    path.symlink_to(dotfile)
    install(tmp_path, "--yes")
    assert path.is_symlink()
    assert "undrift" in dotfile.read_text()
    assert dotfile.stat().st_mode & 0o777 == 0o640
    uninstall(tmp_path, "--yes")
    assert dotfile.read_bytes() == SETTINGS.encode()


@NEEDS_POSIX
@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling link"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str):
    path = user(tmp_path)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone")
    result = install(tmp_path, "--yes")
    assert result.exit_code == 1
    assert str(path) in result.stderr
    assert not (tmp_path / "gone").exists()


@NEEDS_POSIX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_one_line(tmp_path: Path):
    path = user(tmp_path)
    path.parent.chmod(0o500)
    result = install(tmp_path, "--yes")
    path.parent.chmod(0o700)
    assert result.exit_code == 1
    assert path.read_bytes() == SETTINGS.encode()


def test_a_project_gets_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    install(tmp_path, "--yes", "--project")
    assert "undrift" in (project / ".claude" / "settings.local.json").read_text()
    uninstall(tmp_path, "--yes", "--project")
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("client", ["gemini", "opencode"])
def test_a_client_that_cannot_be_served_is_said_so(tmp_path: Path, client: str):
    result = install(tmp_path, "--yes", client=client)
    assert result.exit_code == 1
    assert "there is nothing to install" in result.stderr
    assert list(tmp_path.iterdir()) == []
    # its recordings are a known format: nothing may say that they are not read
    assert {name.removesuffix("-cli") for name in FORMATS} >= {client}
    assert "does not read" not in result.stderr
    assert f"undrift wrap {client}" in result.stderr
    assert all("not read its sessions" not in path.read_text("utf-8") for path in DOCS.glob("**/*.md"))


def test_json_names_what_changed(tmp_path: Path):
    path = user(tmp_path)
    told = json.loads(install(tmp_path, "--yes", "--json").stdout)
    assert (told["client"], told["path"], told["changed"]) == ("claude", str(path), True)
    assert told["diff"].startswith(f"--- {path}")
    assert json.loads(install(tmp_path, "--yes", "--json").stdout)["changed"] is False


def test_settings_with_escape_sequences_do_not_reach_the_terminal(tmp_path: Path):
    user(tmp_path, '{\n  "a": "\x1b]0;title\x07"\n}')
    assert "\x1b" not in install(tmp_path).stdout


@pytest.mark.parametrize("enabled", ["true", "false"])
@pytest.mark.parametrize(
    ("client", "words", "told"), [("claude", (), "rest"), ("codex", (), "rest"), ("claude", ("--mcp",), "listed twice")]
)
def test_a_plugin_that_is_enabled_too_is_said(
    tmp_path: Path, client: str, words: tuple[str, ...], told: str, enabled: str
):
    settings = {
        "claude": ("settings.json", f'{{"enabledPlugins": {{"undrift@undrift": {enabled}}}}}'),
        "codex": ("config.toml", f'[plugins."undrift@undrift"]\nenabled = {enabled}\n'),
    }
    name, text = settings[client]
    (tmp_path / f".{client}").mkdir()
    (tmp_path / f".{client}" / name).write_text(text, encoding="utf-8")
    result = install(tmp_path, "--yes", *words, client=client)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line.startswith("The undrift plugin is enabled too.")]
    assert len(lines) == (enabled == "true")
    assert all(told in line for line in lines)


def as_earlier(text: str) -> str:
    """Return the settings as the version before wrote them: two parts."""
    value = json.loads(text)
    starts = value["hooks"]["SessionStart"]
    value["hooks"]["SessionStart"] = [*starts[:2], starts[-1]]
    return json.dumps(value).replace(" --parts=4", "")


def test_the_entries_of_an_earlier_version_are_noted_and_replaced(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes")
    newest = json.loads(path.read_text())["hooks"]
    path.write_text(as_earlier(path.read_text()))

    def found() -> dict[str, str]:
        words = ("doctor", "--json", "--home", tmp_path / ".undrift")
        told = json.loads(undrift(*words, env={"HOME": str(tmp_path)}).stdout)["findings"]
        return next(one for one in told if one["name"] == "hooks")

    assert found()["state"] == "note"
    assert "another version" in found()["text"]
    assert "undrift install claude" in found()["text"]
    install(tmp_path, "--yes")
    assert json.loads(path.read_text())["hooks"] == newest
    assert found()["state"] == "ok"
