"""Tests of `undrift.tiered.manager`."""
