"""What a session tells OpenTelemetry: with the real SDK and its exporters in memory, and nothing without a provider."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import body, opened, rounds, user
from tests.wire.sdks import sdk
from undrift import AsyncSession, Settings
from undrift.errors import InputError, WireError
from undrift.session import telemetry

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

SECRET = "the-words-of-the-user"
REPLY = {
    "content": [{"type": "text", "text": SECRET}],
    "usage": {
        "input_tokens": 40,
        "output_tokens": 7,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 20,
    },
}


class Seen:
    """A configured program: its spans and metrics."""

    def __init__(self) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider(metric_readers=[self._reader])

    @property
    def spans(self) -> list[Any]:
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith("undrift.")]

    @property
    def points(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        found = data.resource_metrics[0].scope_metrics[0].metrics if data and data.resource_metrics else []
        return {metric.name: list(metric.data.data_points) for metric in found}

    def everything(self) -> str:
        spans = [span.to_json() for span in self._exporter.get_finished_spans()]
        data = self._reader.get_metrics_data()
        return json.dumps(spans) + (data.to_json() if data else "")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    found = Seen()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    from opentelemetry.metrics import _internal

    monkeypatch.setattr(_internal, "_METER_PROVIDER", None)
    monkeypatch.setattr(_internal, "_METER_PROVIDER_SET_ONCE", Once())
    trace.set_tracer_provider(found.traces)
    metrics.set_meter_provider(found.meters)
    yield found
    found.traces.shutdown()
    found.meters.shutdown()


def _request(count: int) -> dict[str, Any]:
    return {**body(user(SECRET), *rounds(count)), "model": "claude-sonnet-4-5"}


def test_a_turn_is_a_span_with_its_figures_and_no_word_of_the_conversation(tmp_path, seen):
    with opened(tmp_path, budget_tokens=900) as session:
        prepared = session.prepare(_request(12))
        session.record(REPLY)
    turn, answer = seen.spans
    assert (turn.name, answer.name) == ("undrift.prepare", "undrift.record")
    assert dict(turn.attributes) == {
        "gen_ai.conversation.id": session.id,
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "undrift.wire": "anthropic",
        "undrift.tokens.before": prepared.tokens_before,
        "undrift.tokens.after": prepared.tokens_after,
        "undrift.tokens.budget": 900,
        "undrift.actions": len(prepared.actions),
        "undrift.actions.new": len(prepared.new),
        "undrift.warnings": 0,
    }
    assert prepared.new
    usage = {name: value for name, value in answer.attributes.items() if name.startswith("gen_ai.usage.")}
    assert usage == {
        "gen_ai.usage.input_tokens": 360,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "gen_ai.usage.cache_write.input_tokens": 20,
    }
    assert SECRET not in seen.everything()
    assert "answer 3" not in seen.everything()


def test_the_metrics_add_up_over_several_sessions(tmp_path, seen):
    removed = 0
    for name in ("a", "b"):
        with opened(tmp_path / name, budget_tokens=900) as session:
            for count in (2, 12):
                prepared = session.prepare(_request(count))
                removed += prepared.tokens_before - prepared.tokens_after
                session.record(REPLY)
    points = seen.points
    assert points["undrift.tokens.removed"][0].value == removed > 0
    assert points["undrift.tokens.cache_read"][0].value == 1_200
    assert points["undrift.tokens.cache_written"][0].value == 80
    duration = points["undrift.prepare.duration"][0]
    assert (duration.count, duration.sum > 0) == (4, True)
    assert dict(duration.attributes) == {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
    }
    assert "undrift.faults" not in points


def test_an_error_is_told_by_its_kind_alone(tmp_path, seen):
    with opened(tmp_path) as session, pytest.raises(WireError):
        session.prepare({"messages": [{"role": "user", "content": {SECRET: 1}}]})
    [span] = seen.spans
    assert not span.status.is_ok
    assert (span.attributes["error.type"], span.attributes["undrift.bypass"]) == ("WireError", "not-understood")
    assert span.status.description is None
    assert not span.events
    assert seen.points["undrift.faults"][0].value == 1
    assert SECRET not in seen.everything()


def test_a_turn_is_a_child_of_what_the_program_is_doing_also_in_asyncio(tmp_path, seen):
    tracer = trace.get_tracer("program")

    async def turns() -> None:
        opening = AsyncSession.open("s", home=tmp_path, settings=Settings(budget_tokens=900))
        async with opening as session:
            with tracer.start_as_current_span("request"):
                await session.prepare(_request(2))
                assert trace.get_current_span().name == "request"  # type: ignore[attr-defined]
            await session.record(REPLY)

    asyncio.run(turns())
    turn, answer = seen.spans
    assert turn.parent is not None
    assert turn.context.trace_id == turn.parent.trace_id
    assert answer.parent is None


def test_a_managed_client_of_an_sdk_has_the_spans_of_its_turns_below_the_callers(tmp_path, seen):
    import undrift

    one = sdk("openai-chat", is_async=True)
    client = undrift.wrap(one.client, session="s", home=tmp_path)

    async def turns() -> None:
        with trace.get_tracer("program").start_as_current_span("request"):
            await client.chat.completions.create(**one.fields([one.asked]))
        await client.close()

    asyncio.run(turns())
    spans = {span.name: span for span in seen.spans}
    assert spans["undrift.prepare"].parent is not None
    assert spans["undrift.prepare"].attributes["gen_ai.provider.name"] == "openai"
    assert spans["undrift.record"].attributes["gen_ai.usage.input_tokens"] == 90


def test_ids_that_a_log_could_not_hold_are_made_safe(tmp_path, seen):
    from undrift.session.session import Session

    for name in ("run\n\x1b[31m7", "x" * 500):
        with Session.open(name, home=tmp_path) as session:
            session.prepare(_request(1))
    assert [span.attributes["gen_ai.conversation.id"][:2] for span in seen.spans] == ["h-", "h-"]


class Broken:
    """A provider whose every use fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class HalfBroken:
    """A provider whose spans and instruments fail when they are used."""

    def get_tracer(self, *_: Any) -> Any:
        return self

    get_meter = get_tracer

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def start_span(self, *_: Any, **__: Any) -> Any:
        return self

    def create_counter(self, *_: Any, **__: Any) -> Any:
        return self

    create_histogram = create_counter


@pytest.mark.parametrize("kind", [Broken, HalfBroken])
def test_a_fault_of_telemetry_never_reaches_the_caller(tmp_path, seen, monkeypatch, kind):
    from opentelemetry.metrics import _internal

    with opened(tmp_path / "a", budget_tokens=900) as session:
        expected = session.prepare(_request(12)), session.record(REPLY)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", kind())
    monkeypatch.setattr(_internal, "_METER_PROVIDER", kind())
    before = trace.get_current_span()
    with opened(tmp_path / "b", budget_tokens=900) as session:
        assert (session.prepare(_request(12)), session.record(REPLY)) == expected
        with pytest.raises(WireError):
            session.prepare({"messages": 5})
    assert trace.get_current_span() is before


@pytest.mark.parametrize("wrong", [["anthropic"], {}, 5])
def test_a_wrong_wire_is_the_same_error_as_without_a_provider(seen, tmp_path, wrong):
    with opened(tmp_path) as session, pytest.raises(InputError, match="wire must be one of"):
        session.prepare(_request(1), wire=wrong)


def test_a_model_that_is_no_text_stops_no_turn(seen, tmp_path):
    model: Any = 5
    with opened(tmp_path) as session:
        assert session.prepare(_request(1), model=model).body


def test_nothing_is_told_or_imported_without_a_configured_provider(tmp_path):
    program = f"""
import sys
from undrift import Session
from undrift.session import telemetry
with Session.open("s", home={str(tmp_path)!r}) as session:
    session.prepare({{"messages": [{{"role": "user", "content": "hello"}}]}})
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
import opentelemetry.trace, opentelemetry.metrics
assert not telemetry.is_configured()
opentelemetry.trace.set_tracer_provider(opentelemetry.trace.NoOpTracerProvider())
assert not telemetry.is_configured()
from opentelemetry.sdk.trace import TracerProvider
print("off")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("off\n", "")


def test_the_page_has_each_name_and_its_example_runs(tmp_path, monkeypatch):
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs/telemetry.md").read_text(encoding="utf-8")
    source = Path(telemetry.__file__).read_text(encoding="utf-8")
    names = set(re.findall(r'"((?:undrift|gen_ai)\.[a-z_.]+)"', source)) - {"undrift.session.telemetry"}
    assert len(names) > 15
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    example = page.split("## OpenTelemetry")[1].split("```python\n")[1].split("```")[0]
    assert len(example.strip().splitlines()) == 6
    monkeypatch.setenv("HOME", str(tmp_path))
    program = example + "\nfrom undrift.session import telemetry\nassert telemetry.is_configured()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
