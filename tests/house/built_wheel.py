"""Fail where the built wheel holds too little or too much: ``python -m tests.house.built_wheel DIST``."""

import sys
import zipfile
from pathlib import Path

__all__ = ["impurities", "main", "problems"]

ROOT = Path(__file__).parents[2]
OUR_DATA = frozenset({"undrift/bench/rules.jsonl"})
"""Data that the package reads, by name. Any other file of lines may be a recording of a session."""


def problems(names: list[str], modules: list[str]) -> list[str]:
    """Return what is wrong with the wheel's file names, given the Python files under src/."""
    found = []
    if "undrift/py.typed" not in names:
        found.append("undrift/py.typed is missing: without it no type checker reads our types")
    found += [
        f"{licence} is missing: see license-files in pyproject.toml"
        for licence in ("LICENSE", "NOTICE")
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    ]
    found += [f"{name} is missing: see tool.hatch.build in pyproject.toml" for name in modules if name not in names]
    for name in names:
        if name.endswith(".pth"):
            found.append(f"{name}: a .pth file runs code at every start of Python; it must not be there")
        elif not name.startswith("undrift/") and ".dist-info/" not in name:
            found.append(f"{name}: nothing but the package belongs into the wheel")
        elif name not in OUR_DATA and (name.endswith((".pyc", ".sqlite3", ".jsonl")) or "/tests/" in name):
            found.append(f"{name}: a left-over or test data; it must not be there")
    return found


def impurities(name: str, names: list[str], about: str) -> list[str]:
    """Return what says or shows that a wheel is not pure Python. `about`: its file WHEEL."""
    found = [] if name.endswith("-py3-none-any.whl") else [f"{name}: its name says that it is for some systems only"]
    if "Root-Is-Purelib: true" not in about.splitlines():
        found.append(f"{name}: its file WHEEL does not say that it is pure Python")
    compiled = (".so", ".pyd", ".dll", ".dylib")
    return found + [f"{one}: compiled code; it must not be there" for one in names if one.endswith(compiled)]


def main(arguments: list[str]) -> int:
    """Look into the one wheel of the folder named in the arguments; return the exit code."""
    wheels = sorted(Path(arguments[0]).glob("*.whl"))
    if len(wheels) != 1:
        print(f"{arguments[0]} must hold exactly one wheel, not {[wheel.name for wheel in wheels]}: make clean build")
        return 1
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        about = "".join(wheel.read(name).decode() for name in names if name.endswith(".dist-info/WHEEL"))
    found = problems(names, [path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")])
    found += impurities(wheels[0].name, names, about)
    print(
        *(found or [f"{wheels[0].name}: {len(names)} files, pure Python, typed, with the licence, no .pth"]), sep="\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
