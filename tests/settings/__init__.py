"""Tests of `undrift.settings`."""
