"""``undrift install CLIENT --gateway``: the address in the user's own settings and the service; and all of it gone again."""

import hashlib
import json
import socket
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.builders import undrift
from tests.cli.test_replay import NEEDS_POSIX
from undrift.stores.secret import TOKEN_NAME

pytestmark = NEEDS_POSIX

BEFORE: Mapping[str, tuple[str, str]] = {
    "claude": (".claude/settings.json", '{\n\t"model" : "opus",\r\n\t"env": { "A": "b" }\n}'),
    "codex": (".codex/config.toml", '# mine\nmodel = "x"\n\n[tui]\nnotifications = true\n'),
    "gemini": (".gemini/.env", "GEMINI_API_KEY=fake"),
    "opencode": (".config/opencode/opencode.json", '{"model": "a/b", "provider": {"anthropic": {}}}\n'),
    "aider": (".aider.conf.yml", "dark-mode: true\n"),
    "mini": (".config/mini-swe-agent/.env", "MSWEA_CONFIGURED='true'\n"),
}


@pytest.fixture
def port() -> int:
    """A port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def run(home: Path, *words: str, path: str = "/nowhere") -> Result:
    variables = {"HOME": str(home), "PATH": path, "XDG_CONFIG_HOME": None, "UNDRIFT_HOME": None}
    return undrift(*words, "--gateway", "--yes", env=variables)


def settings(home: Path, client: str, text: str | None = None) -> Path:
    name, usual = BEFORE[client]
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_bytes((usual if text is None else text).encode())
    return home / name


def hashes(home: Path) -> dict[str, tuple[str, int]]:
    """The bytes and the mode of every settings file."""
    return {
        str(path.relative_to(home)): (hashlib.sha256(path.read_bytes()).hexdigest(), stat.S_IMODE(path.stat().st_mode))
        for path in home.rglob("*")
        if path.is_file() and ".undrift" not in path.parts
    }


def manager(home: Path) -> str:
    """Put a systemctl on the PATH that writes down what it is told; return the PATH."""
    folder = home / "bin"
    folder.mkdir()
    told = f"#!/bin/sh\necho \"$@\" >> '{folder}/told'\n[ ! -e '{folder}/refuses' ] || [ \"$2\" != enable ] || exit 1\n"
    (folder / "systemctl").write_text(told)
    (folder / "systemctl").chmod(0o700)
    return str(folder)


def recalling(home: Path) -> str:
    """Put an undrift on the PATH; return the PATH."""
    folder = home / ".undrift" / "bin"
    folder.mkdir(parents=True)
    (folder / "undrift").write_text("#!/bin/sh\n")
    (folder / "undrift").chmod(0o700)
    return str(folder)


@pytest.mark.parametrize("order", [list(BEFORE), list(BEFORE)[::-1]])
def test_every_client_has_its_bytes_and_modes_back(tmp_path: Path, order: list[str], port: int):
    for client in BEFORE:
        settings(tmp_path, client).chmod(0o640)
    before = hashes(tmp_path)
    said = ""
    for client in BEFORE:
        result = run(tmp_path, "install", client, "--port", str(port))
        assert result.exit_code == 0, result.output
        said += result.output
    token = (tmp_path / ".undrift" / TOKEN_NAME).read_text()
    for client, (name, _) in BEFORE.items():
        text = (tmp_path / name).read_text()
        assert f"http://127.0.0.1:{port}/{token}/via/" in text, client
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    for client in order:
        result = run(tmp_path, "uninstall", client)
        assert result.exit_code == 0, result.output
        said += result.output
    assert token not in said
    assert hashes(tmp_path) == before
    assert not (tmp_path / ".undrift" / "service.json").exists()


def test_files_that_were_not_there_are_gone_again(tmp_path: Path, port: int):
    for client in BEFORE:
        assert run(tmp_path, "install", client, "--port", str(port)).exit_code == 0
    for client in BEFORE:
        assert "was removed" in " ".join(run(tmp_path, "uninstall", client).output.split())
    assert hashes(tmp_path) == {}


@pytest.mark.parametrize("first", [("--gateway",), ()])
@pytest.mark.parametrize("text", [None, "{}", '{"a": 1}'])
def test_hooks_and_gateway_in_one_file_leave_nothing_in_either_order(tmp_path, text, first, port):
    if text is not None:
        settings(tmp_path, "claude", text)
    before = hashes(tmp_path)
    more = ("--port", str(port)) if first else ()
    second = () if first else ("--gateway", "--port", str(port))
    environment: dict[str, str | None] = {"HOME": str(tmp_path), "PATH": recalling(tmp_path)}
    for words in ((*first, *more), second):
        assert undrift("install", "claude", "--yes", *words, env=environment).exit_code == 0
    for words in (first, second[:1]):
        result = undrift("uninstall", "claude", "--yes", *words, env=environment)
        assert result.exit_code == 0, result.output
    assert hashes(tmp_path) == before


def test_only_ours_goes_after_the_user_has_changed_the_rest(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude", '{"env": {"ANTHROPIC_BASE_URL": "https://mine.example/api/anthropic"}}')
    run(tmp_path, "install", "claude", "--port", str(port))
    changed = json.loads(path.read_text())
    path.write_text(json.dumps({**changed, "model": "mine"}, indent=3))
    run(tmp_path, "uninstall", "claude")
    left = {"env": {"ANTHROPIC_BASE_URL": "https://mine.example/api/anthropic"}, "model": "mine"}
    assert json.loads(path.read_text()) == left


def test_an_address_that_the_user_has_set_since_is_his(tmp_path: Path, port: int):
    path = settings(tmp_path, "gemini")
    run(tmp_path, "install", "gemini", "--port", str(port))
    path.write_text("GOOGLE_GEMINI_BASE_URL=https://new.example\n")
    assert run(tmp_path, "uninstall", "gemini").exit_code == 0
    assert path.read_text() == "GOOGLE_GEMINI_BASE_URL=https://new.example\n"


def test_the_users_own_address_becomes_the_upstream_and_another_client_cannot_change_it(tmp_path: Path, port: int):
    settings(tmp_path, "codex", 'openai_base_url = "https://mine.example/codex"\n')
    run(tmp_path, "install", "codex", "--port", str(port))
    service = json.loads((tmp_path / ".undrift" / "service.json").read_text())
    assert service["clients"]["codex"]["upstreams"] == {"openai": "https://mine.example/codex"}
    assert '/via/openai"' in (tmp_path / ".codex/config.toml").read_text(), "its upstream has no version"
    told = json.loads(run(tmp_path, "install", "opencode", "--json").output)
    assert "sends requests for openai to https://mine.example/codex (codex)" in told["notes"][-1]
    options = json.loads((tmp_path / ".config/opencode/opencode.json").read_text())["provider"]
    assert set(options) == {"anthropic", "google"}


def test_an_address_that_cannot_be_an_upstream_changes_nothing(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude", '{"env": {"ANTHROPIC_BASE_URL": "https://name:word@mine.example"}}')
    before = hashes(tmp_path)
    result = run(tmp_path, "install", "claude", "--port", str(port))
    assert (result.exit_code, hashes(tmp_path)) == (1, before)
    assert "no name or password" in result.stderr
    assert "word" not in result.stderr.replace("password", "")
    assert path.exists()


@pytest.mark.parametrize(
    ("home", "has_program", "is_told"), [((), True, True), ((), False, False), (("any",), True, False)]
)
def test_agents_are_told_of_recall_only_if_they_can_run_it(
    home, has_program: bool, is_told: bool, tmp_path: Path, port: int
):
    program = tmp_path / "bin" / "undrift"
    program.parent.mkdir()
    if has_program:
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
    given = [f"--home={tmp_path / one}" for one in home]
    run(tmp_path, "install", "gemini", "--port", str(port), *given, path=str(program.parent))
    note = tmp_path / (home[0] if home else ".undrift") / "service.json"
    assert json.loads(note.read_text())["recall_reachable"] is is_told


@pytest.mark.parametrize(
    "text", [None, "{}", '{"permissions": {"allow": ["Bash(ls:*)"]}}', '{\n "permissions" : { "allow":[\n]} }\r\n']
)
def test_claude_may_run_recall_without_a_question_until_the_gateway_is_gone(
    text: str | None, tmp_path: Path, port: int
):
    folder = recalling(tmp_path)
    if text is not None:
        settings(tmp_path, "claude", text)
    before = hashes(tmp_path)
    run(tmp_path, "install", "claude", "--port", str(port), path=folder)
    path = tmp_path / ".claude" / "settings.json"
    assert json.loads(path.read_text())["permissions"]["allow"][-1] == "Bash(undrift recall:*)"
    assert "already" in run(tmp_path, "install", "claude", path=folder).output
    run(tmp_path, "uninstall", "claude", path=folder)
    assert hashes(tmp_path) == before


def test_who_removes_the_hooks_and_has_the_gateway_alone_is_told_how_it_goes(tmp_path: Path, port: int):
    environment: dict[str, str | None] = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    assert "--gateway" not in undrift("install", "claude", "--undo", env=environment).output
    run(tmp_path, "install", "claude", "--port", str(port))
    told = " ".join(undrift("install", "claude", "--undo", env=environment).output.split())
    assert told.endswith("Claude Code uses the gateway. To remove that: undrift install claude --gateway --undo")
    run(tmp_path, "install", "codex", "--home", str(tmp_path / "a b"))
    told = " ".join(undrift("uninstall", "codex", "--home", str(tmp_path / "a b"), env=environment).output.split())
    assert told.endswith("--undo --home '" + str(tmp_path / "a b") + "'")


def test_without_a_program_to_run_nothing_is_allowed(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude", "{}")
    run(tmp_path, "install", "claude", "--port", str(port))
    assert "permissions" not in json.loads(path.read_text())


def test_a_second_installation_changes_nothing(tmp_path: Path, port: int):
    settings(tmp_path, "claude")
    run(tmp_path, "install", "claude", "--port", str(port))
    before = hashes(tmp_path)
    assert "leads to the gateway already" in run(tmp_path, "install", "claude").output
    assert hashes(tmp_path) == before
    result = run(tmp_path, "install", "codex", "--port", str(port - 1))
    assert f"has port {port} already: claude" in result.stderr


def test_no_file_of_a_repository_gets_the_token(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude")
    (tmp_path / "dotfiles" / ".git").mkdir(parents=True)
    path.rename(tmp_path / "dotfiles" / "settings.json")
    path.symlink_to(tmp_path / "dotfiles" / "settings.json")
    result = run(tmp_path, "install", "claude", "--port", str(port))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"is in the repository {tmp_path}/dotfiles" in result.stderr
    assert run(tmp_path, "install", "claude", "--project").exit_code == 2
    assert path.read_bytes() == BEFORE["claude"][1].encode()


def test_without_a_yes_nothing_is_written(tmp_path: Path, port: int):
    settings(tmp_path, "claude")
    before = hashes(tmp_path)
    result = undrift("install", "claude", "--gateway", "--port", str(port), env={"HOME": str(tmp_path), "PATH": "/no"})
    assert result.exit_code == 1
    assert f'+\t\t"ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}/TOKEN/via/anthropic"' in result.stdout
    assert hashes(tmp_path) == before
    assert not (tmp_path / ".undrift").exists()


def test_a_port_that_another_program_has_is_a_clear_error(tmp_path: Path):
    path = settings(tmp_path, "claude")
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        result = run(tmp_path, "install", "claude", "--port", str(taken))
    assert result.exit_code == 1
    assert f"127.0.0.1:{taken} cannot be had" in result.stderr
    assert "--port N" in result.stderr
    assert path.read_bytes() == BEFORE["claude"][1].encode()


def test_where_nothing_runs_services_the_command_is_printed(tmp_path: Path, port: int):
    settings(tmp_path, "claude")
    shown = " ".join(run(tmp_path, "install", "claude", "--port", str(port)).output.split())
    assert "Neither systemd nor launchd serves you here." in shown
    assert f"-m undrift proxy --service --home={tmp_path}/.undrift" in shown
    assert (
        f"budget_tokens in {tmp_path}/.config/undrift/undrift.toml, then end the gateway and start it again." in shown
    )


def test_a_gateway_that_nothing_restarts_gets_no_client_with_an_address_of_its_own(tmp_path: Path, port: int):
    settings(tmp_path, "claude")
    run(tmp_path, "install", "claude", "--port", str(port))
    settings(tmp_path, "codex", 'openai_base_url = "https://mine.example/v1"\n')
    before = hashes(tmp_path)
    with socket.create_server(("127.0.0.1", port)):
        result = run(tmp_path, "install", "codex")
        assert (result.exit_code, result.stderr.count("\n"), hashes(tmp_path)) == (1, 1, before)
        assert "does not know https://mine.example/v1" in result.stderr
        assert (
            f"End it, repeat this command, then start it again: {sys.executable} -P -m undrift proxy" in result.stderr
        )
        usual = run(tmp_path, "install", "gemini")
        assert usual.exit_code == 0
        assert f"A program listens on 127.0.0.1:{port}. If it is no gateway" in " ".join(usual.output.split())
    result = run(tmp_path, "install", "codex")
    assert result.exit_code == 0
    assert "here. Start the gateway yourself" in " ".join(result.output.split())
    with socket.create_server(("127.0.0.1", port)):
        gone = " ".join(run(tmp_path, "uninstall", "codex").output.split())
        assert f"on 127.0.0.1:{port} still has the addresses of Codex. End it, then start it again" in gone


def test_claude_gets_a_status_line_and_one_of_its_users_own_stays(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude", "{}")
    run(tmp_path, "install", "claude", "--port", str(port))
    line = json.loads(path.read_text())["statusLine"]
    assert line["type"] == "command"
    assert f" -m undrift hook StatusLine --client=claude --home={tmp_path}/.undrift" in line["command"]
    run(tmp_path, "uninstall", "claude")
    assert path.read_text() == "{}"
    settings(tmp_path, "claude", '{"statusLine": {"type": "command", "command": "mine"}}')
    shown = " ".join(run(tmp_path, "install", "claude", "--port", str(port)).output.split())
    assert json.loads(path.read_text())["statusLine"] == {"type": "command", "command": "mine"}
    assert f"Your status line stays. To add undrift's, let your command give its stdin to: {sys.executable} -P" in shown


def test_claude_in_a_cloud_is_told_that_its_requests_do_not_pass_the_gateway(tmp_path: Path, port: int):
    settings(tmp_path, "claude", '{"env": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": 5}}')
    past = "Claude Code uses Amazon Bedrock, and its requests there do not pass the gateway of `undrift install`"
    asked = undrift("install", "claude", "--gateway", "--port", str(port), env={"HOME": str(tmp_path), "PATH": "/no"})
    assert (asked.exit_code, past in " ".join(asked.output.split())) == (1, True), (
        "it is said before anything is written"
    )
    told = run(tmp_path, "install", "claude", "--port", str(port)).output
    assert " ".join(told.split()).count(past) == 1
    assert past in json.loads(run(tmp_path, "install", "claude", "--json").output)["notes"][0]
    settings(tmp_path, "claude")
    assert "do not pass" not in run(tmp_path, "install", "claude", "--port", str(port)).output


def test_a_status_line_that_the_user_has_chosen_since_is_his(tmp_path: Path, port: int):
    path = settings(tmp_path, "claude", "{}")
    run(tmp_path, "install", "claude", "--port", str(port))
    changed = {**json.loads(path.read_text()), "statusLine": {"type": "command", "command": "mine"}}
    path.write_text(json.dumps(changed))
    run(tmp_path, "uninstall", "claude")
    assert json.loads(path.read_text()) == {"statusLine": {"type": "command", "command": "mine"}}


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_the_first_client_installs_the_service_and_the_last_one_removes_it(tmp_path: Path, port: int):
    path = manager(tmp_path)
    units = tmp_path / ".config" / "systemd" / "user"
    for client in ("claude", "codex"):
        settings(tmp_path, client)
        result = run(tmp_path, "install", client, "--port", str(port), path=path)
        assert result.exit_code == 0, result.output
        assert "then systemctl --user restart undrift-gateway.service." in " ".join(result.output.split())
    assert f"ListenStream=127.0.0.1:{port}" in (units / "undrift-gateway.socket").read_text()
    assert f'"--home={tmp_path}/.undrift"' in (units / "undrift-gateway.service").read_text()
    told = Path(path, "told").read_text()
    assert told.count("--user enable --now undrift-gateway.socket\n") == 1
    run(tmp_path, "uninstall", "claude", path=path)
    assert (units / "undrift-gateway.socket").exists()
    assert "no service any more" in run(tmp_path, "uninstall", "codex", path=path).output
    assert not (tmp_path / ".config").exists()
    assert "--user disable --now undrift-gateway.socket\n" in Path(path, "told").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_a_service_manager_that_refuses_leaves_everything_as_it_was(tmp_path: Path, port: int):
    path = manager(tmp_path)
    Path(path, "refuses").touch()
    settings(tmp_path, "claude")
    before = hashes(tmp_path)
    result = run(tmp_path, "install", "claude", "--port", str(port), path=path)
    assert result.exit_code == 1
    assert "systemctl --user enable --now undrift-gateway.socket: status 1" in result.stderr
    Path(path, "told").unlink()
    assert hashes(tmp_path) == before
    assert not (tmp_path / ".undrift" / "service.json").exists()
    Path(path, "refuses").unlink()
    run(tmp_path, "install", "claude", "--port", str(port), path=path)
    note, unit = tmp_path / ".undrift" / "service.json", tmp_path / ".config/systemd/user/undrift-gateway.service"
    former = note.read_text()
    Path(path, "refuses").touch()
    unit.write_text(unit.read_text().replace("UMask=0077", "UMask=0022"))
    assert run(tmp_path, "install", "codex", path=path).exit_code == 1
    assert note.read_text() == former
    assert "UMask=0022" in unit.read_text(), "the service of the others is still there"


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_the_service_of_another_home_is_not_taken_over(tmp_path: Path, port: int):
    path = manager(tmp_path)
    settings(tmp_path, "claude")
    run(tmp_path, "install", "claude", "--port", str(port), path=path)
    settings(tmp_path, "codex")
    result = run(tmp_path, "install", "codex", "--home", str(tmp_path / "other"), path=path)
    assert result.exit_code == 1
    assert "is the gateway of another home" in result.stderr


def test_the_first_token_is_not_printed_as_json_either(tmp_path: Path, port: int):
    settings(tmp_path, "claude")
    told = run(tmp_path, "install", "claude", "--json", "--port", str(port)).output
    assert (tmp_path / ".undrift" / TOKEN_NAME).read_text() not in told
    assert f"http://127.0.0.1:{port}/TOKEN/via/anthropic" in json.loads(told)["diff"]


def test_the_value_goes_from_the_file_that_has_it_though_another_counts_by_now(tmp_path: Path, port: int):
    run(tmp_path, "install", "opencode", "--port", str(port))
    other = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    other.write_text("{}")
    other.chmod(0o644)
    result = run(tmp_path, "install", "opencode")
    assert "opencode.json leads opencode to the gateway already; first: undrift uninstall" in result.stderr
    assert run(tmp_path, "uninstall", "opencode").exit_code == 0
    assert hashes(tmp_path) == {".config/opencode/opencode.jsonc": (hashlib.sha256(b"{}").hexdigest(), 0o644)}
