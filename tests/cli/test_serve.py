"""`undrift serve`: checks a configuration, makes keys, and runs with the log and the exporters that are asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proxy.team.builders import ANA, serving
from undrift.errors import SettingsError
from undrift.proxy.team.exporters import export_by, is_asked_for
from undrift.settings.serving import read_serve_config
from undrift.testing import ScriptedProvider
from undrift.values.member import hash_of


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UNDRIFT_", "OTEL_"))}
    command = [sys.executable, "-m", "undrift", "serve", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env={**kept, **variables})


def test_a_new_key_is_printed_once_with_the_lines_that_let_it_in(tmp_path: Path):
    made = run("key", "--person", 'Ana "A"', "--project", "shop")
    assert made.returncode == 0
    key, _, lines = made.stdout.partition("\n\n")
    file = tmp_path / "serve.toml"
    file.write_text(f'home = "{tmp_path / "home"}"\n{lines}', encoding="utf-8")
    (line,) = read_serve_config(file, {}).keys
    assert (line.person, line.project, line.sha256) == ('Ana "A"', "shop", hash_of(key))
    assert key not in lines + made.stderr
    assert run("key", "--person", "a", "--project", "p").stdout.splitlines()[0] != key
    checked = run("--check", str(file))
    assert (checked.returncode, "Keys:    1, of 1 people" in checked.stdout) == (0, True)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "words", [[], ["--person", "a"], ["--metrics", "--person", "a"], ["--person", "a\n", "--project", "p"]]
)
def test_a_key_needs_a_person_and_a_project_or_neither(words: list[str]):
    assert run("key", *words).returncode == 2


def test_the_key_of_the_operator_stands_in_the_table_of_metrics(tmp_path: Path):
    made = json.loads(run("key", "--metrics", "--json").stdout)
    file = tmp_path / "serve.toml"
    file.write_text("\n".join(['home = "h"', *made["lines"]]), encoding="utf-8")
    assert read_serve_config(file, {}).metrics_sha256 == hash_of(made["key"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('home = "h"\nhom = "x"\n', "there is no key 'hom'. Did you mean home?"),
        ('home = "h"\nmemory = "lots"\n', "no size of 128M or more"),
        ('home = "h"\n[upstreams]\nopenai = "https://a:b@example.com"\n', "must hold no name or password"),
    ],
)
def test_check_says_in_one_line_what_is_wrong(tmp_path: Path, text: str, said: str):
    file = tmp_path / "serve.toml"
    file.write_text(text, encoding="utf-8")
    checked = run("--check", str(file))
    assert checked.returncode == 1
    assert said in " ".join(checked.stderr.split())
    assert "Traceback" not in checked.stderr


def test_the_log_is_json_or_words_and_names_the_person(tmp_path: Path):
    with ScriptedProvider(without_tools=True) as provider:
        lines = []
        for log in ("json", "text"):
            with serving(tmp_path, provider.url, UNDRIFT_SERVE_LOG=log) as gateway:
                assert gateway.ask(ANA).status == 200
                gateway.process.terminate()
                assert gateway.process.wait(20) == 0
                lines.append(next(one for one in gateway.log.read_text().splitlines() if "request" in one))
    assert json.loads(lines[0])["person"] == "ana"
    assert lines[1].startswith(
        "info event=request provider=anthropic wire=anthropic status=200 person=ana project=shop"
    )


def test_the_environment_of_opentelemetry_alone_makes_it_export(tmp_path: Path):
    pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
    console = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "UNDRIFT_SERVE_DRAIN_NOTICE_S": "0"}
    with ScriptedProvider(without_tools=True) as provider, serving(tmp_path, provider.url, **console) as gateway:
        assert gateway.ask(ANA).status == 200
        gateway.process.terminate()
        assert gateway.process.stdout is not None
        said = gateway.process.stdout.read()
        assert gateway.process.wait(20) == 0
    assert '"name": "undrift.prepare"' in said
    assert '"service.name": "undrift"' in said
    assert "Hello." not in said


def test_nothing_is_exported_unless_a_variable_asks_for_it():
    assert not is_asked_for({})
    assert not is_asked_for({"OTEL_TRACES_EXPORTER": "none", "OTEL_SERVICE_NAME": "x"})
    assert not is_asked_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"})
    assert is_asked_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    assert is_asked_for({"OTEL_METRICS_EXPORTER": "console"})


def test_an_exporter_that_is_not_there_is_named_with_the_remedy():
    pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
    with pytest.raises(SettingsError, match="no exporter 'nowhere' of OpenTelemetry for traces"):
        export_by({"OTEL_TRACES_EXPORTER": "nowhere"})
