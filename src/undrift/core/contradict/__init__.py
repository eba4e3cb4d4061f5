"""Contradiction without a model: keyed slots, correction cues, value classes, numbers with units, polarity. Pure.

Law: every verdict names its rule and the words that it rests on; how similar two texts are decides nothing.
"""

__all__: list[str] = []
