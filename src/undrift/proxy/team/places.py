"""The records of each member: where they lie in the home of a team, and the open store of each place.

Law: two members never share a store, unless the home's engine itself keeps them apart.
"""

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

from undrift.proxy.projects import OpenStores
from undrift.stores.contract import Store
from undrift.stores.files import PROJECTS, make_folder
from undrift.stores.opening import open_store
from undrift.stores.postgres.address import is_address, with_owner
from undrift.stores.projects import keep
from undrift.stores.served import note_server
from undrift.values.member import Member
from undrift.values.project import Place, Project, file_word
from undrift.values.scope import Scope
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["MemberPlace", "MemberStores", "place_of_member"]

_PEOPLE = "people"
_SERVICE = "service"


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """The place of a member's records.

    Args:
        place: The folders; it is also the key of the open store.
        home: What the store is opened with: the folder of the records, or the address of a server.
        scope: The owner of the records in that store.
    """

    place: Place
    home: str
    scope: Scope


def place_of_member(home: str, member: Member | None, files: Path) -> MemberPlace:
    """Return the place of a member; None: that of the service itself.

    A home that is a folder has a home of its own for each person, with a folder for each project, as every home has. A
    server keeps people and projects apart by the scope.

    `files`: the folder for files if the home is a server's.
    """
    top = (files if is_address(home) else Path(home)).absolute()
    if member is None:
        place, scope = Place(top / _SERVICE, top / _SERVICE, top / _SERVICE), Scope()
    else:
        person = top / _PEOPLE / _named(member.person, member.organisation, member.person)
        records = (
            person / PROJECTS / _named(member.project, member.organisation, member.person, member.project)
        )  # no two members share the last name: it is a part of the keys of sessions
        project = Project(str(records / _word(member.project)))
        place, scope = Place(person, records, records, project), member.scope
    return MemberPlace(place, home, scope) if is_address(home) else MemberPlace(place, str(place.records), Scope())


class MemberStores(OpenStores):
    """The stores of a team's gateway, one for each member that was seen. Any thread may use them."""

    def __init__(self, home: str, files: Path) -> None:
        super().__init__()
        self._home = home
        self._files = files
        self._lock = threading.Lock()
        self._places: dict[Path, MemberPlace] = {}
        self.default = self._known(None)
        """The place of the service itself, for checks of its health."""

    def place_for(self, member: Member) -> Place:
        """Return the place of a member's records."""
        return self._known(member)

    def place_of(self, form: Form, request: Request, given: str | None) -> Place:  # noqa: ARG002 - see `ProjectStores`
        """Return the service's place: a request without a member has no other."""
        return self.default

    def _open(self, place: Place) -> Store:
        found = self._places[place.records]
        if is_address(found.home):  # what is kept beside the records is this person's on the server too
            note_server(place.home, with_owner(found.home, found.scope))
            make_folder(place.records)
        else:
            keep(place)
        return open_store(found.home, found.scope, busy_timeout_ms=self.BUSY_TIMEOUT_MS)

    def _known(self, member: Member | None) -> Place:
        found = place_of_member(self._home, member, self._files)
        with self._lock:
            return self._places.setdefault(found.place.records, found).place


def _word(name: str) -> str:
    return file_word(name) or "member"


def _named(name: str, *parts: str) -> str:
    """Return a file name for a name that people can read; the hash of all parts tells equal ones apart."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_word(name)}-{digest[:16]}"
