"""A release, built twice as different as one machine can, and compared byte by byte: ``python -m tests.release.twice``.

Each build has a clone of its own in a folder of its own, and its own home, umask, time zone, locale, hash seed and order of
files. The clock of the second is moved by 400 days, if a compiler is there. Run by `make release-check`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from release.about import ROOT
from tests.clients.moved_clock import MovedClock

__all__ = ["differences", "main"]

_DAYS = 400


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that differs between two builds. `folder`: below the scratch folder."""

    folder: str
    umask: int
    variables: Mapping[str, str]
    moved: Mapping[str, str] = field(default_factory=dict)


def differences(first: Path, second: Path) -> list[str]:
    """Return the names of the files that only one of two folders has, or that are not the same in both."""
    names = {path.name for folder in (first, second) for path in folder.iterdir()}
    return sorted(name for name in names if _content(first / name) != _content(second / name))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _locales() -> list[str]:
    done = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)
    return [name for name in done.stdout.split() if name not in ("C", "POSIX")]


def _built(scratch: Path, one: Surroundings) -> Path:
    """Clone the last commit and build it; return the folder of the files."""
    clone, out = scratch / one.folder, scratch / one.folder / "dist"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    home = scratch / f"home-of-{one.umask:03o}"
    home.mkdir()
    for number, path in enumerate(sorted(clone.glob("src/**/*.py"))):
        os.utime(path, (number * 1_000, number * 1_000 + one.umask))
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), **one.variables, **one.moved}
    words = [sys.executable, "-m", "release.build", str(out)]
    done = subprocess.run(words, cwd=clone, env=variables, umask=one.umask, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the build in {one.folder} failed:\n{done.stdout}{done.stderr}")
    return out


def main() -> int:
    """Build twice and compare; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        moved = dict[str, str]()
        if MovedClock.is_possible():
            moved = MovedClock(scratch, int(time.time()) + _DAYS * 86_400).environment()
        else:
            print("SKIPPED: another clock needs Linux and a C compiler; the builds differ in seconds only")
        named = [name for name in _locales() if name.startswith(("tr", "de", "ja"))] or _locales()[:1]
        both = (
            Surroundings("a", 0o022, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
            Surroundings(
                "another folder/ünder it/b",
                0o077,
                {"TZ": "Pacific/Auckland", "LC_ALL": (named or ["C"])[0], "PYTHONHASHSEED": "2", "LANGUAGE": "tr"},
                moved,
            ),
        )
        for one in both:
            print(
                f"build: folder {one.folder!r}, umask {one.umask:03o}, {dict(one.variables)}, other clock: {bool(one.moved)}"
            )
        first, second = (_built(scratch, one) for one in both)
        for number, out in enumerate((first, second), 1):
            print(f"\nbuild {number}:\n{(out / 'SHA256SUMS').read_text(encoding='utf-8')}", end="")
        wrong = differences(first, second)
        count = len(list(first.iterdir()))
        print(
            f"\n{count - len(wrong)} of {count} files are the same, byte by byte"
            + "".join(f"\ndiffers: {name}" for name in wrong)
        )
        if wrong:
            kept = Path(tempfile.mkdtemp(prefix="undrift-release-check-"))
            for number, out in enumerate((first, second), 1):
                shutil.copytree(out, kept / str(number))
            print(f"both are kept in {kept}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
