"""Zip files that hold the same bytes in every build: sorted, one time, two modes, not compressed."""

import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["files_below", "write_zip"]

_EARLIEST_S = 315_532_800  # 1980, the first year that a zip file knows


def files_below(root: Path, *starts: str) -> dict[str, bytes]:
    """Return each file at or below the paths, by its path below the root. Raises FileNotFoundError: a path is missing."""
    found = dict[str, bytes]()
    for start in starts:
        place = root / start
        paths = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
        if not paths:
            raise FileNotFoundError(f"{start}: not in this commit")
        found |= {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    return found


def write_zip(target: Path, files: Mapping[str, bytes], at_s: int) -> None:
    """Write the files as a zip file.

    `at_s`: the time of every file, in Unix seconds. They are stored as they are, because compressors differ.
    """
    at = time.gmtime(max(at_s, _EARLIEST_S))[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, at)
            entry.create_system = 3  # Unix, so that the modes count
            entry.external_attr = (0o755 if name.endswith(".sh") else 0o644) << 16
            archive.writestr(entry, content)
