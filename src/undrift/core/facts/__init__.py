"""Session facts: what one sub-agent learned reaches the next one's prompt, without a model being asked. Pure.

Law: the values stand on the lowest floor, in `undrift.values.facts`; what is decided about them stands here, as functions
and plain containers; who reads a clock, logs or writes is `undrift.facts`.
"""

__all__: list[str] = []
