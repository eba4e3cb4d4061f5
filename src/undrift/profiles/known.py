"""Recognises a client by what its requests say of themselves. Pure; nothing is decided by it but words for people."""

from collections.abc import Iterable, Mapping

from undrift.profiles.base import Profile
from undrift.profiles.table import PROFILES

__all__ = ["family_of", "is_set_up", "is_sub_agent", "profile_of"]

_OPENING_CHARACTERS = 1_000
_SET_UP = tuple(opening for profile in PROFILES.values() for opening in profile.set_up)


def profile_of(user_agent: str, system_texts: Iterable[str] = ()) -> Profile | None:
    """Return the profile of the client that sent a request; None if it is not known.

    A client that comes under the name of a library is recognised by the beginning of its system prompt.
    """
    openings = [text[:_OPENING_CHARACTERS].lstrip() for text in system_texts]
    for profile in PROFILES.values():
        if profile.systems and any(opening.startswith(profile.systems) for opening in openings):
            return profile
    return next((one for one in PROFILES.values() if one.agents and user_agent.startswith(one.agents)), None)


def is_sub_agent(headers: Mapping[str, str]) -> bool:
    """Tell whether a header says that a sub-agent sent the request. `headers`: by lower-case name."""
    return any(
        headers.get(name)
        for profile in PROFILES.values()
        for name in (*profile.sub_agent_headers, profile.family_headers[1])
    )


def family_of(user_agent: str, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return what a client calls the session of a request, and that of its parent; empty where it names none.

    `headers`: by lower-case name.
    """
    profile = profile_of(user_agent)
    own, parent = ("", "") if profile is None else profile.family_headers
    return headers.get(own, ""), headers.get(parent, "")


def is_set_up(text: str) -> bool:
    """Tell whether a client wrote this text in the user's name before the first words of the user."""
    return text.startswith(_SET_UP)
