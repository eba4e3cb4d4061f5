"""Archives, written and unpacked. A zip file holds the same bytes in every build: sorted, one time, two modes, not compressed."""

import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["files_below", "unpack", "write_zip"]

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


def unpack(packed: Path, target: Path) -> None:
    """Unpack the files of a tar archive into a folder.

    Raises ValueError: a member is no file or folder, or leads out of the folder; then nothing is unpacked. Python has a
    filter for this from 3.11.4 on.
    """
    with tarfile.open(packed) as archive:
        for member in archive.getmembers():
            path = Path(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                raise ValueError(f"{packed.name}: {member.name} is no file below a folder")
            member.uid, member.gid, member.uname, member.gname = 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        archive.extractall(target)
