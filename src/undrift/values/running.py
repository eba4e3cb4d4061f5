"""The one question to the system about another process.

Law: the question changes nothing. On Windows `os.kill(pid, 0)` sends Ctrl+C instead, so it is not asked there.
"""

import os
import sys

__all__ = ["is_running"]


def is_running(process: int) -> bool | None:
    """Tell whether a process runs. None means: this system has no harmless way to ask (Windows).

    `process`: its id; no process has one below 1, or one that is too large for the system.
    """
    if process <= 0:
        return False
    if sys.platform == "win32":
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:
        return False
    return True
