"""Chooses the provider of a task by the task's complexity.

Law: decides nothing about a task; the levels are a classifier's, the names the user's.
"""

from dataclasses import dataclass
from typing import Self

from undrift.core.dispatch.classify import Level
from undrift.errors import DispatchError
from undrift.settings import Settings

__all__ = ["RoutingTable"]


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """The provider for each level of complexity: a name among the plan's commands."""

    simple: str = "simple"
    complex: str = "complex"

    @classmethod
    def from_env_or_default(cls) -> Self:
        """Read ``UNDRIFT_ROUTE_SIMPLE`` and ``UNDRIFT_ROUTE_COMPLEX``; by default a provider is named like its level.

        Raises:
            SettingsError: A variable is wrong; the message names it.
        """
        return cls.from_settings(Settings.from_environment())

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Read the providers' names from settings."""
        return cls(settings.route_simple, settings.route_complex)

    def provider_for(self, level: Level) -> str:
        """Return the provider for a level of complexity.

        Raises:
            DispatchError: There is no such level.
        """
        if level not in ("simple", "complex"):
            raise DispatchError(f"a level is simple or complex, not {level!r}")
        return self.simple if level == "simple" else self.complex
