"""The things that a session tried and gave up, from its recording alone. Pure.

Law: precision comes first. A thing that worked in the end was not given up, and is not named.
"""

from collections.abc import Sequence

from undrift.core.tried.changes import undone_changes
from undrift.core.tried.commands import failed_commands
from undrift.core.tried.rejections import rejections
from undrift.core.tried.statements import given_up_statements
from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["attempts"]


def attempts(entries: Sequence[ContextEntry]) -> tuple[Attempt, ...]:
    """Return what was tried and given up, oldest first. Linear in the entries."""
    found = [
        *failed_commands(entries),
        *undone_changes(entries),
        *given_up_statements(entries),
        *rejections(entries),
    ]
    return tuple(sorted(found, key=lambda one: one.place))
