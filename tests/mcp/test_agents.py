"""Several agents, each with a server in a process of its own, on one home; `make agents` is the same at full size."""

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from tests.proof.agents import operate, problems


def test_what_agents_write_side_by_side_is_there_exactly_once(tmp_path: Path):
    found = operate(tmp_path, agents=3, count=12)
    assert problems(tmp_path, found) == []
    assert len(found.took_ms) == 36
