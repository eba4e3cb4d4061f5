"""The owner of a record. Every record names its scope, and every read needs one."""

from dataclasses import dataclass, replace

__all__ = ["LOCAL", "Scope"]

LOCAL = "local"
"""The name of an organisation, a person or a project that has no name yet."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of records. `session`: the conversation; empty means the whole project."""

    session: str = ""
    project: str = LOCAL
    person: str = LOCAL
    organisation: str = LOCAL

    def of(self, session: str) -> "Scope":
        """Return the scope of a session of the same project."""
        return replace(self, session=session)

    def holds(self, other: "Scope") -> bool:
        """Tell whether another scope has the same project, person and organisation."""
        mine, theirs = (self.project, self.person, self.organisation), (other.project, other.person, other.organisation)
        return mine == theirs
