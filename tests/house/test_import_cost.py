"""`import undrift` loads nothing heavy: what a command does not need, it does not pay for."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "aiohttp",
    "asyncio",
    "click",
    "httpx",
    "lancedb",
    "mcp",
    "numpy",
    "pandas",
    "psycopg",
    "pyarrow",
    "rich",
    "tiktoken",
    "torch",
)


def heavy_modules_after(statement: str) -> list[str]:
    """Run a statement in a fresh interpreter and return the heavy modules that it has loaded."""
    program = f"import json, sys\n{statement}\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"`{statement}` failed in a fresh interpreter:\n{run.stderr}"
    return json.loads(run.stdout)


def test_importing_undrift_loads_nothing_heavy():
    loaded = heavy_modules_after("import undrift")
    assert not loaded, f"`import undrift` loads {loaded}: import them inside the function that needs them"


def test_touching_every_public_name_loads_nothing_of_the_extras():
    loaded = heavy_modules_after(
        "import undrift\n[getattr(undrift, name) for names in undrift._ROOMS.values() for name in names.split()]"
    )
    assert not loaded, f"the front door loads {loaded}: import them inside the function that needs them"


@pytest.mark.parametrize("module", ["asyncio", "click", "rich"])
def test_a_heavy_import_is_noticed(module: str):
    assert module in heavy_modules_after(f"import {module}")


def test_a_failing_import_is_no_success():
    with pytest.raises(AssertionError, match="failed in a fresh interpreter"):
        heavy_modules_after("import no_such_module")
