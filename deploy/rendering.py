"""The chart's manifests, made by Helm's own code from the package helm-python-sdk; no cluster is asked."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ALL_PARTS", "render"]

ALL_PARTS: Mapping[str, Any] = {
    "image": {"digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "registry"}],
    "extraEnv": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "undrift-tls", "annotations": {"a/b": "c"}},
    "autoscaling": {"enabled": True},
    "serviceAccount": {"annotations": {"a/b": "c"}},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "monitoring": {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True}, "dashboard": {"enabled": True}},
}
"""Values that turn on every part of the chart."""


def render(values: Mapping[str, Any] | None = None, name: str = "team") -> list[dict[str, Any]]:
    """Return the documents that an installation under a name would make. Raises ImportError: the package is absent."""
    helm = importlib.import_module("helm_python")
    with helm.Chart.load(str(Path(__file__).parent / "chart")) as chart:
        files = chart.render(None if values is None else dict(values), name=name, namespace="undrift")
    texts = [text for path, text in sorted(files.items()) if path.endswith(".yaml")]
    return [one for text in texts for one in yaml.safe_load_all(text) if one]
