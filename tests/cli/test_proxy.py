"""``undrift proxy`` as users start it: says where it listens, serves, and ends in order."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.proxy.builders import ask, token
from undrift.cli.proxy import CLIENTS
from undrift.testing import RawUpstream, Send, response

BODY = {"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "canary"}]}


@contextmanager
def started(home: Path, *words: str):
    command = [sys.executable, "-m", "undrift", "proxy", "--port", "0", "--home", str(home), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_comes(number: signal.Signals, tmp_path):
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream:
        upstreams = [f"--upstream-{name}={upstream.url}" for name in ("anthropic", "openai", "gemini")]
        with started(tmp_path / "home", "--json", "--budget", "5000", *upstreams) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            heard = ask(said["url"], body=BODY)
            process.send_signal(number)
            _, errors = process.communicate(timeout=30)
    assert (heard.status, "x-undrift-bypass" in heard.headers) == (200, False)
    assert process.returncode == 0
    (line,) = errors.splitlines()
    assert json.loads(line)["status"] == 200
    assert "canary" not in line
    assert set(said) == {"url", "port", "home", "token_file", "page", "base_urls", "clients"}
    assert Path(said["token_file"]).stat().st_mode & 0o777 == 0o600
    assert said["base_urls"]["gemini"] == f"{said['url']}/{Path(said['token_file']).read_text()}/via/gemini"


@pytest.mark.parametrize("words", [(), ("--host", "0.0.0.0")])
def test_it_says_how_to_point_each_client_at_it(words: tuple[str, ...], tmp_path):
    with started(tmp_path, *words) as process:
        assert process.stdout is not None
        lines = []
        while "Ctrl-C" not in (line := process.stdout.readline()):
            lines.append(line)
    text = "".join(lines)
    url = f"{lines[0].split()[3]}/{token(tmp_path)}/via"
    assert f"ANTHROPIC_BASE_URL={url}/anthropic claude" in text
    assert f'base_url="{url}/openai/v1"' in text
    assert f"GOOGLE_GEMINI_BASE_URL={url}/gemini gemini" in text
    assert all(url in line for line in lines[4 : 4 + 2 * len(CLIENTS) : 2])
    in_words = re.compile(r" -\S+ ?\S*\{")  # what stands there can be seen by every user of the machine
    assert not [way for way in CLIENTS.values() if in_words.search(way)]


@pytest.mark.parametrize(("words", "is_said"), [((), False), (("--budget", "60k"), True)])
def test_the_price_of_a_fixed_budget_is_said_at_the_start(words: tuple[str, ...], is_said: bool, tmp_path):
    with started(tmp_path, *words) as process:
        assert process.stdout is not None
        text = ""
        while "Ctrl-C" not in text:
            text += process.stdout.readline()
    price = (
        "60,000 may cost more than sending everything; to measure it on your sessions: undrift replay --budget 60000"
    )
    assert (price in " ".join(text.split())) is is_said


@pytest.mark.parametrize("words", [("--upstream-openai", "no url"), ("--host", "256.0.0.1")])
def test_what_cannot_work_is_one_line(words: tuple[str, str], tmp_path):
    with started(tmp_path, *words) as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith("undrift: ")
    assert len(errors.splitlines()) == 1
