"""``undrift wrap``: the client has the terminal, its signals and its status; the gateway goes when it goes, and comes back when it falls."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from undrift.clients.wrapped import WRAPPED, Addresses, wrapped
from undrift.errors import InputError
from undrift.stores.secret import TOKEN_NAME
from undrift.stores.service import PointedClient, Service, save
from undrift.testing import RawRequest, RawUpstream, Send, response

AT = Addresses("http://127.0.0.1:1", "http://127.0.0.1:1/v1", "http://127.0.0.1:1")
ASK = """
import json, os, sys, urllib.error, urllib.request
def ask():
    body = json.dumps({"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "canary"}]}).encode()
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
"""
SHOW_GATEWAYS = """
import pathlib
words = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
print([one for one in words if b"--while-pid=%d" % os.getpid() in one])
"""
KILL = """
import signal, time
def pids():
    with open(sys.argv[1]) as log:
        return [event["pid"] for event in map(json.loads, log) if event.get("event") == "started"]
def kill_the_gateway():
    known = pids()
    os.kill(known[-1], signal.SIGKILL)
    return known
def wait_for(done):
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    sys.exit("it did not come")
"""


def answer(_: RawRequest) -> list[Any]:
    return [Send(response(b'{"id": "m"}'))]


def wrap(home: Path, script: str, *words: str, options: Sequence[str] = (), **variables: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "undrift",
        "wrap",
        "--home",
        str(home),
        *options,
        sys.executable,
        "--",
        "-c",
        script,
        *words,
    ]


def run(command: list[str], in_folder: Path | None = None, /, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_BASE_URL", "_API_BASE"))}
    return subprocess.run(
        command,
        cwd=in_folder,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def events(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "gateway.log").read_text().splitlines()]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def assert_it_goes(process: int) -> None:
    for _ in range(600):
        if not is_alive(process):
            return
        time.sleep(0.05)
    pytest.fail("the gateway did not end with its client")


def test_the_client_talks_through_a_gateway_and_its_status_is_the_answer(tmp_path):
    script = f"{ASK}\nprint(ask(), sys.argv[1:])\nsys.exit(7)"
    with RawUpstream(answer) as upstream:
        done = run(wrap(tmp_path, script, "--flag", "a b"), ANTHROPIC_BASE_URL=upstream.url)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == """(200, '{"id": "m"}') ['--flag', 'a b']\n"""
    assert len(upstream.requests) == 1
    started, request = events(tmp_path)
    assert (started["event"], request["status"]) == ("started", 200)
    assert (tmp_path / "gateway.log").stat().st_mode & 0o777 == 0o600
    assert_it_goes(started["pid"])


def test_an_option_goes_before_the_environment_and_any_budget_reaches_the_gateway(tmp_path):
    with RawUpstream(answer) as upstream:
        options = (f"--upstream-anthropic={upstream.url}", "--budget=5000", f"--log={tmp_path / 'a' / 'log'}")
        done = run(wrap(tmp_path, f"{ASK}\nprint(ask())", options=options), ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert "200" in done.stdout, done.stderr
    assert (tmp_path / "a" / "log").exists()


@pytest.mark.parametrize("split", [(), ("--",)])
def test_our_options_directly_after_the_client_are_ours_and_the_rest_is_its_own(tmp_path, split):
    with RawUpstream(answer) as upstream:
        given = (f"--upstream-anthropic={upstream.url}", "--budget", "5k", "--home", str(tmp_path / "home"))
        words = ("-c", f"{ASK}\nprint(ask()[0], sys.argv[1:])", "--budget", "7k")
        done = run([sys.executable, "-m", "undrift", "wrap", sys.executable, *given, *split, *words])
    assert done.stdout == "200 ['--budget', '7k']\n", done.stderr
    assert (tmp_path / "home" / "gateway.log").exists()


def test_a_wrong_budget_is_refused_after_the_client_too(tmp_path):
    done = run([sys.executable, "-m", "undrift", "wrap", sys.executable, "--budget", "lots"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "'lots' is not a number of tokens" in done.stderr


def test_a_client_that_is_killed_leaves_nothing_behind(tmp_path):
    script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run(wrap(tmp_path, script)).returncode == -signal.SIGKILL
    assert_it_goes(events(tmp_path)[0]["pid"])
    assert {path.name.partition(".sqlite3")[0] for path in tmp_path.iterdir()} <= {
        "undrift",
        "gateway.log",
        TOKEN_NAME,
        "projects",
    }


def test_a_gateway_that_falls_is_there_again_at_the_same_address(tmp_path):
    script = f"{ASK}{KILL}\nknown = kill_the_gateway()\nwait_for(lambda: len(pids()) > len(known))\nprint(ask()[0])"
    with RawUpstream(answer) as upstream:
        done = run(wrap(tmp_path, script, str(tmp_path / "gateway.log")), ANTHROPIC_BASE_URL=upstream.url)
    assert done.stdout == "200\n", done.stderr


def test_a_gateway_that_falls_again_and_again_says_so_to_the_client(tmp_path):
    script = f"""{ASK}{KILL}
for _ in range(2):
    known = kill_the_gateway()
    wait_for(lambda: len(pids()) > len(known))
kill_the_gateway()
def refused():
    try:
        return ask()[0] == 503
    except OSError:
        return False
wait_for(refused)
print(ask()[1])
def page(method, path, **headers):
    url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    connection.request(method, path, b"x" * 9, dict(origin="http://localhost:3000", **headers))
    with connection.getresponse() as answer:
        return [answer.status, sorted(answer.headers), answer.read().decode()]
print(json.dumps([page(method, "/undrift/health") for method in ("GET", "POST", "OPTIONS")]))
shown = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"]).path.split("/")[1]
print(json.dumps([page("GET", "/" + shown + "/v1/models")[0], page("GET", "/v1/models", **dict([("x-undrift-token", shown)]))[0]]))
"""
    done = run(wrap(tmp_path, f"import http.client, urllib.parse\n{script}", str(tmp_path / "gateway.log")))
    first, pages, proven = done.stdout.splitlines()
    said = json.loads(first)
    for status, headers, body in json.loads(pages):
        assert (status, headers) == (401, ["content-length", "content-type"])
        assert json.loads(body)["error"]["message"] == "undrift: unauthorized"
    assert json.loads(proven) == [503, 503]
    assert said["type"] == "error"
    assert f"{tmp_path / 'gateway.log'} says why" in said["error"]["message"]


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ((), b"budget: auto, at most 75% of the model's window"),
        (("--budget", "60k"), b"60,000 may cost more than sending everything"),
    ],
)
def test_the_client_has_the_terminal_and_its_interrupts(options: Sequence[str], budget: bytes, tmp_path):
    script = """
import os, sys, time
try:
    print("ready", os.isatty(0), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(5)
"""
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as in a terminal's shell: what runs in the background ignores it
        os.execv(sys.executable, wrap(tmp_path, script, options=options))
    said = b""
    while b"ready" not in said or not said.endswith(b"\n"):
        said += os.read(terminal, 1_000)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert b"ready True True" in said
    assert b"uses http://127.0.0.1:" in said
    assert budget in b" ".join(said.split())
    assert os.waitstatus_to_exitcode(status) == 5
    assert_it_goes(events(tmp_path)[0]["pid"])


def test_a_client_that_is_not_there_is_one_line_with_the_remedy(tmp_path):
    done = run([sys.executable, "-m", "undrift", "wrap", "opencode"], PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "undrift: opencode is not installed, or not on the PATH: npm install -g opencode-ai\n"
    assert not list(tmp_path.iterdir())


def test_without_the_gateways_packages_the_client_is_not_started(tmp_path):
    (tmp_path / "aiohttp.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = run(wrap(tmp_path / "home", "print('started')"), PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f"{sys.executable} -m pip install 'undrift[proxy]'\n")


def test_the_users_settings_of_claude_code_say_where_its_requests_go(tmp_path):
    client = tmp_path / "claude"
    client.write_text(f"#!{sys.executable}\n{ASK}\nprint(ask()[0], sys.argv[1:3])\n")
    client.chmod(0o700)
    with RawUpstream(answer) as upstream:
        (tmp_path / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": upstream.url}}))
        command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "claude", "-p"]
        wrong = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}  # the client's settings win over it
        done = run(command, PATH=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path), **wrong)
    assert done.stdout.startswith("200 ['--settings', '{\"env\""), done.stderr
    assert len(upstream.requests) == 1


CLOUD = f"""#!{sys.executable}
import json, os, sys, urllib.request
settings = json.loads(sys.argv[2])["env"]
if url := settings.get("ANTHROPIC_BEDROCK_BASE_URL"):
    body = json.dumps({{"anthropic_version": "bedrock-2023-05-31", "messages": [{{"role": "user", "content": "canary"}}]}})
    request = urllib.request.Request(url + "/model/us.anthropic.claude-opus-5-v1:0/invoke", body.encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        print(answer.status, answer.headers["x-undrift-session"] is not None)
print(sorted(settings))
"""


@pytest.mark.parametrize("place", ["environment", "user", "project"])
def test_claude_code_on_bedrock_is_managed_with_a_bearer_key(place: str, tmp_path):
    client = tmp_path / "claude"
    client.write_text(CLOUD)
    client.chmod(0o700)
    switch = {"CLAUDE_CODE_USE_BEDROCK": "1"}
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    if place != "environment":
        path = tmp_path / ("settings.json" if place == "user" else "project/.claude/settings.json")
        path.write_text(json.dumps({"env": {**switch, "ANTHROPIC_MODEL": 5, "AWS_REGION": "nowhere"}}))
    with RawUpstream(answer) as upstream:
        command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "claude"]
        mine = {"AWS_BEARER_TOKEN_BEDROCK": "k", "ANTHROPIC_BEDROCK_BASE_URL": upstream.url}
        more = switch if place == "environment" else {}
        done = run(command, tmp_path / "project", PATH=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path), **mine, **more)
    assert done.stdout.startswith("200 True\n"), done
    assert done.stderr == ""
    assert upstream.requests[0].target == "/model/us.anthropic.claude-opus-5-v1:0/invoke"


def test_where_nothing_can_be_managed_one_line_says_why(tmp_path):
    client = tmp_path / "claude"
    client.write_text(CLOUD)
    client.chmod(0o700)
    command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "claude"]
    signed = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    done = run(command, PATH=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path), **signed)
    assert (done.returncode, done.stdout) == (0, "['ANTHROPIC_BASE_URL']\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("undrift: nothing will be managed: claude uses Amazon Bedrock, and Amazon's signature")
    assert "AWS_BEARER_TOKEN_BEDROCK" in line


def test_a_client_that_leads_to_the_service_is_wrapped_without_it(tmp_path):
    client = tmp_path / "claude"
    client.write_text(f"#!{sys.executable}\n{ASK}\nprint(ask()[0])\n")
    client.chmod(0o700)
    folder = tmp_path / "user" / ".claude"
    folder.mkdir(parents=True)
    here = f"http://127.0.0.1:9/{'ab' * 32}/via/anthropic"  # nothing listens there
    (folder / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": here}}))
    with RawUpstream(answer) as upstream:
        pointed = PointedClient(str(folder / "settings.json"), {"anthropic": upstream.url})
        save(tmp_path / "user" / ".undrift", Service(9, {"claude": pointed}))
        command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "claude", "-p"]
        done = run(command, PATH=str(tmp_path), HOME=str(tmp_path / "user"))
    assert done.stdout == "200\n", done.stderr
    assert len(upstream.requests) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")
def test_the_environment_has_the_owners_token_and_no_command_line_shows_it(tmp_path):
    client = tmp_path / "claude"
    look = "words = [path.read_text() for path in pathlib.Path('/proc').glob('[0-9]*/cmdline') if path.exists()]"
    say = "print(json.dumps([dict(os.environ), sys.argv, [word for word in words if sys.argv[0] in word or 'proxy' in word]]))"
    client.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{look}\n{say}")
    client.chmod(0o700)
    outer = f"http://127.0.0.1:9/{'ab' * 32}/via/anthropic"  # as in a wrapped client's shell
    command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "claude"]
    done = run(command, PATH=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path), ANTHROPIC_BASE_URL=outer)
    environment, words, seen = json.loads(done.stdout)
    token = (tmp_path / "home" / TOKEN_NAME).read_text()
    assert f"/{token}/via/anthropic" in environment["ANTHROPIC_BASE_URL"]
    url = environment["ANTHROPIC_BASE_URL"].replace(f"/{token}", "")
    assert json.loads(words[2])["env"]["ANTHROPIC_BASE_URL"] == url
    assert "--upstream-anthropic=http://127.0.0.1:9/via/anthropic" in "".join(seen)
    assert not [word for word in seen if token in word or "ab" * 32 in word]
    assert token not in (tmp_path / "home" / "gateway.log").read_text()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads command lines from /proc")
@pytest.mark.parametrize(
    ("options", "has_program", "is_told"),
    [((), True, True), ((), False, False), (("--no-recall-reachable",), True, False)],
)
def test_the_gateway_knows_whether_claude_code_can_recall(
    options: tuple[str, ...], has_program: bool, is_told: bool, tmp_path
):
    client = tmp_path / "claude"
    look = "print(json.loads(sys.argv[2])['permissions'], os.environ['UNDRIFT_HOME'])"
    client.write_text(f"#!{sys.executable}\nimport json, os, sys\n{look}\n{SHOW_GATEWAYS}")
    client.chmod(0o700)
    if has_program:
        (tmp_path / "undrift").write_text("#!/bin/sh\n")
        (tmp_path / "undrift").chmod(0o700)
    command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), *options, "claude"]
    done = run(command, PATH=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path))
    allowed, gateways = done.stdout.splitlines()
    assert allowed == f"{{'allow': ['Bash(undrift recall:*)']}} {tmp_path / 'home'}", done.stderr
    assert ("--recall-reachable" in gateways) is is_told


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads command lines from /proc")
@pytest.mark.parametrize("name", [name for name in WRAPPED if name != "claude"])
def test_the_gateway_knows_that_the_agents_of_the_other_clients_can_recall(name: str, tmp_path):
    client = tmp_path / name
    look = "print(sys.argv[1:])"
    login = "if sys.argv[1:] == ['login', 'status']: sys.exit()"
    client.write_text(f"#!{sys.executable}\nimport os, sys\n{login}\n{look}\n{SHOW_GATEWAYS}")
    client.chmod(0o700)
    (tmp_path / "undrift").write_text("#!/bin/sh\n")
    (tmp_path / "undrift").chmod(0o700)
    (tmp_path / ".profile").write_text(f"PATH='{tmp_path}'\n")  # of Codex' login shell
    command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), name, "-p"]
    variables = {"PATH": str(tmp_path), "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    words, gateways = run(command, **variables).stdout.splitlines()
    assert "--recall-reachable" in gateways
    (tmp_path / ".profile").write_text("PATH=/nowhere\n")
    _, gateways = run(command, **variables).stdout.splitlines()
    assert ("--recall-reachable" in gateways) is (name != "codex")
    assert ("run_shell_command(undrift recall)" in words) is (name == "gemini")


def test_a_clients_own_commands_get_no_words_about_its_agent():
    gemini = wrapped("gemini")
    assert gemini.allowing(["-p", "mcp"]) == ("--allowed-tools", "run_shell_command(undrift recall)")
    assert gemini.allowing(["mcp", "list"]) == ()
    assert wrapped("claude").allowing([]) == ()  # its settings have it
    assert "Bash(undrift recall:*)" in wrapped("claude").words(AT, {})[1]


CODEX = f"""#!{sys.executable}
import json, os, sys, urllib.error, urllib.request
base = sys.argv[2].partition("=")[2].strip('"')
login = {{"chatgpt-account-id": "a"}} if "LOGIN" in os.environ else {{}}
try:
    urllib.request.urlopen(urllib.request.Request(base + "/responses", b'{{}}', login), timeout=30)
except urllib.error.HTTPError as error:
    print(error.read().decode())
print(base.endswith("/v1"), sys.argv[3:])
"""


def test_codex_with_a_login_of_chatgpt_goes_to_chatgpt_whatever_a_variable_says(tmp_path):
    client = tmp_path / "codex"
    client.write_text(CODEX)
    client.chmod(0o700)
    with RawUpstream(lambda _: [Send(response(b'{"said": "ChatGPT"}', status=400))]) as upstream:
        command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home")]
        command += [f"--upstream-chatgpt={upstream.url}", "codex", "exec"]
        wrong = {"OPENAI_BASE_URL": "http://127.0.0.1:9/any"}
        done = run(command, PATH=str(tmp_path), CODEX_HOME=str(tmp_path), LOGIN="1", **wrong)
    assert done.stdout == '{"said": "ChatGPT"}\nTrue [\'exec\']\n', done
    assert upstream.requests[0].target == "/backend-api/codex/responses"


def test_an_address_in_the_configuration_of_codex_is_where_its_requests_go(tmp_path):
    client = tmp_path / "codex"
    client.write_text(CODEX)
    client.chmod(0o700)
    with RawUpstream(lambda _: [Send(response(b'{"said": "upstream"}', status=400))]) as upstream:
        (tmp_path / "config.toml").write_text(f'openai_base_url = "{upstream.url}/any/v1"\n')
        command = [sys.executable, "-m", "undrift", "wrap", "--home", str(tmp_path / "home"), "codex", "exec"]
        done = run(command, PATH=str(tmp_path), CODEX_HOME=str(tmp_path))
    assert done.stdout.startswith('{"said": "upstream"}\nTrue'), done
    assert upstream.requests[0].target == "/any/v1/responses"


def test_opencode_keeps_what_the_user_has_configured_in_the_variable():
    name = "OPENCODE_CONFIG_CONTENT"
    given = {name: json.dumps({"model": "a/b", "provider": {"anthropic": {"options": {"timeout": 1}}}})}
    config = json.loads(wrapped("opencode").environment(AT, given)[name])
    assert config["model"] == "a/b"
    assert config["provider"]["anthropic"]["options"] == {"timeout": 1, "baseURL": "http://127.0.0.1:1/v1"}
    assert config["provider"]["google"]["options"] == {"baseURL": "http://127.0.0.1:1/v1beta"}


@pytest.mark.parametrize("value", ["{", "[]", '{"provider": 1}', '{"provider": {"openai": []}}'])
def test_what_cannot_be_joined_is_an_error_that_names_it(value: str):
    with pytest.raises(InputError, match="OPENCODE_CONFIG_CONTENT"):
        wrapped("opencode").environment(AT, {"OPENCODE_CONFIG_CONTENT": value})


@pytest.mark.parametrize("name", [*WRAPPED, "claude-code", "gemini-cli", "mini-swe-agent", "./own-agent"])
def test_no_client_asks_a_proxy_for_its_own_machine(name: str):
    out = wrapped(name).environment(AT, {"NO_PROXY": "a.example", "HOME": "/h"})
    assert out["NO_PROXY"] == "a.example,127.0.0.1,localhost"
    assert out["HOME"] == "/h"
