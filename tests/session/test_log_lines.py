"""Ids come from clients: in a line of the log none of them steers a terminal or begins a line of its own."""

import logging
import re
from pathlib import Path

import pytest

import undrift
from undrift import ContextEntry, ContextPruner, Session, Settings
from undrift.integrations.framework_window import FrameworkWindow

HOSTILE = "S\x1b]0;pwned\x07\nFAKE LOG LINE\u202e" + "x" * 300
NAMED_RAW = re.compile(r"""_log\.\w+\(\s*f?["'][^"']*\b(?:session|task|entry) %s""")


def seen(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines, after a look at each."""
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if not line.isprintable() or len(line) > 300] == []
    return lines


def body(words: str) -> dict:
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": words}]}


def test_the_warnings_of_a_session_show_its_id_escaped(tmp_path: Path, caplog):
    with Session.open(HOSTILE, home=tmp_path, settings=Settings(budget_tokens=50)) as session:
        assert session.prepare(body("word " * 400)).warnings
    assert [line for line in seen(caplog) if line.startswith(r"session 'S\x1b]0;pwned\x07\nFAKE")]


def test_an_integration_shows_it_escaped_too(tmp_path: Path, caplog):
    with Session.open(HOSTILE, home=tmp_path, settings=Settings(budget_tokens=50)) as session:
        window = FrameworkWindow(session, "anthropic")
        assert window.prepare(body("word " * 400)) is not None
        assert window.prepare({"messages": 7}) is None
    assert [line for line in seen(caplog) if "goes out as it is" in line]


def test_ids_of_entries_are_escaped(caplog):
    caplog.set_level(logging.DEBUG)
    ids = [f"{number}{HOSTILE[:40]}" for number in range(9)]
    window = [ContextEntry(one, "tool_result", "x" * 400, 100, at_ms) for at_ms, one in enumerate(ids)]
    ContextPruner(Settings(keep_tool_results=2)).prune(window, 10)
    assert [line for line in seen(caplog) if line.startswith("anchored")]


def test_no_line_of_the_log_is_made_with_an_id_as_it_came():
    sources = Path(undrift.__file__).parent.rglob("*.py")
    assert [str(path) for path in sources if NAMED_RAW.search(path.read_text(encoding="utf-8"))] == []
