"""The files that a client of today attaches again by itself after a compaction, simulated. Pure.

Law: it is used only if a recording does not hold what was attached. Claude Code of late 2026 attaches the five files that
were read or written last, each as the agent last saw it, one of more than 5,000 tokens by its name alone. The agent's own
edits are in it too, so it flatters the client.
"""

from collections.abc import Sequence

from undrift.core.text.tokens import characters_per_4
from undrift.profiles import PROFILES, Act, acts_of
from undrift.values.window import ContextEntry

__all__ = ["files_put_back"]

_AS = PROFILES["claude"].gives_back
"""The client whose behaviour is simulated."""


def files_put_back(entries: Sequence[ContextEntry]) -> str:
    """Return the text of the files that were used last, the newest first."""
    texts: dict[str, list[str]] = {}
    read: dict[str, str] = {}
    for entry in entries:
        about = entry.metadata or {}
        pair = about.get("pair_id")
        if about.get("kind") == "call" and isinstance(given := about.get("input"), dict):
            for act in acts_of(str(about.get("tool_name") or ""), given):
                if not act.path or act.kind not in ("read", "edit"):
                    continue
                known = texts.pop(act.path, [])
                whole = given.get("content")
                texts[act.path] = (
                    [whole] if isinstance(whole, str) else [*known, *_written(act)]
                )  # at the end: used last
                if act.kind == "read" and isinstance(pair, str):
                    read[pair] = act.path
        elif about.get("kind") == "result" and pair in read and read[pair] in texts:
            texts[read[pair]].append(entry.content)
    parts = []
    for path in list(reversed(texts))[: _AS.files]:
        text = "\n".join(dict.fromkeys(reversed(texts[path])))
        parts.append(path + ("\n" + text if characters_per_4(text) <= _AS.file_tokens else ""))
    return "\n".join(parts)


def _written(act: Act) -> list[str]:
    return [text for text in act.new if text]
