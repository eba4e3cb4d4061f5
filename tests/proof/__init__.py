"""Durability, proven by programs: power cuts, faults, kills, many writers, flipped bits. `make proof` runs them all."""
