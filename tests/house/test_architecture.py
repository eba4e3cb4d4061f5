"""docs/ARCHITECTURE.md shows the house as it is: the floors of the linter's contract, each room once, the passes in order."""

import re
import tomllib
from pathlib import Path

import pytest

from undrift.core.window.plan import PASSES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/undrift"
PAGE = (ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8")

MOST_LAYERS = 9
MOST_ROOT_FILES = 4
MOST_LINES = 140


def layers() -> list[list[str]]:
    """The rooms of each floor of the contract, the top one first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (floors,) = (one for one in contracts if one["id"] == "floors")
    return [re.findall(r"\w+", layer) for layer in floors["layers"]]


def rooms_in(folder: Path) -> list[str]:
    """The packages in a folder."""
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def test_the_page_has_the_floors_of_the_contract():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| \S.*\|$", PAGE, flags=re.MULTILINE)
    floors = layers()
    assert rows == [(str(len(floors) - 1 - n), room) for n, floor in enumerate(floors) for room in floor]


def test_the_contract_has_few_floors_and_names_every_room():
    floors = layers()
    assert len(floors) <= MOST_LAYERS
    assert sorted(room for floor in floors for room in floor) == sorted([*rooms_in(PACKAGE), "errors"])


def test_the_page_has_the_rooms_of_the_core():
    assert sorted(re.findall(r"^\| `core/(\w+)` \| \S.*\|$", PAGE, flags=re.MULTILINE)) == rooms_in(PACKAGE / "core")


def test_the_page_names_the_passes_in_their_order():
    named = re.search(r"returns the new window:\n   (`.*`)\.\n", PAGE)
    assert named is not None
    assert re.findall(r"`(\w+)`", named[1]) == [each.__name__ for each in PASSES]


def test_the_entrance_hall_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_ROOT_FILES


def test_the_page_is_one_page():
    assert len(PAGE.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py)?)`", PAGE))))
def test_what_the_page_names_is_there(named: str):
    assert (PACKAGE / named).exists() or (ROOT / named).exists() or (ROOT / f"{named}.md").exists()
