"""The profiles of clients."""
