"""The profiles of clients: what each of them sends, calls and gives back, as its recordings show. Pure.

Law: the names of clients' tools stand here and nowhere else. The arguments of a call are hostile: they are read in linear
time, and what cannot be read is an act without a path, a command or a pattern.
"""

from undrift.profiles.acts import acts_of, bare_name, kind_of, tools_named
from undrift.profiles.base import Act, ClientTool, GivenBack, Kind, PlanTool, Profile, Recall
from undrift.profiles.known import family_of, is_set_up, is_sub_agent, profile_of
from undrift.profiles.outputs import printed
from undrift.profiles.reading import is_reading
from undrift.profiles.shell import ShellCommand, commands_of
from undrift.profiles.table import PROFILES

__all__ = [
    "Act",
    "ClientTool",
    "GivenBack",
    "Kind",
    "PROFILES",
    "PlanTool",
    "Profile",
    "Recall",
    "ShellCommand",
    "acts_of",
    "bare_name",
    "commands_of",
    "family_of",
    "is_reading",
    "is_set_up",
    "is_sub_agent",
    "kind_of",
    "printed",
    "profile_of",
    "tools_named",
]
