"""The gateway as a service for a team: `undrift serve`.

Law: each request is a member's, or it is refused. No member sees the records, the windows or the figures of another one.
"""

__all__: list[str] = []
