"""What the tests of the OpenAI simulators say and ask, in both forms."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from undrift.testing.simulators.base import Answered, Call, ModelTurn, Refused

STEPS = (
    ModelTurn("Looking.", (Call("read", {"path": "a"}), Call("read", {"path": "b"})), thinking="Two files."),
    ModelTurn("", (Call("run", {"command": "make"}), Call("run", {"command": "ls"})), thinking=""),
    ModelTurn("Half done.", (Call("write", {"path": "c", "text": "x" * 40}),)),
)
DONE = ModelTurn("Done.")


def refusal(send: Callable[[], Answered]) -> Refused:
    with pytest.raises(Refused) as caught:
        send()
    error = caught.value.body["error"]
    assert caught.value.text == error["message"]
    return caught.value


def user(text: str = "Go.") -> dict[str, Any]:
    return {"role": "user", "content": text}


def without(listed: list[dict[str, Any]], *positions: int) -> list[dict[str, Any]]:
    return [copy.deepcopy(one) for at, one in enumerate(listed) if at not in positions]
