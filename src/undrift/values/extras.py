"""How a package that undrift can do without is added to the very installation that runs. Pure but for a look at that."""

import shlex
import sys
from importlib.util import find_spec

__all__ = ["command_for"]


def command_for(extra: str) -> str:
    """Return the command that installs an extra where this interpreter finds it; quoted, as shells read brackets.

    Args:
        extra: As in pyproject.toml: ``proxy``, ``mcp``, ``vectors``, ``lancedb``.
    """
    wanted = f"'undrift[{extra}]'"
    if not sys.executable:
        return f"pip install {wanted}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # an environment that uv has made
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"
