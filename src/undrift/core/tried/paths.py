"""Shortens the path of a file to its end, which tells it from others. Pure."""

__all__ = ["short_path"]

_PARTS = 3


def short_path(path: str) -> str:
    """Return the last three parts of a path; what is left out shows as ``…``."""
    parts = path.replace("\\", "/").split("/")
    return path if len(parts) <= _PARTS else "…/" + "/".join(parts[-_PARTS:])
