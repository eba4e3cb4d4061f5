"""Long talks with questions at their end, as LoCoMo has them: does a window hold the words that answer the question?"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undrift.bench.managers import Message
from undrift.bench.sessions import Case
from undrift.errors import InputError
from undrift.transcripts import Recording
from undrift.values.window import ContextEntry

__all__ = ["TALK_SHARE", "TalkQuestions", "talks_in"]

TALK_SHARE = 0.25
"""The budget, as a share of the talk."""

_QUESTIONS = 20
"""The number for each talk; the hash of their words chooses them."""

_UNANSWERABLE = 5
"""The category of questions that the talk does not answer."""


@dataclass(frozen=True, slots=True)
class TalkQuestions:
    """One talk, and the questions with the words in the talk that answer them.

    Args:
        turns: Who speaks, the first as the user and the other as the agent, and what is said.
    """

    name: str
    turns: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]

    def case(self) -> Case:
        """Return the talk as a session."""
        entries = [
            ContextEntry(
                id=str(number),
                type="reasoning",
                content=said,
                timestamp=0,
                token_count=(len(said) + 3) // 4,
                metadata={"role": role, "kind": "text", "message": number},
            )
            for number, (role, said) in enumerate(self.turns)
        ]
        return Case(self.name, Recording("", tuple(entries), {}, None, None, None, (), unfinished=False))

    def budget_tokens(self, case: Case) -> int:
        """Return the budget of a window for this talk."""
        return int(case.tokens * TALK_SHARE)

    def asking(self, question: str) -> tuple[Message, ...]:
        """Return what is said after the talk: a question of the user, after the agent's last words."""
        asked = {"role": "user", "content": [{"type": "text", "text": question}]}
        ready = {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}
        return (asked,) if self.turns[-1][0] == "assistant" else (ready, asked)


def talks_in(path: Path) -> list[TalkQuestions]:
    """Read a file of LoCoMo's form. Raises InputError: it cannot be read, or has another form."""
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        return [_talk(sample) for sample in samples]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"{path}: is no file of LoCoMo's form ({error!r}); docs/peers.md says where to get one"
        ) from error


def _talk(sample: dict[str, Any]) -> TalkQuestions:
    talk = sample["conversation"]
    sessions = sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    words = {}
    turns = []
    first = ""
    for key in sessions:
        for turn in talk[key]:
            said = turn.get("text") or ""
            if not said.strip():
                continue
            words[turn["dia_id"]] = said
            first = first or turn["speaker"]  # a history begins with the user
            role = "user" if turn["speaker"] == first else "assistant"
            turns.append((role, f"{turn['speaker']}, {talk[key + '_date_time']}: {said}"))
    return TalkQuestions(sample["sample_id"], tuple(turns), tuple(_chosen(sample["qa"], words)))


def _chosen(asked: Sequence[dict[str, Any]], words: dict[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for one in asked:
        places = [place for place in re.split(r"[;, ]+", " ".join(one.get("evidence") or ())) if place in words]
        if places and one["category"] != _UNANSWERABLE:
            found.append((one["question"], tuple(words[place] for place in places)))
    return sorted(found, key=lambda one: hashlib.sha256(one[0].encode()).digest())[:_QUESTIONS]
