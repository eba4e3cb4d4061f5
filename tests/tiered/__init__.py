"""Tests of `undrift.tiered`."""
