"""What is known of each client, cell by cell, and how: ``python -m tests.clients.grades --write`` writes docs/clients/table.md.

Law: a cell is graded by what has been done, not by what should work. ``recorded`` names the test that runs the program
of that version; ``source`` names what was read, at which version or commit; all else is ``not tried``.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["COLUMNS", "Cell", "Client", "GRADED", "Grade", "PAGE", "counts", "main", "page"]

Grade = Literal["recorded", "source", "not tried"]

PAGE = Path(__file__).parents[2] / "docs" / "clients" / "table.md"
COLUMNS: Mapping[str, str] = {
    "recordings": "recordings read",
    "hooks": "hooks installed",
    "restore": "restore after a compaction",
    "gateway": "gateway",
    "mcp": "MCP server",
    "plugin": "plugin",
    "guard": "guard of rules",
}
"""The name of a cell, and its heading."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Args:
        test: ``file::test`` that proves a recorded one; with ``programs.py`` a program of `tests.clients.matrix`.
        fixture: The format whose fixture was recorded, for recordings.
        source: What was read, with its version or commit.
        says: What was found there, if it is that the client has no such thing.
    """

    grade: Grade = "not tried"
    test: str = ""
    fixture: str = ""
    source: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """One row. `version`: the release that was run; empty if none was. `pin`: its variable in the Makefile."""

    title: str
    version: str = ""
    pin: str = ""
    cells: Mapping[str, Cell] = field(default_factory=dict)

    def cell(self, column: str) -> Cell:
        return self.cells.get(column, Cell())

    def shown(self, column: str) -> str:
        """Return the text of a cell."""
        cell = self.cell(column)
        if cell.grade == "recorded":
            return f"recorded ({self.version})"
        if cell.grade == "source":
            return f"{cell.says or 'read'} ({cell.source})"
        return cell.grade


def _ran(test: str) -> Cell:
    return Cell("recorded", test=f"tests/clients/{test}")


def _recording(name: str) -> Cell:
    return Cell(
        "recorded",
        test=f"tests/clients/real_recordings.py::test_a_session_of_today_is_read_as_the_fixture_is[{name}]",
        fixture=name,
    )


def _managed(name: str) -> Cell:
    return _ran(f"real_recordings.py::test_a_client_with_the_gateways_address_in_its_settings_is_managed[{name}]")


def _plain(name: str) -> Cell:
    return _ran(f"real_gateway.py::test_a_client_that_is_started_plainly_goes_through_the_gateway[{name}]")


def _without(source: str) -> Cell:
    return Cell("source", source=source, says="no hook after it")


def _further(title: str, version: str, pin: str, name: str) -> Client:
    """A client whose recordings are read, and which takes the gateway's address in its settings."""
    return Client(title, version, pin, {"recordings": _recording(name), "gateway": _managed(name)})


GRADED: Sequence[Client] = (
    Client("Claude Code", "2.1.330", "CLAUDE_CODE", {
        "recordings": _recording("claude-code"),
        "hooks": _ran("real_setup.py::test_claude_code_after_setup_gets_its_work_back_and_recalls_without_a_question"),
        "restore": _ran("real_clients.py::test_claude_code_gets_back_what_its_compaction_dropped"),
        "gateway": _plain("claude"),
        "mcp": _ran("real_mcp.py::test_claude_code_lists_our_tools_and_calls_them"),
        "plugin": _ran("real_plugins.py::test_the_plugin_gives_claude_code_back_what_its_compaction_dropped"),
        "guard": _ran("real_rule_guard.py::test_claude_code_hears_the_rule_before_the_call_or_is_refused_where_no_person_can_be_asked"),
    }),
    Client("Codex", "0.169.0", "CODEX", {
        "recordings": _recording("codex"),
        "hooks": _ran("real_setup.py::test_codex_after_setup_gets_its_work_back_and_recalls_in_its_sandbox"),
        "restore": _ran("real_clients.py::test_codex_gets_back_what_its_compaction_dropped"),
        "gateway": _plain("codex"),
        "mcp": _ran("real_mcp.py::test_codex_lists_our_tools_and_calls_them"),
        "plugin": _ran("real_plugins.py::test_the_plugin_gives_codex_back_what_its_compaction_dropped"),
        "guard": _ran("real_rule_guard.py::test_codex_hears_an_added_rule_beside_the_call"),
    }),
    Client("Gemini CLI", "0.61.0", "GEMINI", {
        "recordings": _recording("gemini-cli"),
        "restore": _without("npm @google/gemini-cli 0.61.0"),
        "gateway": _plain("gemini"),
        "mcp": _ran("real_mcp.py::test_gemini_cli_connects_to_our_server"),
    }),
    Client("opencode", "1.18.33", "OPENCODE", {
        "recordings": _recording("opencode"),
        "gateway": _plain("opencode-anthropic"),
        "mcp": _ran("real_mcp.py::test_opencode_connects_to_our_server_in_both_forms_of_its_list"),
    }),
    Client("aider", "0.86.2", "AIDER", {"recordings": _recording("aider"), "gateway": _plain("aider")}),
    Client("mini-swe-agent", "2.4.6", "MINI_SWE_AGENT", {"recordings": _recording("mini-swe-agent"), "gateway": _plain("mini")}),
    _further("GitHub Copilot CLI", "1.0.102", "COPILOT_CLI", "copilot-cli"),
    _further("pi", "0.73.1", "PI", "pi"),
    _further("Qwen Code", "0.24.4", "QWEN_CODE", "qwen-code"),
    _further("Kimi Code", "2.1.0", "KIMI_CODE", "kimi-code"),
    _further("Cline CLI", "3.0.65", "CLINE", "cline"),
    _further("Continue CLI", "1.5.47", "CONTINUE", "continue"),
    _further("OpenHands CLI", "1.16.0", "OPENHANDS", "openhands"),
    Client("SWE-agent", cells={
        "recordings": Cell("source", source="github.com/SWE-agent/SWE-agent at 3ea751c, trajectories/demonstrations"),
    }),
    Client("any client of chat completions", cells={
        "recordings": Cell("source", source="github.com/sierra-research/tau-bench at 59a200c, historical_trajectories"),
    }),
)  # fmt: skip
"""Every client that undrift says something about."""


def counts() -> Mapping[str, int]:
    """Return how many cells have each grade; of those read in a source, those that say that there is nothing apart."""
    cells = [client.cell(column) for client in GRADED for column in COLUMNS]
    return Counter(f"{cell.grade}: {cell.says}" if cell.says else cell.grade for cell in cells)


def page() -> str:
    """Return docs/clients/table.md."""
    found = counts()
    head = f"| client | {' | '.join(COLUMNS.values())} |\n|{' --- |' * (len(COLUMNS) + 1)}\n"
    rows = "".join(
        f"| {client.title} | {' | '.join(client.shown(column) for column in COLUMNS)} |\n" for client in GRADED
    )
    proofs = "".join(
        f"| {client.title} | {heading} | `{client.cell(column).test}` |\n"
        for client in GRADED
        for column, heading in COLUMNS.items()
        if client.cell(column).test
    )
    return f"""# What was tried with which client

A cell counts by what has been done, not by what should work. `python -m tests.clients.grades --write` writes this page.

- **recorded**: a test ran the real program of this version, without a person, against a [scripted provider](README.md#tried-with).
- **read**: its source, or recordings that others have published, were read at this version or commit. The program was not run.
- **no hook after it**: that reading found no hook of the client that runs after its compaction.
- **not tried**: nothing is promised.

{head}{rows}
Cells: {found["recorded"]} recorded, {found["source"]} read, {found["source: no hook after it"]} where the client has no hook for it, {found["not tried"]} not tried.

## The proofs
`make clients` installs the programs and runs these tests. The sessions that they recorded are fixtures in `tests/transcripts/recorded`, with
program and version in `versions.json`. Texts of the clients themselves, such as instructions, are masked there. `make recordings` records
them again. A compaction is in those of Claude Code, Copilot CLI, Qwen Code and Kimi Code.

| client | cell | test |
| --- | --- | --- |
{proofs}"""


def main(words: Sequence[str]) -> int:
    """Print the counts; with ``--write`` write the page. Return 1 if it is not as it should be."""
    print(*(f"{grade}: {number}" for grade, number in sorted(counts().items())), sep="\n")
    if "--write" in words:
        PAGE.write_text(page(), encoding="utf-8")
    return int(PAGE.read_text(encoding="utf-8") != page())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
