"""Tests of `undrift.session.session`."""
