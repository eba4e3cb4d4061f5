"""The store of a team: the same contract over a PostgreSQL server.

Law: the server holds the truth, and a process holds copies that it may lose. A session is a log of operations; what is
active in it follows from the log (`session_state`). Texts are sealed before they leave the process (`sealing`).
"""

__all__: list[str] = []
