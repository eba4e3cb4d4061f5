"""Tests of `undrift.window`."""
