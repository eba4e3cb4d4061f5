"""``undrift install claude --allow-recall``: the agent may run the very command that the hooks name, and no other; and out again."""

import json
import socket
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.cli.test_install import SETTINGS, install, uninstall, user
from tests.cli.test_install_gateway import hashes, recalling
from tests.cli.test_replay import NEEDS_POSIX
from undrift.hooks.home import recall_command

TEXTS = [None, SETTINGS, "{}", "", "\n", '{"permissions": {}}', '{"permissions": {"allow": []}, "a": 1}\n']


def allowed(path: Path) -> list[str]:
    found = json.loads(path.read_text())["permissions"]["allow"]
    assert isinstance(found, list)
    return [rule for rule in found if "recall" in rule]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("steps", [(("--allow-recall",),), ((), ("--allow-recall",))])
def test_the_rules_come_with_the_hooks_and_go_with_them(
    tmp_path: Path, text: str | None, steps: tuple[tuple[str, ...]]
):
    path = user(tmp_path, text)
    before = hashes(tmp_path)
    for words in steps:
        assert install(tmp_path, "--yes", *words).exit_code == 0
    short, full = allowed(path)
    assert short == "Bash(undrift recall:*)"
    command = recall_command(tmp_path / ".undrift")
    assert command.startswith(full.removeprefix("Bash(").removesuffix(":*)") + " --find")
    assert "is installed already" in install(tmp_path, "--yes", "--allow-recall").stdout
    assert uninstall(tmp_path, "--yes").exit_code == 0
    assert hashes(tmp_path) == before
    assert not (tmp_path / ".undrift").exists()
    assert path.parent.exists() is (text is not None)


def test_without_the_option_no_rule_is_added(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes")
    assert allowed(path) == []


def test_a_rule_that_the_person_had_stays(tmp_path: Path):
    text = '{"permissions": {"allow": ["Bash(undrift recall:*)"]}}'
    path = user(tmp_path, text)
    install(tmp_path, "--yes", "--allow-recall")
    assert len(allowed(path)) == 2
    uninstall(tmp_path, "--yes")
    assert path.read_text() == text


def test_another_home_keeps_the_rules_and_the_bytes_still_come_back(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes", "--allow-recall")
    install(tmp_path, "--yes", "--home", str(tmp_path / "second"))
    assert len(allowed(path)) == 2
    uninstall(tmp_path, "--yes")
    assert path.read_text() == SETTINGS.replace("\r\n", "\n")
    assert path.read_bytes() == SETTINGS.encode()
    assert not (tmp_path / "second").exists()


def test_rules_that_the_person_added_since_stay(tmp_path: Path):
    path = user(tmp_path)
    install(tmp_path, "--yes", "--allow-recall")
    path.write_bytes(path.read_bytes().replace(b'"Bash"', b'"Bash",   "Read"').replace(b'"opus"', b'"sonnet"'))
    uninstall(tmp_path, "--yes")
    assert path.read_bytes() == SETTINGS.replace('"Bash"', '"Bash",   "Read"').replace("opus", "sonnet").encode()


@NEEDS_POSIX
@pytest.mark.parametrize("text", [None, "{}", SETTINGS])
@pytest.mark.parametrize("first_gone", [("hooks", "gateway"), ("gateway", "hooks")])
@pytest.mark.parametrize("first", [("hooks", "gateway"), ("gateway", "hooks")])
def test_with_the_gateway_each_keeps_its_rule_in_any_order(
    tmp_path: Path, text: str | None, first: tuple[str, str], first_gone: tuple[str, str]
):
    path = user(tmp_path, text)
    before = hashes(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = str(found.getsockname()[1])
    words = {"hooks": ("--allow-recall",), "gateway": ("--gateway", "--port", port)}
    environment: dict[str, str | None] = {"HOME": str(tmp_path), "PATH": recalling(tmp_path)}
    for kind in first:
        done = undrift("install", "claude", "--yes", *words[kind], env=environment)
        assert done.exit_code == 0, done.output
    assert len(allowed(path)) == 2
    for kind in first_gone:
        if kind == first_gone[1]:
            rule = "Bash(undrift recall:*)"
            assert (rule in allowed(path)) is (kind == "gateway" or first[0] == "hooks")
        done = undrift("uninstall", "claude", "--yes", *words[kind][:1] * (kind == "gateway"), env=environment)
        assert done.exit_code == 0, done.output
    assert hashes(tmp_path) == before


def test_rules_whose_note_is_lost_go_if_only_we_can_have_written_them(tmp_path: Path):
    path = user(tmp_path, '{"a": 1}')
    install(tmp_path, "--yes", "--allow-recall")
    (tmp_path / ".undrift" / "installed.json").unlink()
    assert uninstall(tmp_path, "--yes").exit_code == 0
    assert json.loads(path.read_text()) == {"a": 1, "permissions": {"allow": ["Bash(undrift recall:*)"]}}


@pytest.mark.parametrize(
    "values", ["[1]", '[{"key": 1}]', '{"a": 1}', '"x"', '[{"key": [], "piece": "", "former": 1}]']
)
def test_a_damaged_note_is_one_line_and_changes_nothing(tmp_path: Path, values: str):
    path = user(tmp_path)
    install(tmp_path, "--yes", "--allow-recall")
    once = path.read_bytes()
    kept = tmp_path / ".undrift" / "installed.json"
    record = json.loads(kept.read_text())
    record[str(path)]["values"] = json.loads(values)
    kept.write_text(json.dumps(record))
    result = uninstall(tmp_path, "--yes")
    assert "Traceback" not in result.output
    assert (result.exit_code == 1) is (path.read_bytes() == once)
    if result.exit_code == 0:  # the note was no note, so the entries were found by their content
        assert "hook PreCompact" not in path.read_text()


def test_a_client_without_such_a_list_says_so(tmp_path: Path):
    result = install(tmp_path, "--yes", "--allow-recall", client="codex")
    assert (result.exit_code, "has no rule" in result.stderr) == (1, True)
    assert install(tmp_path, "--yes", "--allow-recall", "--mcp").exit_code == 2
    assert list(tmp_path.iterdir()) == []
