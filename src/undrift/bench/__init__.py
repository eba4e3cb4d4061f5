"""The measure that ships with the program: `undrift session drift`. Law: it compares tools on recorded sessions; it changes nothing."""

__all__: list[str] = []
