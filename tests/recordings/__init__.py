"""Tests of `undrift.recordings.files`."""
