"""The living page."""
