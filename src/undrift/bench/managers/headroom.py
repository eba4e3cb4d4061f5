"""headroom compress: texts are shortened, nothing leaves.

It writes files and opens connections, so it runs in a process of its own, in a folder that is removed, and without
network as far as its settings allow.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from undrift.bench.managers import Fit, Message, WindowManager
from undrift.bench.sessions import Case
from undrift.errors import UndriftError

__all__ = ["find"]

_WORKER = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
try:
    from headroom import compress
except Exception as error:
    print(json.dumps({"error": repr(error)}), file=answers, flush=True)
    sys.exit(1)
print(json.dumps({"ready": True}), file=answers, flush=True)
history = []
for line in sys.stdin:
    asked = json.loads(line)
    history += asked["new"]
    given = json.loads(json.dumps(history))
    done = compress(given, model=asked["model"], model_limit=asked["limit"], kompress_model="disabled").messages
    same = [a == b for a, b in zip(done, history)]
    print(json.dumps([None if same[i:i + 1] == [True] else m for i, m in enumerate(done)]), file=answers, flush=True)
"""

_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HEADROOM_BEACON": "off",
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_TELEMETRY": "off",
    "HF_HUB_OFFLINE": "1",
    "PYTHONUTF8": "1",
    "TRANSFORMERS_OFFLINE": "1",
}
"""Its whole environment: the session's text must not leave this machine, nor stay in any home."""

_MODEL = "claude-sonnet-4-5"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    if importlib.util.find_spec("headroom") is None:
        raise ImportError("No module named 'headroom'")
    how = "model_limit = budget, its model for texts off; it keeps no budget"
    return WindowManager("headroom compress", "headroom-ai", version("headroom-ai"), how, _start)


@contextmanager
def _start(case: Case) -> Iterator[Fit]:
    with tempfile.TemporaryDirectory(prefix="undrift-drift-") as home:
        environment = {
            **_ENVIRONMENT,
            "HOME": home,
            "USERPROFILE": home,
            "HEADROOM_WORKSPACE_DIR": home,
            "HEADROOM_CONFIG_DIR": home,
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        }
        process = subprocess.Popen(  # noqa: S603 - our own words, without a shell
            [sys.executable, "-c", _WORKER],
            cwd=home,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        with process:
            try:
                worker = _Worker(case.model or _MODEL, process)
                worker.hear()
                yield worker.fit
            finally:
                process.kill()


class _Worker:
    """The other end of the process: sends what is new, hears the whole window."""

    def __init__(self, model: str, process: "subprocess.Popen[str]") -> None:
        self._model = model
        self._process = process
        self._sent = 0

    def fit(self, messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        """Let it manage one turn."""
        asked = {"new": messages[self._sent :], "model": self._model, "limit": budget_tokens}
        self._sent = len(messages)
        assert self._process.stdin is not None  # asked for as a pipe
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return [messages[place] if sent is None else _read(sent) for place, sent in enumerate(self.hear())]

    def hear(self) -> Any:
        """Wait for one answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "its process ended"}
        if isinstance(answer, dict) and "error" in answer:
            raise UndriftError(f"headroom cannot be measured: {answer['error']}; uninstall it, or mend it")
        return answer


def _read(message: Message) -> Message:
    """Give a message that it changed: a text alone becomes a block."""
    content = message["content"]
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message
