"""The work of a client's hooks: record a session before its compaction, and restore facts after it.

Law: never fails the client. After any fault nothing is printed, the exit code is 0, and one line goes to the log.
Nothing in a payload or a transcript is executed or followed; nothing is written outside the home.
"""

__all__: list[str] = []
