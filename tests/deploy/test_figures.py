"""The dashboard and the alert rules name figures that a gateway of a team truly has, with labels that they have."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.proxy.builders import ask
from undrift.testing import Close, RawRequest, RawUpstream, Send, response

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy/chart/files"
BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]}
ANSWER = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 12, "output_tokens": 3},
}
NAME = re.compile(r"\bundrift_[a-z_]+")
SELECTOR = re.compile(r"\b(undrift_[a-z_]+)(?:\{([^}]*)\})?")
ALWAYS = {"job", "instance", "le"}
"""Labels that Prometheus gives, and that of a histogram."""


def expressions() -> list[str]:
    """Every expression of the dashboard and of the rules."""
    dashboard = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [one["query"]["query"] for one in dashboard["templating"]["list"] if isinstance(one["query"], dict)]
    rules = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))
    return found + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def key(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "undrift", "serve", "key", "--json", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def answer(request: RawRequest) -> list[Any]:
    """The provider: an answer, and to a request for the path `cut` one that breaks off."""
    whole = response(json.dumps(ANSWER).encode())
    return [Send(whole[:-40]), Close()] if "cut" in request.target else [Send(whole)]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The figures of a gateway that has served, passed on, cut off and refused requests."""
    help_text = subprocess.run([sys.executable, "-m", "undrift", "serve", "--help"], capture_output=True, check=False)
    if help_text.returncode:
        pytest.skip("needs the command `undrift serve`")
    folder = tmp_path_factory.mktemp("team")
    ana, operator = key("--person", "ana", "--project", "shop"), key("--metrics")
    shipped = (FILES / "serve.toml").read_text(encoding="utf-8")
    with RawUpstream(answer) as upstream:
        lines = ["[person_limit]", "requests_per_minute = 3", "[upstreams]", f'anthropic = "{upstream.url}"']
        config = folder / "serve.toml"
        config.write_text("\n".join([shipped, *lines, *ana["lines"], *operator["lines"]]), encoding="utf-8")
        around = {name: value for name, value in os.environ.items() if not name.startswith("UNDRIFT_")}
        around |= {"UNDRIFT_HOME": str(folder / "home"), "UNDRIFT_SERVE_LISTEN": "127.0.0.1:0"}
        around["UNDRIFT_SERVE_FILES"] = str(folder / "files")
        around["UNDRIFT_SERVE_DRAIN_NOTICE_S"] = "0"
        command = [sys.executable, "-m", "undrift", "serve", "--config", str(config), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=around, bufsize=1) as process:
            assert process.stdout is not None
            try:
                said = "".join(iter(process.stdout.readline, "}\n")) + "}"
                url, via = json.loads(said)["url"], f"/{ana['key']}/via/anthropic"
                assert ask(url, "/undrift/ready", method="GET").status == 200
                assert ask(url, f"{via}/v1/messages", BODY).status == 200
                assert ask(url, f"{via}/v1/messages", b"no JSON").headers["x-undrift-bypass"] == "not-understood"
                assert not ask(url, f"{via}/v1/cut", BODY).is_whole
                assert ask(url, f"{via}/v1/messages", BODY).status == 429
                assert ask(url, "/wrong/via/anthropic/v1/messages", BODY).status == 401
                heard = ask(
                    url, "/undrift/metrics", method="GET", headers={"authorization": f"Bearer {operator['key']}"}
                )
                yield heard.body.decode()
            finally:
                process.terminate()
                process.wait(60)


def labels(figures: str) -> dict[str, set[str]]:
    """Each figure with the labels that it has."""
    found: dict[str, set[str]] = {}
    for line in figures.splitlines():
        if match := re.match(r"(undrift_\w+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return found


def test_every_expression_names_figures_and_labels_that_a_gateway_has(figures: str):
    known = labels(figures)
    for expression in expressions():
        for name, selector in SELECTOR.findall(expression):
            assert name in known, f"{expression}: no gateway has {name}"
            asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
            assert asked <= known[name] | ALWAYS, f"{expression}: {name} has the labels {known[name]}"


def test_every_figure_of_a_gateway_is_shown(figures: str):
    text = " ".join(expressions())
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in NAME.findall(text)}
    had = {re.sub("_(bucket|sum|count)$", "", name) for name in labels(figures)}
    assert had == shown


def test_each_panel_has_a_place_a_title_and_a_description_of_its_own():
    panels = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels]
    assert len(set(places)) == len(panels)
    assert len({one["id"] for one in panels}) == len({one["title"] for one in panels}) == len(panels)
    assert all(one["description"].endswith(".") for one in panels)
    assert all(one["gridPos"]["x"] + one["gridPos"]["w"] <= 24 for one in panels)
    assert all(re.fullmatch(r"[A-Z]", target["refId"]) for one in panels for target in one["targets"])


def test_each_alert_says_how_bad_it_is_and_what_to_look_at():
    rules = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len({one["alert"] for one in alerts}) == len(alerts) > 0
    for one in alerts:
        assert one["labels"]["severity"] in ("info", "warning", "critical")
        assert one["annotations"]["summary"].endswith(".")


def test_a_member_over_its_rate_has_no_wrong_key(figures: str):
    """The gateway of these figures refused one wrong key, and one request of a member."""
    rules = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))
    alerts = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    counted, _, taken = alerts["UndriftWrongKeys"].rpartition(" > ")[0].partition(" - ")
    assert summed(counted, figures) == 2
    assert summed(counted, figures) - summed(taken, figures) == 1


def summed(expression: str, figures: str) -> int:
    """The sum over a gateway's figures that an expression asks for."""
    ((name, selector),) = SELECTOR.findall(expression) or [("none", "")]
    wanted = f"(?:{selector.partition('=~')[2][1:-1]})" if selector else ""
    return sum(map(int, re.findall(rf'^{name}\{{.*"{wanted}.*\}} (\d+)$', figures, re.MULTILINE)))
