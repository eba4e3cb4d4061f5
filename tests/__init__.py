"""The tests; they mirror src/undrift. tests/house holds the laws of the house."""
