"""No fewer of the secrets that were written down before the rules are hidden in any place than docs/figures.json says."""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.masking import (
    CANARIES,
    CONTEXTS,
    PAGE,
    canaries,
    figures,
    is_asked,
    main,
    measure,
    missed,
    share,
    table,
    with_part,
    worse,
)
from undrift.core.text.secrets import mask

FIGURES: dict[str, Any] = json.loads((Path(__file__).parents[3] / "docs" / "figures.json").read_text(encoding="utf-8"))
FROZEN = "a11510bad54970568f3fc730726829b8fdd57abfd4662d7a766329601479c168"
ROWS = canaries()


@pytest.fixture(scope="module")
def results():
    return measure(mask, ROWS)


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {f"{name}, {group}": cell[0] for name, groups in found["contexts"].items() for group, cell in groups.items()}


def test_the_canaries_are_those_that_were_written_before_the_rules():
    assert hashlib.sha256(CANARIES.read_bytes()).hexdigest() == FROZEN == FIGURES["masking"]["canaries_sha256"]
    assert sum(row.is_held_out for row in ROWS) == 30


def test_no_number_falls_and_one_that_rises_is_written_down(results):
    now = figures(results)
    assert not worse(FIGURES["masking"], now)
    assert counts(now) == counts(FIGURES["masking"]), (
        "more is hidden: raise the figures, `python -m bench.masking --write`"
    )


@pytest.mark.parametrize("name", CONTEXTS)
def test_nine_of_ten_kinds_are_hidden_wherever_something_tells_them(name, results):
    now = figures(results)
    assert share(now, name, "own", "line") >= 0.9
    assert not CONTEXTS[name].has_name or share(now, name, "named") >= 0.9


def test_the_page_has_the_figures_and_what_is_missed(results):
    page = PAGE.read_text(encoding="utf-8")
    assert with_part(page, FIGURES["masking"], missed(results)) == page, "run `python -m bench.masking --write`"


def test_a_mask_that_does_nothing_hides_nothing_and_one_that_takes_all_hides_all():
    nothing = figures(measure(lambda text: SimpleNamespace(text=text), ROWS))
    assert set(counts(nothing).values()) == {0}
    assert len(worse(FIGURES["masking"], nothing)) > len(CONTEXTS)
    everything = figures(measure(lambda text: SimpleNamespace(text=""), ROWS))
    assert everything["pairs"][0] == everything["pairs"][1] == FIGURES["masking"]["pairs"][1]


def test_a_mask_that_leaves_the_end_of_a_secret_hides_nothing():
    half = figures(measure(lambda text: SimpleNamespace(text="*" * 8 + text[8:]), ROWS))
    assert half["contexts"]["prose"]["all"][0] == 0


def test_what_is_held_out_is_counted_and_never_named(results):
    held_out = {row.kind for row in ROWS if row.is_held_out}
    nothing = missed(measure(lambda text: SimpleNamespace(text=text), ROWS))
    for name, kinds in nothing.items():
        assert not held_out & set(kinds)
        assert len(kinds) == sum(is_asked(name, row) and not row.is_held_out for row in results[name])


def test_the_command_prints_the_table_and_what_is_missed(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert table(FIGURES["masking"]) in printed
    assert f"{FIGURES['masking']['pairs'][0]:,} of {FIGURES['masking']['pairs'][1]:,}" in printed
