"""The files beside the store that hold words of one session: its folder of the hooks, and its rules in the books of rules.

Law: only a purge of the session deletes them. No link is followed, and nothing outside of that folder is touched. They are derived or
small, so what is gone is counted and needs no log. An empty file stays: by it the hooks know that they keep nothing of this session.
"""

import os
import stat
from dataclasses import replace
from pathlib import Path

from undrift.stores.faults import from_system
from undrift.stores.files import PURGED, create_file, safe_name
from undrift.stores.rule_book import book_of, keep_book
from undrift.values.project import Place
from undrift.values.rule import RuleScope

__all__ = ["delete_session_files"]

_HOOKS = "hooks"
_SCOPES: tuple[RuleScope, ...] = ("project", "user")


def delete_session_files(place: Place, session_id: str) -> tuple[int, int]:
    """Delete what the hooks keep of a session, and the rules that were added or removed for it alone.

    It comes before the purge of the store: a hook that runs meanwhile sees the mark, and writes nothing more.

    Returns:
        The number of files, and of rules.

    Raises:
        StoreError: The system refuses.
    """
    return _of_hooks(place.home, session_id), sum(_of_book(place, scope, session_id) for scope in _SCOPES)


def _of_hooks(home: Path, session_id: str) -> int:
    client, _, id_ = session_id.partition(":")
    if not id_:  # no session of a client
        return 0
    folder = Path(os.path.realpath(home), _HOOKS, safe_name(f"{client}-{id_}"))
    deleted = 0
    try:
        if not all(stat.S_ISDIR(one.lstat().st_mode) for one in (folder.parent, folder)):
            return 0
        create_file(folder / PURGED)
        for path in sorted(folder.iterdir()):
            if path.name != PURGED and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()
                deleted += 1
    except FileNotFoundError:
        return deleted
    except OSError as error:
        raise from_system(error, folder) from error
    return deleted


def _of_book(place: Place, scope: RuleScope, session_id: str) -> int:
    book = book_of(place, scope)
    added, removed = (
        tuple(one for one in rows if (one.scope, one.session) != ("session", session_id))
        for rows in (book.added, book.removed)
    )
    gone = len(book.added) + len(book.removed) - len(added) - len(removed)
    if gone:
        keep_book(place, scope, replace(book, added=added, removed=removed))
    return gone
