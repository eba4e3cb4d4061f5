"""The script without an image starts what the compose file names, and so do the image and the chart: commands, ports, variables."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.composed import ComposeError, read
from deploy.places import why_no_namespaces
from deploy.rendering import ALL_PARTS, render

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
GATEWAYS = [name for name in COMPOSE if name.startswith("gateway-")]
POSTGRES = "/usr/bin"  # the plan only names it
RUN = [sys.executable, "-m", "deploy.run"]


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    """The commands, variables and ports that the script would start."""
    run = subprocess.run([*RUN, "--plan", "--postgres", POSTGRES], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def defaults(text: str) -> str:
    """A value of the compose file without variables of its caller."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def variables(service: str) -> dict[str, str]:
    return {name: defaults(value) for name, value in COMPOSE[service].get("environment", {}).items()}


def ports(service: str) -> list[int]:
    published = [int(defaults(one).rpartition(":")[2]) for one in COMPOSE[service].get("ports", ())]
    return [int(one) for one in COMPOSE[service].get("expose", ())] + published


@pytest.mark.parametrize("service", COMPOSE)
def test_the_script_names_the_command_the_ports_and_the_variables_of_the_compose_file(service: str, plan):
    arguments = COMPOSE[service]["command"][1:]
    given = plan[service]
    if COMPOSE[service]["command"][0] != "caddy" or given["command"][0].endswith("caddy"):
        assert given["command"][-len(arguments) :] == arguments
    else:
        assert given["command"][-2:] == [f"{name}:{ports(name)[0]}" for name in GATEWAYS]
    assert given["ports"] == ports(service)
    assert variables(service).items() <= given["environment"].items()
    more = set(given["environment"]) - set(variables(service))
    assert more <= {"LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "SOCKETS"}


@pytest.mark.parametrize("service", COMPOSE)
def test_every_service_is_hardened(service: str):
    given = COMPOSE[service]
    assert given["read_only"] is True
    assert given["cap_drop"] == ["ALL"]
    assert given["security_opt"] == ["no-new-privileges:true"]
    assert 0 not in map(int, given["user"].split(":"))
    assert not [name for name in given["environment"] if "PASSWORD" in name and not name.endswith("_FILE")]
    assert all(one.endswith(":ro") for one in given["volumes"] if one.startswith("."))


def test_two_gateways_stand_behind_the_proxy_and_wait_for_the_store():
    assert len(GATEWAYS) == 2
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    (targets,) = re.findall(r"reverse_proxy ([^{]+) \{", text)
    assert targets.split() == [f"{name}:{ports(name)[0]}" for name in GATEWAYS]
    assert COMPOSE["proxy"]["depends_on"] == {name: {"condition": "service_healthy"} for name in GATEWAYS}
    for name in GATEWAYS:
        assert COMPOSE[name]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert "health_uri /undrift/ready" in text
        assert f":{ports(name)[0]}/undrift/ready" in COMPOSE[name]["healthcheck"]["test"][-1]


def test_the_image_runs_the_command_the_user_and_the_check_of_the_compose_file():
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    last = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if re.match(r"[A-Z]+ ", line)}
    gateway = COMPOSE[GATEWAYS[0]]
    assert json.loads(last["CMD"]) == gateway["command"]
    assert last["USER"] == gateway["user"]
    assert [last["EXPOSE"]] == gateway["expose"]
    assert json.loads(last["HEALTHCHECK"].partition("CMD ")[2]) == gateway["healthcheck"]["test"][1:]
    installs = [line for line in lines if "--requirement" in line]
    assert installs
    assert all(line.count("--requirement ") == line.count("--require-hashes") for line in installs)


def test_the_configuration_listens_where_the_compose_file_says():
    config = tomllib.loads((DEPLOY / "chart/files/serve.toml").read_text(encoding="utf-8"))
    assert [config["listen"].rpartition(":")[2]] == COMPOSE[GATEWAYS[0]]["expose"]
    grace_s = int(COMPOSE[GATEWAYS[0]]["stop_grace_period"].removesuffix("s"))
    assert config["drain"]["notice_s"] + config["drain"]["limit_s"] < grace_s
    values = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text(encoding="utf-8"))
    assert values["terminationGracePeriodSeconds"] == grace_s


def test_the_chart_runs_the_command_the_port_and_the_variables_of_the_compose_file():
    pytest.importorskip("helm_python", reason="needs the package helm-python-sdk: make deploy-lint")
    documents = {one["kind"]: one for one in render()}
    pod = documents["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    gateway = COMPOSE[GATEWAYS[0]]
    assert container["command"] == gateway["command"]
    assert [str(one["containerPort"]) for one in container["ports"]] == gateway["expose"]
    secret = lambda text: re.sub(r"/run/secrets/(?:undrift/)?", "SECRETS/", text)  # noqa: E731
    in_chart = {one["name"]: secret(one["value"]) for one in container["env"]}
    assert in_chart == {name: secret(value) for name, value in variables(GATEWAYS[0]).items()}
    assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == gateway["user"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/undrift/ready"
    assert documents["Deployment"]["spec"]["replicas"] == len(GATEWAYS)
    assert (
        documents["ConfigMap"]["data"]["serve.toml"].strip() == (DEPLOY / "chart/files/serve.toml").read_text().strip()
    )


def test_the_chart_refuses_a_password_in_its_values():
    helm = pytest.importorskip("helm_python", reason="needs the package helm-python-sdk: make deploy-lint")
    with helm.Chart.load(str(DEPLOY / "chart")) as chart:
        chart.validate_schema(dict(ALL_PARTS))
        with pytest.raises(helm.HelmError):
            chart.validate_schema({"database": {"address": "postgresql://undrift:secret@db/undrift"}})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entrypoint": ["x"]}, "no rule for entrypoint"),
        ({"read_only": False}, "read-only file system"),
        ({"volumes": ["./Caddyfile:/etc/x"]}, "mounted read only"),
        ({"depends_on": ["one"]}, "wait for each other"),
        ({"stop_grace_period": "5m"}, "in seconds"),
    ],
)
def test_what_the_reader_does_not_know_is_an_error(change: dict[str, Any], words: str, tmp_path: Path):
    service = {"command": ["x"], "user": "1:1", "read_only": True, "security_opt": ["no-new-privileges:true"]}
    path = tmp_path / "compose.yaml"
    path.write_text(yaml.safe_dump({"services": {"one": service}}), encoding="utf-8")
    assert [one.command for one in read(path, {})] == [("x",)]
    path.write_text(yaml.safe_dump({"services": {"one": {**service, **change}}}), encoding="utf-8")
    with pytest.raises(ComposeError, match=words):
        read(path, {})


# ------------------------------------------------------------------------------------------------ real processes

ANSWER = (
    "import http.server as h, socketserver as s; s.TCPServer.allow_reuse_address = True; "
    "s.TCPServer(('0.0.0.0', 8787), h.SimpleHTTPRequestHandler).serve_forever()"
)
"""No HTTPServer: it asks for the name of its address, which takes 5 seconds without a name server."""
READY = "import urllib.request as r; r.urlopen('http://127.0.0.1:8787/', timeout=4)"


def stand_in(folder: Path, port: int) -> Path:
    """A compose file with the same shape, whose two gateways need neither PostgreSQL nor undrift."""
    (folder / "mounted").write_text("seen", encoding="utf-8")
    (folder / "Caddyfile").write_text(
        ":8080 {\n\treverse_proxy gateway-1:8787 gateway-2:8787 {\n\t}\n}\n", encoding="utf-8"
    )
    common = {"user": "65532:65532", "read_only": True, "security_opt": ["no-new-privileges:true"], "tmpfs": ["/tmp"]}
    gateway = {
        **common,
        "command": ["python", "-c", ANSWER],
        "environment": {"FILE": "/etc/undrift/mounted"},
        "volumes": ["./mounted:/etc/undrift/mounted:ro"],
        "expose": ["8787"],
        "healthcheck": {"test": ["CMD", "python", "-c", READY], "interval": "1s"},
    }
    proxy = {
        **common,
        "command": ["caddy", "run"],
        "volumes": ["./Caddyfile:/etc/caddy/Caddyfile:ro"],
        "ports": [f"127.0.0.1:{port}:8080"],
        "depends_on": ["gateway-1", "gateway-2"],
    }
    path = folder / "compose.yaml"
    services = {"gateway-1": gateway, "gateway-2": gateway, "proxy": proxy}
    path.write_text(yaml.safe_dump({"services": services}), encoding="utf-8")
    return path


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.mark.parametrize("flags", [["--loopback"], []], ids=["loopback", "namespaces"])
def test_the_processes_are_those_of_the_compose_file(flags: list[str], tmp_path: Path, free_port: int):
    if sys.platform != "linux":
        pytest.skip("needs /proc, and all of 127.0.0.0/8")
    if not flags and (reason := why_no_namespaces()):
        pytest.skip(f"needs namespaces: {reason}")
    tmp_path.chmod(0o755)
    command = [*RUN, "--compose", str(stand_in(tmp_path, free_port)), "--postgres", POSTGRES, "--no-caddy", *flags]
    before = networks()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = []
        try:
            for line in process.stdout:
                said.append(line)
                if "Ctrl-C" in line:
                    break
            assert "all services are ready" in said[-1], said
            gateways = [one for one in children() if ANSWER.split(";")[0] in one[1][-1] and one[1][1:2] == ["-c"]]
            assert len(gateways) == 2
            for number, (pid, arguments, environment) in enumerate(gateways):
                assert arguments[2] == ANSWER or flags  # loopback replaces 0.0.0.0 by an address of the service's own
                if not os.getuid():
                    status = Path(f"/proc/{pid}/status").read_text()
                    assert "Uid:\t0\t" not in status
                    assert "NoNewPrivs:\t1" in status
                if not flags:
                    assert environment["FILE"] == "/etc/undrift/mounted"
                    root = Path("/proc", str(pid), "root")
                    assert (root / "etc/undrift/mounted").read_text() == "seen"
                    with pytest.raises(OSError, match="Read-only"):
                        (root / f"x{number}").touch()
            for _ in range(4):
                with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/", timeout=10) as answer:
                    assert answer.status == 200
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert process.returncode == 0
    assert networks() == before


def networks() -> set[str]:
    """The network devices of this machine that a script may have made."""
    return {one.name for one in Path("/sys/class/net").glob("u*d*")}


def children() -> list[tuple[int, list[str], dict[str, str]]]:
    """The processes whose parent is a script of this test: pid, arguments, variables."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (one / "cmdline").read_bytes().decode().split("\0")[:-1]
            variables = (one / "environ").read_bytes().decode().split("\0")[:-1]
        except OSError:
            continue
        found.append((int(one.name), arguments, dict(line.partition("=")[::2] for line in variables)))
    return found
