"""The measures that ship with the program: `undrift bench cost` and `drift`. Law: they compare on recorded sessions; they change nothing."""

__all__: list[str] = []
