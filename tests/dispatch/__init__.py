"""Tests of dispatches."""
