"""What every test may ask for: the shared material, and one setting of Hypothesis for all."""

import gc
import os
import socketserver
import tarfile
from collections.abc import Generator
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

# The strict providers answer in two writes. Else the second waits for the receiver's delayed acknowledgement: 40 ms a request.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True


HOMES = "UNDRIFT_TEST_HOMES"
"""``server``: each folder that a test makes a home of stands for one on a real PostgreSQL server (`make postgres`)."""


UNMEASURED = (
    "tests/bench/test_purge.py",
    "tests/cli/test_setup_orders.py",
    "tests/cli/test_terminal.py",
    "tests/cli/test_widths.py",
    "tests/core/contradict/test_contradict.py",
    "tests/core/restore/test_restore.py",
    "tests/core/text/test_readings.py::test_a_megabyte_of_codes",
    "tests/core/text/test_secrets.py",
    "tests/cost/",
    "tests/dispatch/test_runner.py::test_a_crash",
    "tests/facts/test_retriever.py",
    "tests/facts/test_store_machine.py",
    "tests/fuzz/",
    "tests/house/",
    "tests/mcp/test_agents.py",
    "tests/mcp/test_hostile_arguments.py",
    "tests/memory/test_handling.py::test_many",
    "tests/memory/test_machine.py",
    "tests/memory/test_poisoning.py",
    "tests/profiles/test_code.py::test_a_loop_around",
    "tests/profiles/test_code.py::test_hostile_code",
    "tests/profiles/test_code.py::test_slashes",
    "tests/proof/",
    "tests/proxy/test_billing.py",
    "tests/proxy/test_long_prompts.py",
    "tests/proxy/test_managed.py",
    "tests/proxy/test_recall_reach.py",
    "tests/proxy/test_workers.py::test_large",
    "tests/recordings/test_index.py::test_large",
    "tests/report/test_all_sessions.py",
    "tests/sdk/test_quick_starts.py",
    "tests/seeds/",
    "tests/session/test_any_store.py",
    "tests/session/test_cache_life.py",
    "tests/session/test_kill.py",
    "tests/session/test_left_note.py",
    "tests/session/test_properties.py",
    "tests/session/test_prune_moments.py",
    "tests/session/test_real_sessions.py",
    "tests/session/test_reopened.py",
    "tests/session/test_session.py",
    "tests/stores/test_durability.py",
    "tests/stores/test_scopes.py",
    "tests/tasks/test_properties.py",
    "tests/transcripts/test_damage.py",
    "tests/transcripts/test_reading.py",
    "tests/transcripts/test_real_clients.py",
    "tests/transcripts/test_real_message_lists.py",
    "tests/transcripts/test_real_sessions.py",
    "tests/twin/",
    "tests/window/test_once.py::test_a_provider_takes",
    "tests/wire/test_gemini_sessions.py",
    "tests/wire/test_openai_responses_sessions.py",
    "tests/wires/",
)
"""How the ids of long runs begin, whose coverage is not measured: that takes up to twice as long as they do, and other
tests reach the same lines. What costs are asserted on is here as well: the tracer counts our lines, not the reference's."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Spare the garbage collector what stays to the end: a third of the collecting was its search in the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long runs out of the coverage."""
    for item in items:
        if item.nodeid.startswith(UNMEASURED):
            item.add_marker("no_cover")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Leave also what a long run sets up out of it; the mark alone replaces the test."""
    plugin = item.config.pluginmanager.get_plugin("_cov")
    measuring = plugin and plugin.cov_controller
    if not measuring or item.get_closest_marker("no_cover") is None:
        return (yield)
    measuring.pause()
    try:
        return (yield)
    finally:
        measuring.resume()


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


@pytest.fixture(scope="session")
def recorded_files(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Unpack the recorded sessions once, for all tests to read; return their files in the archive's order."""
    archive = shared / "data" / "transcripts.tar.xz"
    if not archive.is_file():
        pytest.skip("needs ../shared/data/transcripts.tar.xz beside the checkout: it is not there")
    folder = tmp_path_factory.mktemp("transcripts")
    with tarfile.open(archive, "r|xz") as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(folder)
        return tuple(folder / member.name for member in packed.getmembers() if member.isfile())


@pytest.fixture(autouse=True)
def homes_on_a_server(request: pytest.FixtureRequest) -> None:
    """Let the homes below the test's folder stand for homes on a server, if the run asks for it."""
    if os.environ.get(HOMES) == "server" and "tmp_path" in request.fixturenames:
        from tests.stores.on_server import serve_below

        serve_below(request.getfixturevalue("tmp_path"))
