"""The clients that undrift can hook into or serve: the place of their settings, and the form of our entries.

Law: text in, text out; only `undrift.clients.place` touches the disk. Everything that is not ours stays byte for byte.
"""

from collections.abc import Mapping

from undrift.clients import claude, codex, gemini, opencode
from undrift.clients.base import HookedClient
from undrift.clients.served import SERVED, ServedClient

__all__ = ["CLIENTS", "HookedClient", "SERVED", "ServedClient"]

CLIENTS: Mapping[str, HookedClient] = {
    "claude": claude.CLIENT,
    "codex": codex.CLIENT,
    "gemini": gemini.CLIENT,
    "opencode": opencode.CLIENT,
}
"""Every client that can be installed for, by the name that one types."""
