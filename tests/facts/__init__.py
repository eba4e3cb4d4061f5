"""Tests of the shell of session facts."""
