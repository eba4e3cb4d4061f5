"""langgraph-checkpoint-conformance on our saver: every capability, none left out."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langgraph.checkpoint.conformance import checkpointer_test, validate

from undrift.integrations.langgraph import UndriftSaver

__all__ = ["main", "report"]


async def report(folder: Path) -> Any:
    """Run the whole suite, each capability on a home of its own."""
    homes = (folder / f"home-{number}" for number in range(100))

    async def saver() -> AsyncIterator[UndriftSaver]:
        async with UndriftSaver(next(homes)) as made:
            yield made

    return await validate(checkpointer_test(name="UndriftSaver")(saver))


def main() -> int:
    """Print the figures; return 1 where a test fails or a capability is missing."""
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(report(Path(folder))).results
    passed = sum(one.tests_passed for one in results.values())
    failures = [failure for one in results.values() for failure in one.failures]
    missing = [name for name, one in results.items() if not one.detected]
    print(
        f"checkpoints: {len(results) - len(missing)} of {len(results)} capabilities, {passed} tests passed, "
        f"{len(failures)} failed"
    )
    print("\n".join([*failures, *(f"missing: {name}" for name in missing)]))
    return int(bool(failures or missing))


if __name__ == "__main__":
    sys.exit(main())
