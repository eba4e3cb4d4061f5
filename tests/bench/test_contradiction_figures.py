"""The figures of contradiction: what is counted, and the bound of an interval."""

import json
from pathlib import Path

import pytest

from bench.contradiction import (
    CHANGES,
    UPDATES,
    Pair,
    changes_table,
    count,
    main,
    read_changes,
    read_pairs,
    read_sick,
    read_updates,
    table,
    updates,
    wilson_lower,
)
from bench.contradiction import PAIRS as LABELLED

PAIRS = [
    Pair("c1", "Use PostgreSQL", "Use SQLite", "contradiction", "database", "dev"),
    Pair("c2", "The lamp is dim.", "The lamp is bright.", "contradiction", "other", "dev"),
    Pair("u1", "Port 80 is open.", "The user likes tea.", "unrelated", "topic", "dev"),
    Pair("u2", "The job runs at 2:00.", "The job runs at 3:00.", "unrelated", "mislabelled", "dev"),
]


@pytest.mark.parametrize(("hits", "of", "bound"), [(0, 0, 0.0), (0, 10, 0.0), (10, 10, 0.7225), (90, 100, 0.8256)])
def test_the_lower_bound_of_wilson(hits: int, of: int, bound: float) -> None:
    assert wilson_lower(hits, of) == pytest.approx(bound, abs=5e-5)


def test_what_is_found_rightly_wrongly_and_not_at_all_is_counted() -> None:
    tally = count(PAIRS)["all"]
    assert (tally.hits, tally.false_alarms, tally.of) == (1, 1, 2)
    assert (tally.precision, tally.recall) == (0.5, 0.5)
    assert [note.split()[:2] for note in tally.notes] == [["missed", "c2:"], ["wrong", "u2"]]


def test_each_rule_has_a_row_and_so_has_its_family() -> None:
    rows = table(PAIRS).splitlines()
    assert sum("rules of value classes" in row for row in rows) == 1
    assert any(row.startswith("| `value:database` | 1 of 1 |") for row in rows)
    assert any(row.startswith("| `value:clock` | 0 of 1 |") for row in rows)


def test_the_files_are_read(tmp_path: Path) -> None:
    pairs, sick = tmp_path / "pairs.jsonl", tmp_path / "sick.txt"
    pairs.write_text(json.dumps({name: getattr(PAIRS[0], name) for name in Pair.__dataclass_fields__}))
    sick.write_text("pair_ID\tA\tB\tscore\tjudgment\n1\tA man sings\tA man does not sing\t4\tCONTRADICTION\n")
    assert read_pairs(pairs) == PAIRS[:1]
    assert read_sick(sick) == [Pair("1", "A man sings", "A man does not sing", "contradiction", "sick", "")]


def test_the_update_set_asks_for_what_is_true_now() -> None:
    groups = read_updates(UPDATES)
    assert len(groups) >= 80
    assert {group.half for group in groups} == {"dev", "held"}
    assert all(group.query.endswith("?") and len(group.distractors) == 2 for group in groups)
    assert "of 5 updates are found" in updates(groups[:5])


def test_everything_is_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sick = tmp_path / "sick.txt"
    sick.write_text("pair_ID\tA\tB\tscore\tjudgment\n1\tA man sings\tA man does not sing\t4\tCONTRADICTION\n")
    assert main(["--misses", "--sick", str(sick)]) == 0
    shown = capsys.readouterr().out
    assert "held: " in shown
    assert "SICK: 1 pairs, 1 contradictions" in shown


def test_the_page_gives_the_figures_that_are_printed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "contradiction.md").read_text(encoding="utf-8")
    printed = table([pair for pair in read_pairs(LABELLED) if pair.half == "held"]).splitlines()[2:]
    assert [row for row in printed if "`" not in row and row not in page] == []
    aside = [pair for pair in read_changes(CHANGES["more"]) if pair.half == "held"]
    _, right, precision, _, recall, _ = (cell.strip() for cell in changes_table(aside).splitlines()[3].split("|")[1:])
    assert f"| more, the third set aside | {right} | {precision} | {recall} |" in page
