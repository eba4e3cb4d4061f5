"""Broken recordings, made from whole ones: what `make fuzz` feeds to every reader for minutes, and `make test` for seconds."""
