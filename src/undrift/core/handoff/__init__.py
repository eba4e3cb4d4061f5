"""The text with which another agent continues a session, or does one task of it. Pure.

`brief` chooses by the words of a task (`relevant`), with the history, chances and page of `core/restore`.
"""

from undrift.core.handoff.brief import TaskBrief, brief

__all__ = ["TaskBrief", "brief"]
