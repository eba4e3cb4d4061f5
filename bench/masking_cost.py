"""The other two figures of the mask: the characters that it hides of recorded sessions, and the time that it takes."""

import base64
import hashlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["LOOP", "alarms", "cost"]

_ROOT = Path(__file__).parents[1]
_LEAST_CHARACTERS = 12  # of a recorded text: a shorter one holds no secret
LOOP = 3_000_000

Mask = Callable[[str], Any]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def alarms(mask: Mask, folders: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    """Count what is masked of recorded sessions, each text once; the second value holds the texts, and is not for a file."""
    seen: set[bytes] = set()
    characters = masked = 0
    values: dict[str, Counter[str]] = defaultdict(Counter)
    paths = sorted(path for folder in folders for path in folder.rglob("*.jsonl"))
    for path in paths:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            for text in _texts(row):
                digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
                if len(text) < _LEAST_CHARACTERS or digest in seen:
                    continue
                seen.add(digest)
                characters += len(text)
                for span in mask(text).spans:
                    masked += span.length
                    values[span.name][text[span.start : span.start + span.length]] += 1
    return {"recordings": len(paths), "characters": characters, "masked": masked}, values


def _loop_seconds() -> float:
    started, number = time.process_time(), 0
    for _ in range(LOOP):
        number += 1  # noqa: SIM113 - the loop is the measure
    return time.process_time() - started


def _cost_texts(kinds: Sequence[str]) -> dict[str, str]:
    """Return a megabyte of each usual text, and one of the canaries."""
    rng, size = random.Random(1), 1_000_000
    words = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split()
    logs = (
        f"2026-01-02T03:04:{i % 60:02} INFO \x1b[32m[{i:x}]\x1b[0m GET /api/v1/items?id={i}&page=2 200"
        f" {rng.getrandbits(128):032x} {i * 7}ms\n"
        for i in range(12_000)
    )
    rows = [
        {"id": i, "sha": f"{rng.getrandbits(160):040x}", "token_count": i, "path": f"/srv/{i}/a.py"}
        for i in range(12_000)
    ]
    line = " ".join(kinds)
    texts = {
        "prose": " ".join(rng.choice(words) for _ in range(170_000)),
        "code": "".join(  # not core/text: its rules hold the beginning of every token
            path.read_text(encoding="utf-8")
            for path in sorted((_ROOT / "src").rglob("*.py"))
            if path.parent.name != "text"
        ),
        "logs": "".join(logs),
        "JSON": json.dumps(rows),
        "base64": base64.b64encode(rng.randbytes(750_000)).decode(),
        "canaries": line * (size // len(line) + 1),
    }
    return {name: text[:size] for name, text in texts.items()}


def cost(mask: Mask, kinds: Sequence[str]) -> dict[str, float]:
    """Say how many loops of 3,000,000 additions a megabyte of each text takes, at best of three."""
    found = {}
    for name, text in _cost_texts(kinds).items():
        ratios = []
        for _ in range(3):
            loop, started = _loop_seconds(), time.process_time()
            mask(text)
            ratios.append((time.process_time() - started) / loop / len(text) * 1e6)
        found[name] = round(min(ratios), 2)
    return found
