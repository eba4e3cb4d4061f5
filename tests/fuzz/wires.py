"""The four wires: request bodies and answers, whole or streamed, that are damaged.

An input begins with ``request WIRE`` or ``answer WIRE``. A request goes through `Session.prepare`, as bytes and as a value,
and its history through `trim`; an answer goes through the reader of streams and `Session.record`.
"""

import copy
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.surface import MEMORY, Surface, Take, head_of
from tests.paste_settings import PasteSettings
from tests.proxy.builders import MODELS, stream_of
from undrift import trim
from undrift.errors import UndriftError
from undrift.session.session import Session
from undrift.testing import Call, ClientHistory, ModelTurn, Result, history_for, simulator_for
from undrift.wire import sse
from undrift.wire.forms import WIRES, form_of

__all__ = ["WIRES_SURFACE"]

_INPUTS_A_HOME = 300
_WORD = re.compile(r"[A-Za-z]{4,}")
_ENDLESS_TOKENS = 10**12


class _Wires:
    """Takes inputs in; a home holds some hundred sessions, then there is a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    def take(self, data: bytes) -> None:
        words, rest = head_of(data)
        if len(words) != 2 or words[1] not in WIRES:
            return
        self._number += 1
        if words[0] == "request":
            self._request(words[1], rest)
        elif words[0] == "answer":
            self._answer(words[1], rest)

    @contextmanager
    def _session(self, budget_tokens: int) -> Iterator[Session]:
        home = self._folder / str(self._number // _INPUTS_A_HOME)
        name = f"s{self._number}-{budget_tokens}"
        settings = PasteSettings(
            budget_tokens=budget_tokens,
            keep_tool_results=1,
            keep_user_text_tokens=40,
            mask_secrets=False,
            token_counter="characters/4",
        )
        with Session.open(name, home=home, settings=settings, clock=lambda: 1_000) as session:
            yield session

    def _request(self, wire: str, body: bytes) -> None:
        refused = self._prepared(wire, body)
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return
        before = _text(value)
        # a value may hold what an SDK takes, as a list of parts, so more of them than of the bytes are taken
        if self._prepared(wire, value) and not _is_uncertain(value, before):
            assert refused, "taken as bytes, and refused as a value"
        if isinstance(value, dict):
            history: Any = value.get(form_of(wire).HISTORY)
            with suppress(UndriftError):
                trim(history, 300, wire=wire)
        assert _text(value) == before, "the request was changed in place"

    def _prepared(self, wire: str, body: Any) -> bool:
        """Prepare a body with much room and with little; tell whether it was refused."""
        model = MODELS[wire]
        with self._session(_ENDLESS_TOKENS) as session:
            try:
                sent = session.prepare(body, wire=wire, model=model)
                assert sent.actions or sent.body is body, "nothing left, and the body is another"
            except UndriftError:
                return True
        with self._session(200) as session:
            prepared = session.prepare(body, wire=wire, model=model)
            again = session.prepare(body, wire=wire, model=model)
            assert _text(again.body) == _text(prepared.body), "the same request again is sent otherwise"
            if prepared.body is not body:
                json.loads(_text(prepared.body))
            whole = {"null", "true", "false", *_WORD.findall(_words(body))}
            for action in prepared.actions:
                if action.ref:
                    lacking = set(_WORD.findall(session.recall(action.ref))) - whole
                    assert not lacking, f"recall gives words that nobody said: {sorted(lacking)[:5]}"
        return False

    def _answer(self, wire: str, body: bytes) -> None:
        found, bare = sse.answer_of(wire, body), sse.answer_of(wire, body, with_text=False)
        if found is not None:
            with suppress(UndriftError):
                read = form_of(wire).reply(found)
                if bare is not None:
                    assert replace(form_of(wire).reply(bare), text="") == replace(read, text="")
        with self._session(200) as session, suppress(UndriftError):
            session.record(body, wire=wire)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value)


def _words(body: Any) -> str:
    """All that a body says, whichever way it is written."""
    text = _text(body)
    with suppress(ValueError, RecursionError):
        text += json.dumps(json.loads(text), ensure_ascii=False)
    return text.replace("\\n", " ").replace("\\t", " ") + text


def _is_uncertain(value: Any, text: str) -> bool:
    """Whether JSON is written in a way that may be refused as bytes and taken as a value."""
    return "NaN" in text or "Infinity" in text or "\\ud" in text or not isinstance(value, dict)


@contextmanager
def _opened() -> Iterator[Take]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        place = Path(folder)
        wires = _Wires(place)

        def take(data: bytes) -> None:
            wires.take(data)
            assert {path.name for path in place.iterdir()} <= {str(n) for n in range(10**4)}, "written beside the home"

        yield take


_said = st.text("ab c\né中", min_size=1, max_size=30).map(lambda text: f"words {text}")
_rounds = st.lists(st.lists(st.integers(0, 600), max_size=3), min_size=1, max_size=5)


def _history(wire: str, rounds: list[list[int]], said: str) -> tuple[ClientHistory, dict[str, Any]]:
    """A conversation in a form, and its last answer."""
    fields: dict[str, Any] = {"thinking": {"type": "adaptive"}} if wire == "anthropic" else {}
    history = history_for(wire, model=MODELS[wire], **fields)
    provider = simulator_for(wire, model=MODELS[wire])
    history.say(said)
    answer: dict[str, Any] = {}
    for number, sizes in enumerate(rounds):
        calls = tuple(Call("Read", {"path": f"file{at}.py"}) for at in range(len(sizes)))
        turn = ModelTurn(f"round {number}: {said}", calls, "hm" if number % 2 else None)
        answer = provider.send(history.body(), turn=turn, model=MODELS[wire]).body
        history.take(answer)
        if sizes:
            history.answer([Result(f"result {number} " + "listing line\n" * size, size % 5 == 0) for size in sizes])
        else:
            history.say(f"and {number}")
    return history, answer


def _input(wire: str, rounds: list[list[int]], said: str, kind: str) -> bytes:
    history, answer = _history(wire, rounds, said)
    if kind == "request":
        body = json.dumps(history.body(), ensure_ascii=False).encode()
    else:
        body = b"".join(stream_of(wire, copy.deepcopy(answer))) if kind == "stream" else json.dumps(answer).encode()
    return f"{'request' if kind == 'request' else 'answer'} {wire}\n".encode() + body


WIRES_SURFACE = Surface(
    "wires",
    _opened,
    st.builds(
        _input, st.sampled_from(WIRES), _rounds, _said, st.sampled_from(["request", "request", "stream", "whole"])
    ),
    (
        *(b'"', b"\\ud83d", b"{", b"}", b"[]", b",", b'"role":"user"', b'"type":"tool_result"', b'"tool_use_id":"x"'),
        *(b"data: ", b"event: error\n", b"[DONE]", b": ping\n\n", b'"stream":true', b'"previous_response_id":"r"'),
        *(b'"cache_control":{"type":"ephemeral"}', b"\xef\xbb\xbf", b'"a":1,"a":2,', b"9" * 5_000, b"-0.0", b"1e400"),
    ),
)
"""Bodies and answers of the four wires."""
