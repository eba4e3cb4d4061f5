"""A managed client whose store is lost or cannot be written while it is used: each request still goes out whole."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import undrift
from tests.sdk.loops import CLAUDE, PARTS, claude_loop, provider, text_of
from undrift import Settings

anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic (make setup installs it)")


def overwritten(home: Path) -> None:
    for file in home.rglob("undrift.db*"):
        file.write_bytes(b"no database any more " * 1_000)


@pytest.mark.parametrize("lose", [shutil.rmtree, overwritten], ids=["deleted", "overwritten"])
def test_the_loop_ends_as_it_would_have(lose: Callable[[Path], Any], home: Path, caplog: pytest.LogCaptureFixture):
    with provider(12) as model, caplog.at_level(logging.WARNING, "undrift"):
        client = undrift.wrap(
            anthropic.Anthropic(base_url=model.url, **PARTS), home=home, settings=Settings(budget_tokens=4_000)
        )
        first = client.messages.create(
            model=CLAUDE, max_tokens=9, tools=[], messages=[{"role": "user", "content": "Hello."}]
        )
        lose(home)
        history = claude_loop(client)
        client.close()
    assert first.content
    assert history[-1]["content"][0].text == "Done."
    assert not [seen.refused for seen in model.requests if seen.refused]
    assert all(text_of(f"part_{number}.py") in model.requests[-1].text for number in range(12))  # nothing left
    said = [record.message for record in caplog.records]
    assert said
    assert len(said) == len(set(said)), "a reason is said once"
    assert all(one.startswith("the original request is sent unchanged: Store") for one in said)
