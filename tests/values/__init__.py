"""Tests of `undrift.values`."""
