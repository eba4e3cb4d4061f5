"""User code over the real types of the SDKs; `make types` reads it with two type checkers, and nothing runs it."""
