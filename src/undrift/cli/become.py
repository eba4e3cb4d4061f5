"""This process becomes another program: the terminal, its signals and its exit status are that program's own."""

import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

__all__ = ["become"]


def become(program: str, words: list[str], variables: Mapping[str, str]) -> NoReturn:
    """Start a program in the place of this one.

    `program`: its file. `words`: its command line, with its name.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and the program in its place would ignore them too
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_DFL)
    os.execve(program, words, variables)  # noqa: S606 - the program that the user named, without a shell
