"""What docs/mcp.md says of the protocol's own tests is what those are run with."""

from pathlib import Path

from tests.conformance.mcp_suites import NOT_APPLICABLE

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"


def test_every_scenario_that_does_not_apply_is_listed_with_its_reason():
    rows = [line.split("|") for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    reasons = {name.strip(" `"): cells[2].strip() for cells in rows for name in cells[1].split(",")}
    assert NOT_APPLICABLE
    for scenario in NOT_APPLICABLE:
        assert len(reasons[scenario]) > 20, scenario
    assert f"{len(NOT_APPLICABLE)} do not apply" in DOCUMENT.read_text(encoding="utf-8")
