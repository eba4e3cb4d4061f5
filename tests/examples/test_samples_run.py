"""The samples of Python in the pages that need something before them run with it: a session, a request, a client, an answer."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples.running import LIBRARY, THREADS, run, samples
from undrift import Session, Settings
from undrift.testing import Say, ScriptedProvider

ROOT = Path(__file__).parents[2]
RUN_ELSEWHERE = {
    "README.md": "test_pages.py",
    LIBRARY: "test_pages.py",
    THREADS: "test_pages.py",
    "docs/guides/agent.md": "test_pages.py",
    "docs/facts.md": "tests/house/test_figures.py",
    "docs/integrations.md": "needs five frameworks: tests/integrations/test_examples.py runs their programs",
    "docs/telemetry.md": "below: its samples set what a process has once",
    "docs/hooks.md": "needs a client at the three dots: tests/clients run it",
}
"""Pages whose samples another test runs, and which."""
BODY: dict[str, Any] = {
    "model": "claude-opus-4-5",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Fix the login."}],
}
OUTPUT = """BEGIN_DISPATCH_RESULT
{"task_id": "basket", "status": "completed", "summary": "Added the basket."}
END_DISPATCH_RESULT"""
AN_ID = "m0123456789abcdef"
HERE = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if "\n```python\n" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("page", [page for page in HERE if page not in RUN_ELSEWHERE])
def test_the_samples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anthropic import Anthropic

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNDRIFT_HOME", str(tmp_path / "home"))
    with (
        Session.open("run-1", settings=Settings(budget_tokens=60_000)) as session,
        ScriptedProvider([Say("Done.")], without_tools=True) as provider,
    ):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        known = {
            "session": session,
            "body": BODY,
            "messages": BODY["messages"],
            "client": Anthropic(api_key="none"),
            "output": OUTPUT,
        }
        for sample in samples(page):
            code = sample.code
            if AN_ID in code:  # a reader's own id: here that of a statement which holds, for each line a new one
                for number in range(code.count(AN_ID)):
                    entry = session.remember(f"Service {number} listens on port {8_000 + number}.", trust="user")
                    code = code.replace(AN_ID, str(entry.id), 1)
            exec(compile(code, sample.name, "exec"), {"__name__": "__main__", **known})


def test_the_samples_of_telemetry_run(tmp_path: Path) -> None:
    for number, sample in enumerate(samples("docs/telemetry.md")):
        program = tmp_path / f"sample_{number}.py"
        program.write_text(sample.code, encoding="utf-8")
        assert run([str(program)], tmp_path).stderr == ""


def test_every_page_with_samples_is_run_somewhere() -> None:
    assert set(RUN_ELSEWHERE) <= set(HERE)
    text = (ROOT / "tests" / "house" / "test_figures.py").read_text(encoding="utf-8")
    assert re.search(r'"docs" / "facts\.md"', text)
