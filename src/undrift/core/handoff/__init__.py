"""The text with which another agent continues a session, or does one task of it. Pure.

`brief` chooses by the words of a task (`relevant`), `handoff` by what is open, both with the history, chances and page of `core/restore`.
"""

from undrift.core.handoff.brief import TaskBrief, brief
from undrift.core.handoff.handoff import Handoff, handoff

__all__ = ["Handoff", "TaskBrief", "brief", "handoff"]
