"""aider, as 0.86.2 is: it calls no tools, and runs a command only if the user says yes. Pure."""

from undrift.profiles.base import Profile, Recall

__all__ = ["PROFILE"]

PROFILE = Profile(
    name="aider",
    title="aider",
    version="0.86.2",
    format="aider",
    systems=("Act as an expert software developer",),
    recall=Recall(has_shell=True),
)
"""aider."""
