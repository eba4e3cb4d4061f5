"""The release: built, built again, and started from its files alone."""
