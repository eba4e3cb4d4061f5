"""What every test may ask for: the shared material, and one setting of Hypothesis for all."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).parents[1]
IN_CI = bool(os.environ.get("CI"))

# In CI the same examples every time, so that a failure belongs to the change; elsewhere new ones on each run, so that
# something is found. No deadline: a time-out on a busy machine is not a finding.
settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=IN_CI,
    database=None if IN_CI else DirectoryBasedExampleDatabase(ROOT / ".hypothesis"),
    print_blob=True,
)
settings.load_profile("default")


UNMEASURED = frozenset(
    {
        "tests/core/test_mask.py",
        "tests/core/test_restore.py",
        "tests/facts/test_retriever.py",
        "tests/report/test_all_sessions.py",
        "tests/test_poisoning.py",
        "tests/test_real_sessions.py",
        "tests/test_session_properties.py",
        "tests/test_task_properties.py",
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
        "the same on every run (CI is set)" if IN_CI else "new on every run (set CI=1 to fix them)"
    )


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with shared captures and data beside the checkout; skip where it is not there."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared beside the checkout (recorded sessions, captures): it is not there")
    return folder
