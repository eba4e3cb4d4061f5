"""The user's own recorded sessions, wherever the clients keep them.

Law: the clients' usual folders are named here and nowhere else in the command line.
"""

from pathlib import Path

from undrift.errors import TranscriptError
from undrift.recordings import Homes, own_sessions

__all__ = ["own_recordings"]


def own_recordings(
    command: str,
    *,
    claude_home: Path | None,
    codex_home: Path | None,
    gemini_home: Path | None,
    copilot_home: Path | None,
    pi_home: Path | None,
) -> tuple[Path, ...]:
    """Find the user's own sessions, the newest first; none is an error that says where they were looked for.

    Args:
        command: What the user typed, for the error.
        claude_home: None for ``~/.claude``.
        codex_home: None for ``~/.codex``.
        gemini_home: What holds the folder ``.gemini``; None for the home folder.
        copilot_home: None for ``~/.copilot``.
        pi_home: None for ``~/.pi/agent``.

    Raises:
        TranscriptError: No session, or no home folder to look in.
    """
    try:
        homes = Homes(
            claude=claude_home or Path.home() / ".claude",
            codex=codex_home or Path.home() / ".codex",
            gemini=(gemini_home or Path.home()) / ".gemini",
            copilot=copilot_home or Path.home() / ".copilot",
            pi=pi_home or Path.home() / ".pi" / "agent",
        )
    except RuntimeError as error:
        raise TranscriptError(f"your home folder is not known; name a file: {command} FILE") from error
    found = own_sessions(homes)
    if not found:
        *folders, last = map(str, homes.folders)
        raise TranscriptError(f"no recorded session in {', '.join(folders)} and {last}; name a file: {command} FILE")
    return found
