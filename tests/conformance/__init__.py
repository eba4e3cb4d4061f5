"""Suites of others that undrift has to pass, run with their packages as they are today: `make conformance`."""
