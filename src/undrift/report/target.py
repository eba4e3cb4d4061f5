"""The files of the report: written whole or not at all, and never over anything but a report.

Law: the only place of the report that touches the disk.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from undrift.errors import InputError
from undrift.recordings.autopsy import Postmortem
from undrift.report.cover import Cover
from undrift.report.page import OPENING, page
from undrift.report.picture import PICTURE_OPENING, picture

__all__ = ["check_picture", "check_target", "write_page", "write_picture"]


def check_target(out: Path, sources: Iterable[Path] = (), *, opening: str = OPENING) -> None:
    """Refuse a target that must not be written.

    `opening`: how a file begins that may be replaced. Raises InputError: its folder does not exist, it is a folder or a
    device, one of the sources, or a file of another program; the message names it and the remedy.
    """
    if not out.parent.is_dir():
        raise InputError(f"{out}: its folder does not exist; make {out.parent} first, or name another place")
    if not out.exists():
        return
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file in it")
    if not out.is_file():
        raise InputError(f"{out}: is no regular file; name another one")
    if any(source.exists() and out.samefile(source) for source in sources):
        raise InputError(f"{out}: is one of the recordings; a recording is never written, name another file")
    with out.open("rb") as file:
        start = file.read(len(opening))
    if start and not start.startswith(opening.encode("ascii")):
        raise InputError(f"{out}: exists and is no report of undrift autopsy; name another file, or remove it yourself")


def check_picture(out: Path, sources: Iterable[Path] = ()) -> None:
    """Refuse a target of a picture. Raises InputError: as `check_target`, and if its name does not end with ``.svg``."""
    if out.suffix.lower() != ".svg":
        raise InputError(f"{out}: the picture is an SVG; name a file that ends with .svg")
    check_target(out, sources, opening=PICTURE_OPENING)


def write_page(
    out: Path,
    found: Sequence[Postmortem],
    cover: Cover,
    *,
    next_commands: Sequence[tuple[str, str]] = (),
    sources: Iterable[Path] = (),
) -> None:
    """Write the page in one step: a reader sees the old file or the new one. Only its owner may read it.

    Raises InputError: as `check_target`. Raises OSError: the disk refused; what stood there stands there still.
    """
    check_target(out, sources)
    _write(out, page(found, cover, next_commands))


def write_picture(out: Path, found: Sequence[Postmortem], cover: Cover, *, sources: Iterable[Path] = ()) -> None:
    """Write the picture in one step. Raises InputError: as `check_picture`. Raises OSError: the disk refused."""
    check_picture(out, sources)
    _write(out, picture(found, cover))


def _write(out: Path, shown: str) -> None:
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:100]}.", suffix=".part")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(shown.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(out)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
