"""The figures of learned statements: what counts as right, as open and as wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.lasting import LastingTally, LearnedText, fits, interval, main, tallied
from tests.cli.test_memory_learn import CONVENTION, RULE, session


def test_a_statement_fits_a_label_that_holds_it_or_most_of_its_words():
    assert fits("Fine. Never push to main!", "never push to main")
    assert fits("never push it to the main branch", "Never push to the main branch.")
    assert not fits("never push to main", "always push to production first")
    assert not fits("", "never")


def test_a_label_that_is_not_sure_is_neither_right_nor_wrong():
    tally = LastingTally()
    labels: list[dict[str, Any]] = [
        {"quote": "we use pnpm", "sure": False},
        {"quote": "never push", "sure": True},
        {"quote": "a b c d"},
    ]
    learned = [LearnedText(text, "rule", "x") for text in ("We use pnpm.", "never push", "the port is wrong")]
    tallied(learned, labels, tally)
    assert (tally.right, tally.open, [one.text for one in tally.wrong]) == (1, 1, ["the port is wrong"])
    assert (tally.found, tally.missed) == (1, ["a b c d"])
    assert [round(one, 2) for one in interval(1, 2)] == [0.09, 0.91]


def test_a_label_file_of_sessions_and_one_of_messages_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(session(tmp_path))
    rows = [
        {"session": path, "line": 3, "quote": RULE, "sure": True},
        {"session": "absent", "quote": "x", "sure": True},
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main([str(labels), "--show"]) == 0
    shown = capsys.readouterr().out
    assert "precision 1/2 0.500" in shown
    assert "recall    1/1 1.000" in shown
    assert "not read: absent" in shown
    assert f"wrong  decision (we use): {CONVENTION}" in shown
    labels.write_text(json.dumps({"message": f"Fine. {RULE}", "lasting": [RULE, "and this"]}) + "\n", encoding="utf-8")
    main([str(labels)])
    assert "recall    1/2 0.500" in capsys.readouterr().out
