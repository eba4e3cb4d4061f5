"""OpenTelemetry for a gateway that runs as a program of its own: the exporters that the environment names.

Law: nothing is imported and nothing is sent unless a variable of OpenTelemetry's asks for it.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from undrift.errors import SettingsError
from undrift.values.extras import command_for

__all__ = ["export_by", "is_asked_for"]

_TRACES, _METRICS = "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"
_OTLP_VARIABLES = "OTEL_EXPORTER_OTLP"
_OTLP = {"otlp": "otlp_proto_http"}
_NONE = "none"


def is_asked_for(variables: Mapping[str, str]) -> bool:
    """Tell whether the environment asks for spans or metrics."""
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return any(name.startswith(_OTLP_VARIABLES) for name in variables) or any(
        variables.get(name, _NONE).strip().lower() not in ("", _NONE) for name in (_TRACES, _METRICS)
    )


def export_by(variables: Mapping[str, str]) -> Callable[[], None]:
    """Configure the providers as the environment says; return what sends the rest and ends them.

    The default exporter is OTLP over HTTP. Its address, headers and times are OpenTelemetry's own variables.

    Raises SettingsError: a package or a named exporter is missing.
    """
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(f"OTEL_ variables are set, and a package is missing ({error}): {_remedy()}") from error
    named = {} if "OTEL_SERVICE_NAME" in variables else {SERVICE_NAME: "undrift"}
    resource = Resource.create(named)  # it reads OTEL_RESOURCE_ATTRIBUTES as well
    ends: list[Callable[[], Any]] = []
    if (exporter := _exporter("traces", variables.get(_TRACES, "otlp"))) is not None:
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(exporter()))
        trace.set_tracer_provider(tracers)
        ends.append(tracers.shutdown)
    if (exporter := _exporter("metrics", variables.get(_METRICS, "otlp"))) is not None:
        meters = MeterProvider(resource=resource, metric_readers=[PeriodicExportingMetricReader(exporter())])
        metrics.set_meter_provider(meters)
        ends.append(meters.shutdown)

    def end() -> None:
        for one in ends:
            one()

    return end


def _exporter(kind: str, name: str) -> Any:
    """Return the class of an exporter by OpenTelemetry's own name for it; None: none is wanted."""
    name = name.strip().lower()
    if name in ("", _NONE):
        return None
    found = entry_points(group=f"opentelemetry_{kind}_exporter", name=_OTLP.get(name, name))
    for one in found:
        return one.load()
    raise SettingsError(f"there is no exporter {name[:40]!r} of OpenTelemetry for {kind} here: {_remedy()}")


def _remedy() -> str:
    return command_for("serve")
