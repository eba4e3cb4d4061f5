"""All profiles in one table, and the tools of all of them by name. Pure."""

from collections.abc import Mapping
from functools import cache

from undrift.profiles import aider, claude_code, codex, gemini_cli, mini_swe_agent, opencode, others
from undrift.profiles.base import ClientTool, Profile

__all__ = ["PROFILES", "tools_by_name"]

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        claude_code.PROFILE,
        codex.PROFILE,
        gemini_cli.PROFILE,
        opencode.PROFILE,
        aider.PROFILE,
        mini_swe_agent.PROFILE,
        *others.RECORDED,
        *others.LIBRARIES,
    )
}
"""Every profile, by the name that one types; programs that can be wrapped come first."""


@cache
def tools_by_name() -> Mapping[str, tuple[ClientTool, ...]]:
    """Return the tools of all clients by their names in lower case; several clients may have one of the same name."""
    found: dict[str, list[ClientTool]] = {}
    for profile in PROFILES.values():
        for tool in profile.tools:
            found.setdefault(tool.name.lower(), []).append(tool)
    return {name: tuple(tools) for name, tools in found.items()}
