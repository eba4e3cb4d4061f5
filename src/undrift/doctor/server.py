"""The server of a home whose records are not on this machine: is it there, and are the records sound."""

from collections.abc import Iterator
from pathlib import Path

from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.errors import StoreError
from undrift.stores.opening import engine_of
from undrift.values.scope import Scope
from undrift.values.shown import many

__all__ = ["server"]

_MOST_SHOWN = 20
_REMEDY = "start the server, or correct the address in server.json of the home's folder"


def server(home: Path) -> Iterator[Finding]:
    """Yield what is found about the records of a home on a server."""
    here = str(home)
    engine = engine_of(home)
    try:
        if not engine.is_there(home):
            yield note("store", "the server has no store yet: nothing was recorded", home=here)
            return
        with engine.open(home, Scope(), create=False) as store:
            problems, sessions = store.integrity(), len(store.sessions())
    except StoreError as error:
        yield wrong("server", str(error), _REMEDY, home=here)
        return
    yield ok("server", f"the server answers; it has {many(sessions, 'session')} of this project", home=here)
    if problems:
        more = (f"and {len(problems) - _MOST_SHOWN} more",) if len(problems) > _MOST_SHOWN else ()
        text = f"{many(len(problems), 'record')} cannot be read"
        remedy = "restore a backup of the server; all other records can be read"
        yield wrong("integrity", text, remedy, home=here, details=(*problems[:_MOST_SHOWN], *more))
    else:
        yield ok("integrity", "every record of this project matches its SHA-256", home=here)
