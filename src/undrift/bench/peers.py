"""Other managers of context windows, each as its own documents say to use it, if it is installed.

Law: nothing is imported until it is measured; what is absent is named with the reason. A peer sees the history alone
and is counted by our counter. One that writes files or opens connections runs in a process of its own, without network
as far as that can be known, in a folder that is removed.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from undrift.bench.sessions import Case
from undrift.errors import UndriftError
from undrift.recordings.replay.texts import Text
from undrift.settings import Settings

__all__ = ["Managed", "Peer", "installed"]


class Managed(Protocol):
    """A session as a peer sends it."""

    def window(self, number: int) -> Sequence[Text]:
        """Give the texts of the prompt whose answer is the message of this number. Call it with ascending numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer that is installed."""

    name: str
    package: str
    version: str
    start: Callable[[Case, int], AbstractContextManager[Managed]]


def installed() -> tuple[list[Peer], list[str]]:
    """Return the peers that can be measured here, and of the others why not."""
    peers: list[Peer] = []
    skipped: list[str] = []
    for find in (_trim, _clear, _compress):
        try:
            peers.append(find())
        except (ImportError, AttributeError, PackageNotFoundError) as error:
            skipped.append(f"{find.__doc__}: not installed, or another version of it ({error})")
    return peers, skipped


def _trim() -> Peer:
    """langchain_core trim_messages"""
    core = importlib.import_module("langchain_core.messages")
    trim = core.trim_messages

    def start(case: Case, budget: int) -> AbstractContextManager[Managed]:
        chain = _Chain(case, core)

        def edit(messages: list[Any]) -> list[Any]:
            kept: list[Any] = trim(
                messages,
                max_tokens=budget,
                token_counter=chain.count,
                strategy="last",
                include_system=True,
                start_on=("human", "ai"),
            )
            return kept

        chain.edit = edit
        return nullcontext(chain)

    return Peer("langchain_core trim_messages", "langchain-core", version("langchain-core"), start)


def _clear() -> Peer:
    """langchain ClearToolUsesEdit"""
    core = importlib.import_module("langchain_core.messages")
    clear = importlib.import_module("langchain.agents.middleware.context_editing").ClearToolUsesEdit

    def start(case: Case, budget: int) -> AbstractContextManager[Managed]:
        chain = _Chain(case, core)
        act = clear(trigger=budget, keep=Settings().keep_tool_results)

        def edit(messages: list[Any]) -> list[Any]:
            act.apply(messages, count_tokens=chain.count)  # puts new messages into the list, and changes none
            return messages

        chain.edit = edit
        return nullcontext(chain)

    return Peer("langchain ClearToolUsesEdit", "langchain", version("langchain"), start)


class _Chain:
    """A history in langchain's messages: one for a text of the user's, one for each result, one for what the agent says."""

    def __init__(self, case: Case, core: Any) -> None:
        self.edit: Callable[[list[Any]], list[Any]] = list
        self._texts: dict[str, tuple[str, list[Text]]] = {}
        self._count = case.count
        self._messages: list[Any] = []
        self._ends: list[int] = []
        if case.texts.system:
            self._put(core.SystemMessage, "\n".join(text for text, _ in case.texts.system), list(case.texts.system))
        for message in case.history.messages:
            self._ends.append(len(self._messages))
            blocks = list(zip(message["content"], case.texts.of_message(message), strict=True))
            said = [(block["text"], text) for block, text in blocks if block["type"] == "text"]
            spoken, told = "\n".join(words for words, _ in said), [text for _, text in said]
            if message["role"] == "assistant":
                calls = [(block, text) for block, text in blocks if block["type"] == "tool_use"]
                tools = [{"name": b["name"], "args": _object(b["input"]), "id": b["id"]} for b, _ in calls]
                self._put(core.AIMessage, spoken, [*told, *(text for _, text in calls)], tool_calls=tools)
                continue
            for block, text in blocks:
                if block["type"] == "tool_result":
                    self._put(core.ToolMessage, block["content"], [text], tool_call_id=block["tool_use_id"])
            if said:
                self._put(core.HumanMessage, spoken, told)

    def _put(self, kind: Any, content: str, texts: list[Text], **more: Any) -> None:
        id_ = str(len(self._messages))
        self._messages.append(kind(content=content, id=id_, **more))
        self._texts[id_] = (content, texts)

    def window(self, number: int) -> Sequence[Text]:
        kept = self.edit(self._messages[: self._ends[number]])
        return [text for message in kept for text in self._of(message)]

    def count(self, messages: Sequence[Any]) -> int:
        """Count as every other system is counted."""
        return sum(tokens for message in messages for _, tokens in self._of(message))

    def _of(self, message: Any) -> list[Text]:
        content, texts = self._texts[message.id]
        return texts if message.content == content else [(message.content, self._count(message.content))]


def _object(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {"input": given}


# ------------------------------------------------------------------------------------------------- in a process of its own

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
    done = compress(given, model=asked["model"], model_limit=asked["limit"], kompress_model="disabled")
    print(json.dumps(done.messages), file=answers, flush=True)
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


def _compress() -> Peer:
    """headroom compress"""
    if importlib.util.find_spec("headroom") is None:
        raise ImportError("No module named 'headroom'")
    return Peer("headroom compress", "headroom-ai", version("headroom-ai"), _headroom)


@contextmanager
def _headroom(case: Case, budget: int) -> Iterator[Managed]:
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
                worker = _Worker(case, budget, process)
                worker.hear()
                yield worker
            finally:
                process.kill()


class _Worker:
    """The other end of the process: sends what is new, hears the whole window."""

    def __init__(self, case: Case, budget: int, process: "subprocess.Popen[str]") -> None:
        self._case = case
        self._budget = budget
        self._process = process
        self._sent = 0

    def window(self, number: int) -> Sequence[Text]:
        new = self._case.history.messages[self._sent : number]
        self._sent = number
        assert self._process.stdin is not None  # asked for as a pipe
        asked = {"new": new, "model": self._case.model or _MODEL, "limit": self._budget}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._read(self.hear())

    def hear(self) -> Any:
        """Wait for one answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "its process ended"}
        if isinstance(answer, dict) and "error" in answer:
            raise UndriftError(f"headroom cannot be measured: {answer['error']}; uninstall it, or mend it")
        return answer

    def _read(self, messages: Sequence[dict[str, Any]]) -> list[Text]:
        """Read its messages: what it left alone is known, what it changed is counted."""
        texts: list[Text] = list(self._case.texts.system)
        history = self._case.history.messages
        for place, message in enumerate(messages):
            if place < len(history) and message == history[place]:
                texts += self._case.texts.of_message(history[place])
                continue
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts += self._case.texts.of_message({**message, "content": blocks})
        return texts
