"""The coefficients of the estimate come from data: other exact counts give other coefficients, in a module of the same shape."""

import re
import runpy
from pathlib import Path

import pytest

from bench.fit_tokens import Counted, fit, main
from bench.token_shape import features, module_text
from bench.token_texts import Entry, entries_of
from undrift.core.text import token_weights
from undrift.core.text.tokens import estimate

WORDS = (
    "the",
    "window",
    "of",
    "a",
    "long",
    "session",
    "fills",
    "up",
    "and",
    "something",
    "has",
    "to",
    "leave",
    "before",
)


def text(number: int, words: int = 120) -> str:
    return " ".join(WORDS[(number * 7 + place * place) % len(WORDS)] for place in range(words)) + "."


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Make a folder of twelve packages with a page of prose and a module each."""
    for number in range(12):
        folder = tmp_path / "packages" / f"package{number}"
        folder.mkdir(parents=True)
        (folder / "README.md").write_text(text(number), encoding="utf-8")
        lines = [f"def part_{place}(value):\n    return value + {place * number}\n" for place in range(12)]
        (folder / "module.py").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "packages"


def test_the_same_folders_give_the_same_entries_of_named_packages(packages):
    entries = entries_of([packages])
    assert entries == entries_of([packages])
    assert {"Python", "prose", "base64", "log"} <= {entry.kind for entry in entries}
    assert {entry.package for entry in entries if entry.kind == "Python"} == {f"package{n}" for n in range(12)}
    assert all(200 <= len(entry.text) <= 20_000 for entry in entries)


def test_the_fit_follows_the_exact_counts():
    counted = [Counted(Entry("prose", "p", text(n)), len(text(n)) // 5) for n in range(20)]
    numbers = fit(counted)
    for one in counted:
        assert sum(a * b for a, b in zip(features(one.entry.text), numbers, strict=True)) / 1000 == pytest.approx(
            one.exact, rel=0.05
        )
    doubled = fit([Counted(one.entry, 2 * one.exact) for one in counted])
    assert doubled[0] == pytest.approx(2 * numbers[0], abs=3)


def test_the_script_judges_on_other_packages_and_writes_a_module_of_the_same_shape(packages, tmp_path, capsys):
    written = tmp_path / "weights.py"
    assert main([str(packages), "--write", str(written)], exact=lambda text: len(text) // 5) == 0
    shown = capsys.readouterr().out
    assert "Fitted on:" in shown
    assert "Held out:" in shown
    assert shown.count("| prose |") <= 2
    found = runpy.run_path(str(written))
    for name in token_weights.__all__:
        assert [row[:-1] for row in found[name]] == [row[:-1] for row in getattr(token_weights, name)]
    assert found["CLASS_RUNS"] != token_weights.CLASS_RUNS


def test_the_coefficients_in_use_can_be_judged_alone_and_on_all(packages, tmp_path, capsys):
    arguments = [str(packages), "--judge", "--characters", "9000", "--write", str(tmp_path / "unwritten.py")]
    assert main(arguments, exact=estimate) == 0
    shown = capsys.readouterr().out
    assert "of 13 packages\n" in shown  # with what is made up
    assert "Fitted on" not in shown
    assert "| +0.0 % | 0.0 % | 0.0 % |" in shown  # the estimate is right about itself
    assert not (tmp_path / "unwritten.py").exists()


def test_what_is_held_out_is_judged_and_not_fitted(packages, tmp_path, capsys):
    apart = tmp_path / "apart"
    for name in ("stranger", "package3"):  # the second is fitted on already
        (apart / name).mkdir(parents=True)
        (apart / name / "README.md").write_text(text(99), encoding="utf-8")
    arguments = [str(packages), "--held-out", str(apart)]
    assert main(arguments, exact=lambda text: len(text) // 5) == 0
    assert re.search(r"entries of 13 packages to fit, \d+ of 2 held out", capsys.readouterr().out)


def test_the_language_of_a_page_is_told_by_its_markup_or_its_place(tmp_path):
    page = "<html{}><body><p>" + text(1) + "</p></body></html>"
    for place, mark in (
        ("a/x.html", ' lang="pl-PL"'),
        ("b/x.de.html", ""),
        ("c/help/pt_BR/x.html", ""),
        ("d/x.html", ""),
    ):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_text(page.format(mark), encoding="utf-8")
    found = {entry.package: entry.kind for entry in entries_of([tmp_path]) if entry.package in {"a", "b", "c", "d"}}
    assert found == {"a": "language pl", "b": "language de", "c": "language pt", "d": "HTML"}


def test_the_estimate_is_the_sum_of_what_the_script_counts():
    numbers = [
        number
        for table in (
            token_weights.CLASS_RUNS,
            token_weights.BYTE_RUNS,
            token_weights.LEADS,
            token_weights.BLOCKS,
            token_weights.MARKED_RUNS,
        )
        for *_, number in table
    ]
    for sample in (
        text(1),
        "Übung “möglich” é à ç\n" * 9,
        "окно сессии\n" * 9,
        "会话、かな。한국어 हिन्दी ไทย\n" * 9,
        "🙂" * 30,
    ):
        thousandths = sum(a * b for a, b in zip(features(sample), numbers, strict=True))
        assert estimate(sample) == max(1, len(sample.encode()) >> 7, (thousandths + 999) // 1000)
    assert module_text(numbers, "about").count("\n    (") == len(numbers)
