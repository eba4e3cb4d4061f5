"""README's table of costs says what the rows say, also where they are not in our favour."""

from typing import Any

from bench.readme import budget_price_part, cost_part


def row(budget: str, scenario: str, **more: Any) -> dict[str, Any]:
    found = {
        "budget": budget,
        "scenario": scenario,
        "sessions": 9,
        "above": 0,
        "worst_turn": 1.0,
        "sum": 0.5,
        "survival": 1.0,
    }
    return found | {"native_sessions": 0} | more


NATIVE = {"native_sessions": 4, "of_native": 1.234, "survival_there": 0.9, "native_survival": 0.95}


def told(*rows: dict[str, Any]) -> str:
    return cost_part({"cost": {"rows": list(rows), "date": "2026-11-23", "command": "undrift bench cost x"}})


def test_what_is_dearer_than_the_clients_compaction_is_said_and_what_each_kept() -> None:
    text = told(
        row("auto", "own", above=2, worst_turn=1.123, survival=0.9754, **NATIVE),
        row("auto-native", "own", above=1, **(NATIVE | {"of_native": 0.987})),
        row("60,000", "own", above=3, sum=1.2, **NATIVE),
    )
    assert (
        "| as recorded | 2 of 9 | 1.12 | 0.50 | 97.5% | 1.23; at the client's limit 0.99 "
        "(90.0% still there, client 95.0%) |" in text
    )
    assert "The last column counts the 4 sessions" in text
    assert (
        "At the client's limit, row by row, 1 of them cost more than everything; but everything did not fit there."
        in text
    )
    assert text.startswith("**Measured** on 2026-11-23 by `undrift bench cost x`.")


def test_without_a_compaction_there_is_none_to_compare_with() -> None:
    assert "| an hour, .05 | 0 of 9 | 1.00 | 0.50 | 100.0% | none compacted |" in told(row("auto", "1h .05"))


def test_the_sessions_on_which_the_rules_were_chosen_are_named() -> None:
    cost = {"rows": [row("auto", "own")], "date": "2026-11-23", "command": "x", "fitted_sessions": 5}
    assert "The rules were chosen on 5 of them.\n" in cost_part({"cost": cost})
    assert "chosen" not in told(row("auto", "own"))


def test_prices_without_auto_are_no_row() -> None:
    assert told(row("60,000", "own")) == "No session was priced."


def test_the_price_of_a_fixed_budget_names_the_worst_session() -> None:
    rows = [row("60,000", "own", above=3, sum=1.2, worst=1.4, worst_turn=1.6), row("auto", "own")]
    told = budget_price_part({"cost": {"rows": rows, "date": "2026-11-23", "command": "undrift bench cost x"}})
    assert "| 60,000 | as recorded | 3 of 9 | 1.20 | 1.40 | 1.60 | 100.0% |" in told
    assert "auto" not in told.partition("| --- |")[2]
