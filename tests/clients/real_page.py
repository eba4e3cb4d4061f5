"""The real clients behind a running gateway, and its page in a real browser: a block is brought back, and the next upstream request has it.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.real_clients import (
    Place,
    claude_place,
    codex_place,
    codex_program,
    codex_settings,
    long_reading,
    program,
)
from tests.proxy.builders import gateway
from tests.web.driven import driven_browser
from undrift.settings import Settings
from undrift.testing import Say, ScriptedProvider, Shell

BACK = "Brought back by the user"
CHECKED = {"claude": "Exactly as it was sent", "codex": "As it was sent, all but 1 block"}
"""Codex does not record one block of its requests."""

FILES = 7
BUDGET_TOKENS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driven_browser() as found:
        yield found


def brings_back(page: Any) -> None:
    """Open the newest session, and bring back the first result that left."""
    page.locator("main h2 a").first.click()
    page.get_by_role("link", name="Removed").first.click()
    row = page.locator("main li").filter(has_text="result of").first
    row.get_by_role("button", name="Bring back").click()
    page.get_by_text("Waits for the next prompt").wait_for()


def is_checked(page: Any) -> str:
    """Open the newest turn; return what the page says of its prompt."""
    page.get_by_role("link", name="Timeline").first.click()
    page.get_by_role("slider").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.locator("main").get_by_text("as it was sent").or_(page.get_by_text("blocks")).first.wait_for()
    text: str = page.locator("main").inner_text()
    return text


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_block_that_left_is_in_the_next_request_of_the_real_client(
    tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch, client: str
):
    run = program("claude", "node_modules", ".bin", "claude") if client == "claude" else codex_program()
    with ScriptedProvider() as provider:
        there = claude_place(tmp_path, provider) if client == "claude" else codex_place(tmp_path, provider)
        monkeypatch.setenv("HOME", str(there.home))
        home = there.home / ".undrift"
        settings = Settings(home=str(home), budget_tokens=BUDGET_TOKENS)
        with gateway(home, provider.url, settings, shares=True) as server:
            work(there, provider, client)
            provider.say(Say("All read."), Say("I go on."))
            again = start(there, run, client, server.base_urls)
            page = browser.new_page()
            page.set_default_timeout(20_000)
            page.goto(server.page_url)
            brings_back(page)
            assert BACK not in provider.of_kind("main")[-1].text
            again()
            assert BACK in provider.of_kind("main")[-1].text
            page.get_by_text("In the prompt since then").wait_for()
            shown = is_checked(page)
            assert CHECKED[client] in shown, shown[:400]
            page.close()


def work(there: Place, provider: ScriptedProvider, client: str) -> None:
    """Have so many files read, each of about 13,000 tokens; Codex reads with its shell, which cuts a long output."""
    if client == "claude":
        long_reading(there, provider, FILES)
        return
    for number in range(4 * FILES):
        lines = [f'    quoted("{number}_{line}", "{line}")' for line in range(300)]
        (there.project / f"file_{number}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
        provider.say(Shell(f"cat file_{number}.py"))


def start(there: Place, run: Path, client: str, urls: Any) -> Any:
    """Let the client read all files through the gateway; return what lets it go on in the same session."""
    if client == "claude":
        there.environment["ANTHROPIC_BASE_URL"] = urls["anthropic"]
        words = ("--allowedTools", "Read", "--output-format", "json")
        session = json.loads(there.run(run, "-p", "Read all files.", *words))["session_id"]
        return lambda: there.run(run, "-p", "--resume", session, "go on", *words)
    config = there.home / ".codex" / "config.toml"
    config.write_text(codex_settings(urls["openai"], limit_tokens=900_000), encoding="utf-8")
    bypass = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")
    there.run(run, "exec", *bypass, "Read all files.")
    return lambda: there.run(run, "exec", *bypass, "resume", "--last", "go on")
