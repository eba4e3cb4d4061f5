"""What is closed at the end of a ``with`` block.

Law: leaving the block closes, whatever was raised in it, and hides nothing.
"""

from typing import Self

__all__ = ["AsyncClosing", "Closing"]


class Closing:
    """A context manager that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError


class AsyncClosing(Closing):
    """The same in an ``async with`` block."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
