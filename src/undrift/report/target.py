"""The file of the page: written whole or not at all, and never over anything but a page.

Law: the only place of the report that touches the disk.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from undrift.errors import InputError
from undrift.recordings.autopsy import Postmortem, Totals
from undrift.report.page import OPENING, page

__all__ = ["check_target", "write_page"]


def check_target(out: Path, sources: Iterable[Path] = ()) -> None:
    """Refuse a target that must not be written.

    Raises InputError: its folder does not exist, it is a folder or a device, one of the sources, or a file that is no
    HTML page; the message names it and the remedy.
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
        start = file.read(len(OPENING))
    if start and not start.startswith(OPENING.encode("ascii")):
        raise InputError(f"{out}: exists and is no report of undrift autopsy; name another file, or remove it yourself")


def write_page(out: Path, found: Sequence[Postmortem], sums: Totals, *, sources: Iterable[Path] = ()) -> None:
    """Write the page in one step: a reader sees the old file or the new one. Only its owner may read it.

    Raises InputError: as `check_target`. Raises OSError: the disk refused; what stood there stands there still.
    """
    check_target(out, sources)
    content = page(found, sums).encode("utf-8", "replace")
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:100]}.", suffix=".part")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(out)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
