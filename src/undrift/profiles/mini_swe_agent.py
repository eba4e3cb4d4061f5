"""mini-swe-agent, as 2.4.6 is: everything goes through one shell. Pure."""

from undrift.profiles.base import ClientTool, Profile, Recall

__all__ = ["PROFILE"]

PROFILE = Profile(
    name="mini",
    title="mini-swe-agent",
    version="2.4.6",
    format="mini-swe-agent",
    systems=("You are a helpful assistant that can interact with a computer",),
    tools=(ClientTool("bash", "shell", command="command"),),
    recall=Recall(has_shell=True),
)
"""mini-swe-agent."""
