"""The sessions that real programs have recorded, as lines; `versions.json` says from what."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "RECORDED_FROM", "fixture", "rows"]

FOLDER = Path(__file__).parent / "recorded"
RECORDED_FROM: Mapping[str, Mapping[str, Any]] = json.loads((FOLDER / "versions.json").read_text(encoding="utf-8"))
"""Format -> title, package and version of the program."""


def fixture(name: str) -> Path:
    """Return the fixture of a format."""
    (found,) = FOLDER.glob(f"{name}.*")
    return found


def rows(name: str) -> list[str]:
    """Return the lines of the fixture of a format."""
    return fixture(name).read_text(encoding="utf-8").splitlines(keepends=True)
