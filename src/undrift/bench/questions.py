"""Texts to remember with questions about them: from a file, or made from memories without a model.

Law: only reads. A question counts a hit as right by the number of a text, never by its words.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

from undrift.core.memory.retrieve import STOP_WORDS
from undrift.core.text.words import words_of
from undrift.errors import InputError
from undrift.values.memory import Trust

__all__ = ["AskedTexts", "RememberedText", "asked_in", "asked_of", "own_questions"]

_MOST_BYTES = 256 << 20
_SESSION = re.compile(r"session_(\d+)")
_ADVERSARIAL = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST_WORDS = 4
_MOST_QUESTIONS = 200
_OUR_QUESTIONS = "questions.json"


@dataclass(frozen=True, slots=True)
class RememberedText:
    """A text as it is remembered."""

    text: str
    source: str = ""
    speaker: str = ""
    trust: Trust = "assistant"


@dataclass(frozen=True, slots=True)
class AskedTexts:
    """Texts of one home, and questions with the places of the texts that answer them."""

    texts: Sequence[RememberedText]
    questions: Sequence[tuple[str, frozenset[int]]]


def own_questions() -> list[AskedTexts]:
    """Return the questions that come with undrift: statements about a software project, asked in other words."""
    return _ours(json.loads(files("undrift.bench").joinpath(_OUR_QUESTIONS).read_text(encoding="utf-8")))


def asked_in(path: Path) -> list[AskedTexts]:
    """Read a LoCoMo file, a folder of BEAM, or a file in the form of `questions.json`.

    Raises InputError: it is none of them.
    """
    try:
        if path.is_dir():
            folders = sorted(one.parent for one in path.rglob("chat.json"))
            found = [_beam(_json(one / "chat.json"), _json(one / "probing_questions.json")) for one in folders]
        else:
            given = _json(path)
            found = [_locomo(one) for one in given] if isinstance(given, list) else _ours(given)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {_FORMS} ({type(error).__name__}: {str(error)[:100]})") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if not any(one.questions for one in found):
        raise InputError(f"{path}: it holds no question with its answer; {_FORMS}")
    return found


_FORMS = (
    'give a LoCoMo file, a folder with chat.json and probing_questions.json of BEAM, or {"texts": ["..."], '
    '"questions": [["...", [0]]]}'
)


def asked_of(texts: Sequence[RememberedText]) -> AskedTexts:
    """Make questions from memories: the same memories give the same ones.

    In a memory of several sentences, one is held back and asks for the rest. A single sentence is asked for by half of its
    words, without the rarest, which would give it away.
    """
    seen: Counter[str] = Counter(word for one in texts for word in set(_content(one.text)))
    kept = list(texts)
    questions: list[tuple[str, frozenset[int]]] = []
    for place in sorted(range(len(texts)), key=lambda place: crc32(texts[place].text.encode("utf-8", "replace"))):
        if len(questions) == _MOST_QUESTIONS:
            break
        question, rest = _held_back(texts[place].text, seen)
        if question:
            kept[place] = RememberedText(rest, texts[place].source, texts[place].speaker, texts[place].trust)
            questions.append((question, frozenset([place])))
    return AskedTexts(kept, questions)


def _held_back(text: str, seen: Mapping[str, int]) -> tuple[str, str]:
    """Return a question and the text that it asks for; an empty question if the text is too short for one."""
    sentences = [one.strip() for one in _SENTENCE.split(text) if one.strip()]
    asking = [one for one in sentences if len(set(_content(one))) >= _LEAST_WORDS]
    if len(asking) > 1:
        chosen = asking[crc32(text.encode("utf-8", "replace")) % len(asking)]
        return chosen, text.replace(chosen, "", 1).strip()
    words = list(dict.fromkeys(_content(text)))
    if len(words) < 2 * _LEAST_WORDS - 1:
        return "", text
    words.remove(min(words, key=lambda word: (seen[word], word)))
    return " ".join(words[crc32(text.encode("utf-8", "replace")) % 2 :: 2]), text


def _content(text: str) -> list[str]:
    return [word for word in words_of(text[:10_000]) if word not in STOP_WORDS]


# ----------------------------------------------------------------------------------------------------------- the forms


def _json(path: Path) -> Any:
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path}: it has more than {_MOST_BYTES >> 20} MiB")
    return json.loads(path.read_text(encoding="utf-8"))


def _ours(given: Mapping[str, Any]) -> list[AskedTexts]:
    texts = [
        RememberedText(one)
        if isinstance(one, str)
        else RememberedText(str(one["text"]), str(one.get("source", "")), str(one.get("speaker", "")))
        for one in given["texts"]
    ]
    questions: list[tuple[str, frozenset[int]]] = []
    for question, places in given["questions"]:
        right = frozenset(place for place in places if 0 <= place < len(texts))
        if len(right) != len(places) or not right or not isinstance(question, str):
            raise InputError(f"the question {str(question)[:80]!r} needs the places of its texts, from 0")
        questions.append((question, right))
    return [AskedTexts(texts, questions)]


def _locomo(sample: Mapping[str, Any]) -> AskedTexts:
    """Read a conversation; questions without evidence and adversarial ones are left out."""
    talk = sample["conversation"]
    texts: list[RememberedText] = []
    places: dict[Any, int] = {}
    for number, name in sorted((int(match[1]), name) for name in talk if (match := _SESSION.fullmatch(name))):
        for turn in talk[name]:
            picture = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            said = ((turn.get("text") or "") + picture).strip()
            if said:
                places[turn["dia_id"]] = len(texts)
                texts.append(RememberedText(said, f"session {number}", turn["speaker"]))
    questions = []
    for one in sample["qa"]:
        named = re.split(r"[;, ]+", " ".join(one.get("evidence") or []))
        right = frozenset(places[name] for name in named if name in places)
        if right and one["category"] != _ADVERSARIAL:
            questions.append((str(one["question"]), right))
    return AskedTexts(texts, questions)


def _beam(chat: Any, asked: Mapping[str, Any]) -> AskedTexts:
    """Read a conversation with an assistant; a question needs the numbers of the messages that answer it."""
    texts: list[RememberedText] = []
    places: dict[Any, int] = {}
    for number, block in enumerate(chat):
        for message in (one for turn in block["turns"] for one in turn):
            said = re.sub(r"->->.*$", "", message["content"]).strip()
            if said:
                places[message["id"]] = len(texts)
                texts.append(RememberedText(said, f"session {number}", message["role"]))
    questions = []
    for row in (one for rows in asked.values() for one in rows):
        right = frozenset(places[number] for number in _numbers(row.get("source_chat_ids")) if number in places)
        if right:
            questions.append((str(row["question"]), right))
    return AskedTexts(texts, questions)


def _numbers(value: Any) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)
