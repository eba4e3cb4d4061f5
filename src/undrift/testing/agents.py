"""An agent that follows a script: a prompt on stdin, the result block that the script has for it on stdout.

Law: runs nothing and asks no other process; the same prompt and script give the same answer, so a dispatch can be tried and shown
without any agent program.

::

    python -m undrift.testing.agents implementer script.json < prompt

The script is an object: for each role, by the id of the task, a list with a step for each attempt. A step may have
``result`` (fields of the result, over those of one that went well), ``expects`` (texts that the prompt must hold; where
one is missing, the answer says so and is no success), ``print`` (printed as it is, in place of a block), ``sleep_s`` and
``exit`` (an exit code). A task or an attempt that the script does not name goes well.
"""

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from undrift.core.dispatch.contracts import BEGIN, END
from undrift.core.dispatch.plan import ROLES

__all__ = ["answer", "main"]

_TAIL = re.compile(r"^Task ID: (\S+)\nMax output tokens: \d+\nDelta context: (\{.*\})$", re.MULTILINE)


def answer(role: str, script: Mapping[str, Any], prompt: str) -> tuple[str, Mapping[str, Any]]:
    """Return what the agent prints, and the step of the script that it followed.

    Raises ValueError: the prompt is none of a dispatcher.
    """
    found = _TAIL.search(prompt)
    if found is None:
        raise ValueError("no line 'Task ID:' with its delta: pipe a prompt of undrift agent dispatch into stdin")
    task_id, delta = found[1], json.loads(found[2])
    steps = script.get(role, {}).get(task_id, [])
    attempt = delta.get("attempt", 1)
    step: Mapping[str, Any] = steps[attempt - 1] if attempt <= len(steps) else {}
    if "print" in step:
        return str(step["print"]), step
    missing = [text for text in step.get("expects", ()) if text not in prompt]
    fields = _result(role, task_id, delta) | step.get("result", {}) | (_failed(role, missing) if missing else {})
    return f"Attempt {attempt} at task {task_id}.\n{BEGIN}\n{json.dumps(fields)}\n{END}\n", step


def main(arguments: Sequence[str]) -> int:
    """Answer the prompt on stdin; return the exit code."""
    if len(arguments) != 2 or arguments[0] not in ROLES:
        sys.stderr.write(f"usage: python -m undrift.testing.agents {'|'.join(ROLES)} SCRIPT.json < prompt\n")
        return 2
    try:
        script = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
        text, step = answer(arguments[0], script, sys.stdin.buffer.read().decode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    time.sleep(step.get("sleep_s", 0))
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
    return int(step.get("exit", 0))


def _result(role: str, task_id: str, delta: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a result that went well; it says what it did of what was asked for."""
    if role == "reviewer":
        return {"task_id": task_id, "assessment": "approved", "strengths": [], "issues": [], "required_fixes": []}
    fixes = delta.get("required_fixes", [])
    done = f"Did what the review asked for: {' '.join(fixes)}" if fixes else f"Did task {task_id}."
    return {
        "task_id": task_id,
        "status": "completed",
        "summary": done,
        "files_changed": delta.get("files", []),
        "tests": [],
        "follow_up_actions": [],
    }


def _failed(role: str, missing: Sequence[str]) -> dict[str, Any]:
    said = f"the prompt does not hold {json.dumps(list(missing))}"
    return (
        {"status": "failed", "summary": said}
        if role == "implementer"
        else {"assessment": "blocked", "issues": [{"message": said}]}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
