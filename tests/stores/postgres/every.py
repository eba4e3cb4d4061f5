"""Run every test that takes a store over real PostgreSQL servers, at full length: ``python -m tests.stores.postgres.every [VERSION ...]``.

The behaviour suite names its engine. All other tests take a folder; `UNDRIFT_TEST_HOMES` lets it be that of a home on a server.
"""

import os
import subprocess
import sys

from tests.conftest import HOMES
from tests.postgres_server import postgres_binaries
from tests.stores.on_server import VERSION

SUITES = (
    [
        "tests/stores/contract",
        "tests/stores/postgres",
        "tests/stores/moving",
        "tests/session/test_any_store.py",
        "-k",
        "postgres or server",
    ],
)
"""Named by their engine."""
HOMES_OF = ("tests/wires", "tests/memory", "tests/facts", "tests/tasks")
"""State machines, the wires' machines and what stands on memories, facts and tasks, whose homes are then on the server."""
OF_A_FILE = ("tests/memory/test_scopes.py", "tests/facts/test_sqlite.py", "tests/tasks/test_archive.py")
"""They open or damage the file of a home themselves."""


def main(versions: list[str]) -> int:
    """Run all suites over each version; return how many runs failed."""
    there = postgres_binaries()
    failed = 0
    for version in versions or list(there):
        if version not in there:
            print(f"PostgreSQL {version}: SKIPPED, it is not installed", flush=True)
            continue
        own = {**os.environ, VERSION: version, "UNDRIFT_TEST_LONG": "1"}
        runs = [(suite, own) for suite in SUITES] + [
            ([*HOMES_OF, *(f"--ignore={one}" for one in OF_A_FILE)], {**own, HOMES: "server", "UNDRIFT_TEST_LONG": "0"})
        ]
        for arguments, variables in runs:
            print(f"PostgreSQL {version}: pytest {' '.join(arguments)}", flush=True)
            failed += (
                subprocess.run(
                    [sys.executable, "-m", "pytest", "-q", *arguments], env=variables, check=False
                ).returncode
                != 0
            )
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
