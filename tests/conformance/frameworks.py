"""Every outside suite for the integrations, one after the other, each in a process of its own: `make conformance`."""

import subprocess
import sys
from importlib.metadata import version

__all__ = ["PACKAGES", "SUITES", "main"]

PACKAGES = (
    "anthropic",
    "langchain",
    "langchain-tests",
    "langgraph",
    "langgraph-checkpoint-conformance",
    "openai-agents",
    "pydantic-ai-slim",
)
"""What the suites need, besides what is needed to build the archive of openai-agents."""

_PYTEST = ("-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider")
_AWAITED = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
SUITES = {
    "memory tool beside the SDK's own for local files": ("-m", "tests.conformance.memory_tool"),
    "langgraph-checkpoint-conformance on our saver": ("-m", "tests.conformance.checkpoints"),
    "langchain-tests on our store of bytes": (*_PYTEST, *_AWAITED, "tests/conformance/byte_store.py"),
    "openai-agents' session tests on our session": ("-m", "tests.conformance.agents_session"),
    "our own tests of the integrations": (*_PYTEST, *_AWAITED[2:], "tests/integrations"),
}
"""Name to the arguments for Python."""


def main() -> int:
    """Run them all, print the figures of each, and return how many failed."""
    print("with " + ", ".join(f"{name} {version(name)}" for name in PACKAGES), flush=True)
    failed = []
    for name, arguments in SUITES.items():
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, *arguments], check=False).returncode:
            failed.append(name)
    print(
        f"\n{len(SUITES) - len(failed)} of {len(SUITES)} suites passed" + "".join(f"\nfailed: {one}" for one in failed)
    )
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
