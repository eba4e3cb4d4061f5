"""``python -m deploy.lint`` runs every linter of this folder that the machine has, and names those that it has not.

Only promtool is no package of requirements/deploy.txt: it comes with Prometheus.
"""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deploy.rendering import ALL_PARTS, render

__all__ = ["main"]

_HERE = Path(__file__).parent
_KUBERNETES = "1.33"
_YAMLLINT = (
    "{extends: default, rules: {line-length: {max: 128}, document-start: disable, braces: {max-spaces-inside: 1}}}"
)
_INFO = 1  # of Helm's severities


def _commands() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of a check and its command."""
    composes = ["compose.yaml", "compose.tls.yaml"]
    plain = [
        *composes,
        "chart/Chart.yaml",
        "chart/values.yaml",
        "chart/files/alerts.yaml",
        "chart/files/alerts.test.yaml",
    ]
    yield "Dockerfile", ["hadolint", "Dockerfile"]
    yield "YAML", ["yamllint", "--strict", "--config-data", _YAMLLINT, *plain]
    yield "compose: schema", ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", *composes]
    yield "compose: security", ["compose-lint", "--fail-on", "high", "compose.yaml"]
    yield "compose: Docker", ["docker", "compose", "--file", "compose.yaml", "config", "--quiet"]
    yield "Caddyfile", ["caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile"]
    yield "Caddyfile: format", ["caddy", "fmt", "--diff", "Caddyfile"]
    yield "shell", ["sh", "-n", "secrets.sh"]
    yield "rules", ["promtool", "check", "rules", "chart/files/alerts.yaml"]
    yield "rules: tests", ["promtool", "test", "rules", "chart/files/alerts.test.yaml"]


def _program(name: str) -> str | None:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def _is_there(command: Sequence[str]) -> bool:
    """Return whether a program is there; of Docker's compose, whether that part is."""
    if (program := _program(command[0])) is None:
        return False
    if command[:2] == ["docker", "compose"]:
        return subprocess.run([program, "compose", "version"], capture_output=True, check=False).returncode == 0
    return True


def _run(name: str, command: Sequence[str]) -> bool | None:
    """Run one check and say how it went; None if its program is absent."""
    if not _is_there(command):
        print(f"SKIPPED {name}: no {' '.join(command[:2] if command[0] == 'docker' else command[:1])} on this machine")
        return None
    print(f"+ {' '.join(command)}", flush=True)
    program = _program(command[0])
    assert program is not None
    is_good = subprocess.run([program, *command[1:]], cwd=_HERE, check=False).returncode == 0
    print(f"{'ok' if is_good else 'FAILED'} {name}", flush=True)
    return is_good


def _chart() -> bool | None:
    """Lint the chart with Helm's own code, and check what it makes against the schemas of Kubernetes."""
    try:
        helm, schemas = importlib.import_module("helm_python"), importlib.import_module("kubernetes_validate")
    except ImportError as error:
        print(f"SKIPPED chart: no {error.name} on this machine")
        return None
    print(f"+ helm lint (SDK {helm.helm_sdk_version()})")
    found = helm.lint(str(_HERE / "chart"))
    print(json.dumps(found))
    is_good = not found["errors"] and all(one["severity"] <= _INFO for one in found["messages"])
    for parts, values in {"as it is": None, "with all parts": ALL_PARTS}.items():
        for document in render(values):
            is_good &= _fits(schemas, document, parts)
    print(f"{'ok' if is_good else 'FAILED'} chart")
    return is_good


def _fits(schemas: Any, document: dict[str, Any], parts: str) -> bool:
    what = f"{document['kind']} {document['metadata']['name']}, chart {parts}"
    if document["apiVersion"].startswith("monitoring.coreos.com/"):
        print(f"SKIPPED {what}: no schema of the operator of Prometheus on this machine")
        return True
    try:
        schemas.validate(document, _KUBERNETES, strict=True)
    except Exception as error:  # noqa: BLE001 - its errors have no common class; each is a finding
        print(f"FAILED {what}: {error}")
        return False
    print(f"ok {what}: Kubernetes {_KUBERNETES}, strict")
    return True


def main() -> int:
    """Run everything; return 1 if a check failed."""
    results = [_run(name, command) for name, command in _commands()]
    results.append(_chart())
    print(f"{results.count(True)} checks passed, {results.count(False)} failed, {results.count(None)} skipped")
    print("Nothing here was run as a container: python -m deploy.run starts the same processes without an image")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
