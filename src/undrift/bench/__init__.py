"""Benchmarks that ship with the program: `undrift bench`. Law: ratios of two figures of one run, over data made up here."""

__all__: list[str] = []
