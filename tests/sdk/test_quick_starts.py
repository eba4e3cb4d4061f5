"""The documented quick starts through `undrift.wrap`, ten turns each; `make sdk` plays all of them for sixty turns."""

from pathlib import Path

import pytest

from tests.sdk.quick_starts.play import Script, Shape
from tests.sdk.quick_starts.stage import all_shapes, compare

for _package in ("anthropic", "openai", "google.genai"):
    pytest.importorskip(_package, reason=f"needs the package {_package} (make setup installs it)")

SCRIPT = Script(turns=10, asked_every=4, lines=40)
BUDGET_TOKENS = 3_600


def alternating() -> list[Shape]:
    """Every shape one time, the first one sync, the next one async, and so on."""
    shapes = all_shapes()
    names = list(dict.fromkeys((shape.wire, shape.name) for shape in shapes))
    return [shape for shape in shapes if names.index((shape.wire, shape.name)) % 2 == shape.is_async]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # OpenAI's parse, with wrap or without
@pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")  # google-genai
@pytest.mark.parametrize("shape", alternating(), ids=str)
def test_a_quick_start_is_managed_and_sees_what_it_saw_without(shape: Shape, home_of_all: Path):
    row = compare(shape, SCRIPT, home_of_all, BUDGET_TOKENS)
    assert not row.faults()
