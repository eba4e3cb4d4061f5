"""The clients' settings, and the real clients."""
