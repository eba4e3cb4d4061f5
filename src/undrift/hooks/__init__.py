"""What a client's hooks call: a session recorded before its compaction, and what to give back after it.

Law: never fails the client. Whatever goes wrong, nothing is printed, the exit code is 0, and one line goes to the log.
Nothing in a payload or a transcript is executed or followed; nothing is written outside the home.
"""

__all__: list[str] = []
