"""The gateway as a service for a team: `undrift serve`.

Law: a request is a member's or nobody's. No member sees the records, the windows or the figures of another one.
"""
