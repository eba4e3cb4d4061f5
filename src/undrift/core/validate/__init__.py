"""Is a result summary good enough to replace the raw log of its task? Pure: no clock, no log, no model.

`criteria` reads what a task asks for and looks for it in the sentences of the summary (`words`); `claims` looks for what
the summary names in the raw log; `runs` finds the failures that the log ends with; `service` gives the verdict.
"""

__all__: list[str] = []
