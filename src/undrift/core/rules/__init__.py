"""The rules that a person or a project's file laid down, which of them hold, and which calls contradict them. Pure.

`spoken` splits a message into the sentences that were typed, `judge` says by `signs` and `lifting` what each is, `typed` and
`files` collect them, `holding` decides which hold.

Law: precision comes first. A text that is quoted, pasted or of a skill lays down nothing, and a call is named only if it
plainly contradicts a rule.
"""

__all__: list[str] = []
