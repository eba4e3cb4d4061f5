"""Tests of `undrift.tasks`."""
