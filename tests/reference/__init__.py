"""docs/api.md, made from the docstrings, and every example in them."""
