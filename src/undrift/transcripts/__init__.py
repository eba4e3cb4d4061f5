"""Converts recorded sessions of agents to context entries; `detect` chooses the reader. Pure.

A new format is one module with `read` and `recognises`, and one line in `FORMATS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice

from undrift.errors import TranscriptError
from undrift.transcripts import (
    aider,
    claude_code,
    cline,
    codex,
    continue_cli,
    copilot_cli,
    gemini_cli,
    kimi_code,
    mini_swe_agent,
    openai_messages,
    opencode,
    openhands,
    pi,
    qwen_code,
    swe_agent,
)
from undrift.transcripts.base import Reader, Recording

__all__ = ["FORMATS", "HEAD_LINES", "Reader", "Recording", "detect", "read"]

FORMATS: Mapping[str, Reader] = {
    claude_code.FORMAT: claude_code,
    codex.FORMAT: codex,
    gemini_cli.FORMAT: gemini_cli,
    opencode.FORMAT: opencode,
    copilot_cli.FORMAT: copilot_cli,
    pi.FORMAT: pi,
    qwen_code.FORMAT: qwen_code,
    kimi_code.FORMAT: kimi_code,
    cline.FORMAT: cline,
    continue_cli.FORMAT: continue_cli,
    swe_agent.FORMAT: swe_agent,
    mini_swe_agent.FORMAT: mini_swe_agent,
    openhands.FORMAT: openhands,
    aider.FORMAT: aider,
    openai_messages.FORMAT: openai_messages,
}
"""Every known format; asked in this order, from the most specific to the least."""

HEAD_LINES = 64
"""How many lines `read` shows to `detect`: recorded files open with up to 42 lines that only name older sessions."""


def _characters_over_4(text: str) -> int:
    """Estimate tokens as a quarter of the characters, rounded up."""
    return -(-len(text) // 4)


def detect(lines: Sequence[str]) -> str:
    """Return the format of a session: a key of `FORMATS`.

    Raises TranscriptError: no reader recognises the lines.
    """
    for name, reader in FORMATS.items():
        if reader.recognises(lines):
            return name
    raise TranscriptError(
        f"not a recorded session that undrift knows (formats: {', '.join(FORMATS)}); "
        "give the client's own session file, or name the format if its beginning is damaged"
    )


def read(
    lines: Iterable[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that callers and the command line use
    count: Callable[[str], int] = _characters_over_4,
) -> Recording:
    """Read a recorded session.

    `format`: a key of `FORMATS`; None to detect it. `count`: tokens of a text; by default a quarter of its characters,
    rounded up. Raises TranscriptError: the format is unknown, or nothing in the lines is part of a conversation.
    """
    stream = iter(lines)
    name = format
    if name is None:
        head = list(islice(stream, HEAD_LINES))
        name = detect(head)
        stream = chain(head, stream)
    reader = FORMATS.get(name)
    if reader is None:
        raise TranscriptError(f"unknown format {name!r}; known are {', '.join(FORMATS)}")
    recording = reader.read(stream, count=count)
    if not recording.entries:
        passed_over = ", ".join(f"{reason} ({number})" for reason, number in recording.skipped.items())
        raise TranscriptError(
            f"no message in this {name} session; passed over: {passed_over or 'nothing, it is empty'}; "
            "give a session in which the agent has been asked something"
        )
    return recording
