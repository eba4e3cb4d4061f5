"""The name and the version of a release, and whether an index has it. One source: pyproject.toml.

Law: `[tool.undrift] published` decides alone which lines a person reads: empty, they start from a built file.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "About", "about"]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class About:
    """A release. `published`: the requirement by which the index has it, such as NAME==VERSION; empty: it has none."""

    name: str
    version: str
    published: str

    @property
    def wheel(self) -> str:
        """The name of the wheel's file: pure Python, for every system and every Python 3."""
        return f"{self.name}-{self.version}-py3-none-any.whl"

    @property
    def archive(self) -> str:
        """The name of the source archive's file."""
        return f"{self.name}-{self.version}.tar.gz"


def about(root: Path = ROOT) -> About:
    """Read pyproject.toml. Raises ValueError: what is published is not this name in this version."""
    data = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found = About(data["project"]["name"], data["project"]["version"], data["tool"]["undrift"]["published"])
    if found.published not in ("", f"{found.name}=={found.version}"):
        raise ValueError(
            f"[tool.undrift] published is {found.published!r}: it must be empty or {found.name}=={found.version}"
        )
    return found
