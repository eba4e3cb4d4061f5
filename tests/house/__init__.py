"""The laws of the house, as tests."""
