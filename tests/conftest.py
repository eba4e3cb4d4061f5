"""What every test may ask for: the shared material, and one setting of Hypothesis for all."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# The same examples everywhere and on each run, so that a failure belongs to the change; `make fuzz` draws others, and what
# it finds is written here as an example. No deadline and no look at the clock: a slow machine is not a finding.
settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("random", settings.get_profile("default"), derandomize=False)
settings.load_profile("default")


UNMEASURED = frozenset(
    {
        "tests/cli/test_terminal.py",
        "tests/core/restore/test_restore.py",
        "tests/core/text/test_secrets.py",
        "tests/facts/test_retriever.py",
        "tests/facts/test_store_machine.py",
        "tests/mcp/test_hostile_arguments.py",
        "tests/memory/test_machine.py",
        "tests/memory/test_poisoning.py",
        "tests/report/test_all_sessions.py",
        "tests/session/test_properties.py",
        "tests/session/test_real_sessions.py",
        "tests/tasks/test_properties.py",
        "tests/transcripts/test_damage.py",
        "tests/transcripts/test_real_clients.py",
        "tests/transcripts/test_real_message_lists.py",
        "tests/transcripts/test_real_sessions.py",
        "tests/wires/test_real_sessions.py",
    }
)
"""Long runs, whose coverage is not measured: that takes longer than they do, and other tests reach the same lines."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long runs out of the coverage."""
    for item in items:
        if item.path.relative_to(ROOT).as_posix() in UNMEASURED:
            item.add_marker("no_cover")


def pytest_report_header() -> str:
    """Say in the report's head which examples Hypothesis takes."""
    return "hypothesis examples: " + (
        "the same on every run (make fuzz draws others)" if settings().derandomize else "drawn at random"
    )


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with shared captures and data beside the checkout; skip where it is not there."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared beside the checkout (recorded sessions, captures): it is not there")
    return folder
