"""The page of an autopsy."""
