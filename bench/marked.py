"""The parts of a page that a program writes, each between two marks. Pure."""

__all__ = ["END", "with_part"]

END = "<!-- end -->"


def with_part(page: str, begin: str, text: str, end: str = END) -> str:
    """Return a page with a text between two marks, each on a line of its own. Raises ValueError: the page has no such part."""
    head, found, rest = page.partition(f"{begin}\n")
    _, last, tail = rest.partition(end)
    if not found or not last or begin in tail:
        raise ValueError(f"the page needs one part {begin}, then {end}")
    return f"{head}{found}{text}\n{last}{tail}"
