"""The figures of README and the pages are those that commands print, or, of recordings that cannot be shipped, those of docs/figures.json."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.readme import PARTS, WRITTEN, measured_on, with_parts
from bench.readme import main as readme
from tests.cli.builders import long_session, undrift, written
from tests.report.builders import compacted_session
from undrift.bench.restore_report import restore_tables

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIGURES_PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
RESTORE = (ROOT / "docs" / "restore.md").read_text(encoding="utf-8")
FIGURES: dict[str, Any] = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))
NARROW: dict[str, str | None] = {"COLUMNS": "80"}
SHIPPED = ROOT / "examples" / "compacted-session.jsonl"
NEEDS = {"proxy": "proxy", "wrap": "proxy", "mcp": "mcp", "search": "vectors", "remember": "vectors"}
"""Commands that need more than the base install, and the extra that each needs."""


def flat(text: str) -> str:
    return " ".join(text.split())


def block_with(words: str, page: str) -> list[str]:
    """The lines of a page's fenced block that holds the words, without what was left out at an ellipsis."""
    (block,) = [block for block in re.findall(r"^```\w*\n(.*?)^```$", page, re.M | re.S) if words in block]
    return [line for line in (flat(line).rstrip("… ") for line in block.splitlines()) if line]


def not_printed(lines: list[str], printed: str) -> list[str]:
    """The lines with which no line that was printed begins."""
    told = [flat(line) for line in printed.splitlines()]
    return [line for line in lines if not any(one.startswith(line) for one in told)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make demo` prints, its home elsewhere."""
    home = tmp_path_factory.mktemp("demo")
    budget = re.search(r"^DEMO_BUDGET \?= (\d+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert budget
    session = ROOT / "examples" / "demo-session.jsonl"
    result = undrift("replay", session, "--budget", budget[1], "--home", home, env=NARROW)
    assert result.exit_code == 0, result.output
    return result.stdout.replace(str(home), "build/demo")


def test_the_replay_in_the_page_of_figures_is_what_make_demo_prints(demo: str) -> None:
    lines = block_with("everything sent", FIGURES_PAGE)
    assert len(lines) >= 4
    assert not not_printed(lines, demo), f"docs/figures.md must say what `make demo` prints:\n{demo}"


def test_the_session_that_autopsy_reads_is_the_one_of_the_tests(tmp_path: Path) -> None:
    written = compacted_session().written(tmp_path / "session.jsonl")
    assert SHIPPED.read_bytes() == written.read_bytes(), "copy what tests.report.builders.compacted_session() writes"


def test_a_line_that_is_not_printed_is_found() -> None:
    assert not_printed(["a 1", "b 2"], " a   1  more\nb 3\n") == ["b 2"]


@pytest.mark.parametrize("page", WRITTEN)
def test_what_was_measured_stands_in_each_page_as_in_the_figures(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert with_parts(text, FIGURES, page) == text, "run `make figures`"


def test_every_measured_part_stands_in_the_page_of_figures_and_the_one_that_matters_in_readme() -> None:
    assert re.findall("<!-- figures: ([a-z]+) -->", README) == ["restore"]
    assert sorted(re.findall("<!-- figures: ([a-z]+) -->", FIGURES_PAGE)) == sorted(PARTS)
    assert "`make figures DIR=FOLDER`" in README, "the command that measures the table again"


@pytest.mark.parametrize("page", [README, FIGURES_PAGE], ids=["README.md", "figures.md"])
def test_every_figure_says_of_which_kind_it_is(page: str) -> None:
    """A table or a block with figures stands below a line that says “Printed” or “Measured”; settings are no figures."""
    parts = re.split(r"^## ", page, flags=re.M)[1:]
    found = [part.splitlines()[0] for part in parts if re.search(r"\d%|\$\d|\d,\d{3},\d{3}|\| \.\d", part)]
    assert found == [
        part.splitlines()[0] for part in parts if re.search(r"^\*\*Measured\*\* |\*\*Printed\*\* by `", part, re.M)
    ]


def test_a_reader_gets_the_same_tables_of_recordings_of_his_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(SHIPPED, tmp_path)
    last = "It is value_3_1 = compute_part_3_1(source, target)."
    written(tmp_path / "long.jsonl", long_session(64, characters=800, last=last))
    told = measured_on([tmp_path])
    text = "\n".join(part(told) for part in PARTS.values())
    assert "Claude Code: 1 compactions, 1 sessions, 1 repositories" in text
    assert f"by `undrift bench restore {tmp_path.name}`" in text
    assert re.search(r"^\| half of the session \| \.\d{3} ", text, re.M)
    assert re.search(r"^\| as recorded \| 0 of 2 \| 1\.00 \| ", text, re.M)
    assert readme([str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err


def test_recordings_without_a_compaction_or_a_session_give_a_sentence() -> None:
    empty = {"cost": {"rows": []}, "restore": {"clients": {}}, "windows": {"rows": []}}
    assert [part(empty) for part in PARTS.values()] == [
        "No session was priced.",
        "No session was compacted after 15 calls or more.",
        "No session was measured.",
    ]


def test_what_independent_runs_gave_stands_beside_it() -> None:
    assert FIGURES["independent"]["date"] in README
    assert FIGURES["independent"]["date"] in FIGURES_PAGE
    for runs in FIGURES["independent"]["clients"].values():
        for run in runs:
            assert "{identifiers:.2f} / {lines:.2f} (n={compactions})".format(**run) in flat(RESTORE)


def test_the_page_of_restore_has_the_same_figures() -> None:
    assert with_parts(RESTORE, FIGURES) == RESTORE, "run `make figures`"
    assert restore_tables(FIGURES["restore"]) in RESTORE
    said = flat(RESTORE)
    for client in FIGURES["outside"]["clients"].values():
        shares = ["{macro:.2f} ({low:.2f} to {high:.2f})".format(**client[kind]) for kind in ("identifiers", "lines")]
        assert f"{' and '.join(shares)} for the {client['compactions']}" in said


def test_each_figure_says_how_when_and_on_what_it_was_measured() -> None:
    for name, figure in FIGURES.items():
        assert figure["command"], name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", figure["date"]), name
    for name in ("cost", "restore", "windows"):
        for recordings in FIGURES[name]["recordings"]:
            assert re.fullmatch("[0-9a-f]{64}", recordings["manifest_sha256"]), name


def test_the_first_line_that_installs_brings_all_that_the_guides_need() -> None:
    """README's line and that of the first page name the extra `all`: a search by meaning must not be missing without a word."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (everything,) = project["optional-dependencies"]["all"]
    brought = set(everything.removeprefix("undrift[").removesuffix("]").split(","))
    assert set(NEEDS.values()) <= brought <= set(project["optional-dependencies"])
    for page in (README, START):
        (line,) = re.findall(r"<!-- start: try -->\n```sh\n(.*)\n```", page)
        assert "[all]" in line
        assert line.endswith(" undrift autopsy")


def test_readme_is_short() -> None:
    """`make site-test` measures its height: three screens."""
    assert len(README.splitlines()) <= 140


def test_the_example_on_the_page_of_facts_prints_its_last_lines(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "facts.md").read_text(encoding="utf-8")
    example = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0]
    exec(example, {})
    assert [f"# {line}" for line in capsys.readouterr().out.splitlines()] == re.findall(r"^# .*", example, re.M)
