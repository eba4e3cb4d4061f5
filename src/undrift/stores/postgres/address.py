"""The address of a home on a server: ``postgresql://USER@HOST:PORT/DATABASE?...``.

Law: a password is never shown. Parameters of ours begin with ``undrift_``; all others go to the driver as they are.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from undrift.errors import InputError
from undrift.values.scope import LOCAL, Scope

__all__ = ["ServerAddress", "is_address", "with_owner", "without_password"]

_SCHEMES = ("postgresql://", "postgres://")
_OURS = "undrift_"
_MOST_CONNECTIONS = 16
_NAMES = ("affinity", "connections", "key_file", "organisation", "person", "prepare", "project", "schema")
_KNOWN = f"known are {', '.join(_OURS + name for name in _NAMES)}"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A home on a server.

    Args:
        url: What the driver connects to.
        schema: The schema with the tables.
        owner: The organisation, person and project whose records are meant if a caller names none.
        is_affine: True: a balancer sends all turns of a session to one process, so that a quiet turn need not ask.
        most_connections: Connections of this process at most.
        prepares: False: no prepared statements, as an older PgBouncer needs it.
        key_file: The file with the deployment's key; empty without one.
    """

    url: str = field(repr=False)
    schema: str = "undrift"
    owner: Scope = Scope()  # noqa: RUF009 - a value
    is_affine: bool = False
    most_connections: int = _MOST_CONNECTIONS
    prepares: bool = True
    key_file: str = ""

    @classmethod
    def parsed(cls, home: str | os.PathLike[str]) -> "ServerAddress":
        """Read an address. Raises InputError: a parameter of ours is unknown or has a wrong value."""
        parts, given = _split(home)
        ours = {name.removeprefix(_OURS): value for name, value, _ in given if name.startswith(_OURS)}
        url = _with_query(parts, (as_given for name, _, as_given in given if not name.startswith(_OURS)))
        names = {name: ours.pop(name, LOCAL) or LOCAL for name in ("organisation", "person", "project")}
        flags = {
            name: _flag(name, ours.pop(name, default)) for name, default in (("affinity", "no"), ("prepare", "yes"))
        }
        schema, most, key_file = (ours.pop(name, "") for name in ("schema", "connections", "key_file"))
        if ours:
            raise InputError(f"{_OURS}{min(ours):.80}: no parameter of an address; {_KNOWN}")
        if most and not (most.isascii() and most.isdigit() and 0 < int(most) <= 1000):
            raise InputError(f"{_OURS}connections={most!r:.80}: must be a number from 1 to 1000")
        connections = int(most or _MOST_CONNECTIONS)
        return cls(url, schema or "undrift", Scope(**names), flags["affinity"], connections, flags["prepare"], key_file)

    def of(self, scope: Scope) -> Scope:
        """Return a scope with this address's names in the places where it has none of its own."""
        named = {
            name: getattr(self.owner, name) if getattr(scope, name) == LOCAL else getattr(scope, name)
            for name in ("organisation", "person", "project")
        }
        return Scope(scope.session, **named)

    def __str__(self) -> str:
        """The address for people: without a password and without parameters."""
        parts, _ = _split(self.url)
        return f"postgresql://{_without_password(parts.netloc)}{parts.path}"


def _flag(name: str, value: str) -> bool:
    if value not in ("yes", "no"):
        raise InputError(f"{_OURS}{name}={value!r:.80}: must be yes or no")
    return value == "yes"


def with_owner(home: str | os.PathLike[str], owner: Scope) -> str:
    """Return an address that means the records of one person of an organisation."""
    parts, given = _split(home)
    names = {f"{_OURS}organisation": owner.organisation, f"{_OURS}person": owner.person}
    kept = [as_given for name, _, as_given in given if names.get(name, LOCAL) == LOCAL]
    new = [urlencode([one], quote_via=quote) for one in names.items() if one[1] != LOCAL]
    return _with_query(parts, [*kept, *new])


def without_password(home: str | os.PathLike[str]) -> str:
    """Return an address that can be shown and used again: all of it but the passwords."""
    parts, given = _split(home)
    shown = parts._replace(netloc=_without_password(parts.netloc))
    return _with_query(shown, (as_given for name, _, as_given in given if name not in ("password", "sslpassword")))


def _split(home: str | os.PathLike[str]) -> tuple[SplitResult, list[tuple[str, str, str]]]:
    """Return the parts of an address, and its parameters: name, value, and both as they were given.

    As the driver reads it: up to the first ``@`` a name and a password may have every character but ``/``.
    """
    scheme, _, rest = os.fspath(home).partition("://")
    user, at, place = rest.partition("@")
    if at and "/" not in user:
        rest = f"{user.replace('#', '%23').replace('?', '%3F')}@{place}"
    parts = urlsplit(f"{scheme}://{rest}", allow_fragments=False)
    given = [one for one in parts.query.split("&") if one]
    return parts, [(*parse_qsl(one, keep_blank_values=True)[0], one) for one in given]


def _with_query(parts: SplitResult, given: Iterable[str]) -> str:
    """Return an address with these parameters; none is encoded again, because the driver does not read ``+`` as a space."""
    return urlunsplit(parts._replace(query="&".join(given)))


def _without_password(place: str) -> str:
    name, _, host = place.rpartition("@")
    user = name.partition(":")[0]
    return f"{user}@{host}" if user else host


def is_address(home: str | os.PathLike[str]) -> bool:
    """Tell whether a home is on a server."""
    return os.fspath(home).startswith(_SCHEMES)
