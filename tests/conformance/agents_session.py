"""The session tests that openai-agents ships in its source archive, with our session in the place of the SDK's own.

The archive of the installed version is fetched and its `tests/memory` are run. What tests the inside of the SDK's class
(its connections, locks and tables) says nothing of ours and is left out, by name and with the reason.
"""

import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

__all__ = ["NOT_OURS", "PATCH", "main"]

_FILES = ("tests/memory/test_session.py", "tests/memory/test_session_limit.py")

NOT_OURS = {
    "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "a function of the SDK, no session",
    "test_sqlite_session_close_closes_worker_thread_connections": "the connections of the SDK's class",
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": "the connections of the SDK's class",
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": "the connections of the SDK's class",
    "test_sqlite_session_keeps_connections_of_live_worker_threads": "the connections of the SDK's class",
    "test_sqlite_session_closed_rejects_empty_add_items": "the words of the SDK's own error",
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": "writes into the SDK's tables",
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": "writes into the SDK's tables",
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": "writes into the SDK's tables",
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": "writes into the SDK's tables",
    "test_sqlite_session_file_lock_is_shared_across_instances": "the locks of the SDK's class",
    "test_sqlite_session_failed_add_items_releases_write_lock": "looks into the SDK's file with sqlite3",
    "test_sqlite_session_failed_clear_session_rolls_back": "drops the SDK's tables",
    "test_sqlite_session_failed_pop_item_releases_write_lock": "drops the SDK's tables",
    "test_sqlite_session_rollback_failure_evicts_connection": "the connections of the SDK's class",
    "test_sqlite_session_close_retries_quarantined_connection": "the connections of the SDK's class",
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": "the connections of the SDK's class",
}
"""Test to why it is left out."""

PATCH = '''"""Puts undrift's session in the place of the SDK's own."""

import tempfile
from pathlib import Path

import agents
from undrift import Settings
from undrift.integrations.openai_agents import UndriftSession


def session(session_id, db_path=":memory:", session_settings=None, **_):
    home = tempfile.mkdtemp() if str(db_path) == ":memory:" else Path(f"{db_path}.home")
    return UndriftSession(session_id, home=home, settings=Settings(), session_settings=session_settings)


agents.SQLiteSession = session
'''


def source(folder: Path) -> Path:
    """Fetch and unpack the archive of the installed version; return its folder."""
    name = f"openai-agents=={version('openai-agents')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-binary", ":all:", "--dest", str(folder), name], check=True)
    (archive,) = folder.glob("openai_agents-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(folder)
    return folder / archive.name.removesuffix(".tar.gz")


def main(folder: Path) -> int:
    """Run the tests; return pytest's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    root = source(folder.resolve())
    (root / "undrift_session.py").write_text(PATCH, encoding="utf-8")
    left_out = [f"--deselect={file}::{name}" for file in _FILES for name in NOT_OURS]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "undrift_session",
        "-p",
        "no:cacheprovider",
        *left_out,
        *_FILES,
    ]
    print(f"left out, {len(NOT_OURS)} tests of the SDK's own class:")
    for name, reason in NOT_OURS.items():
        print(f"  {name}: {reason}")
    return subprocess.run(command, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/conformance/openai-agents")))
