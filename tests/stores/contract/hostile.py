"""Ids that somebody may give, and that are only names."""

__all__ = ["HOSTILE_IDS"]

HOSTILE_IDS = [
    "../../etc/passwd", "a\0b", "line\nbreak", "x" * 3000, "-rf", "'; DROP TABLE originals; --", "$(id)`id`;", "é", "é",
    "\ud800", "\ude00\ud83d", "😀", "CON", "%s%n", " ", "\u202e", '"', "NULL", "0", "1e3", "null\0",
]  # fmt: skip
