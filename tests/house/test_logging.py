"""The library's loggers: one name with a child for each room, and nothing that a program has to take back."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import undrift
from tests.builders import call, result
from undrift import Session, Settings

PACKAGE = Path(undrift.__file__).parent
ROOMS = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
SECRET = "sk-ant-api03-" + "q7Xw" * 20
SAID = "the words of the user about the harbour"

PROGRAM = """
import importlib, json, logging, pkgutil, undrift
for module in pkgutil.walk_packages(undrift.__path__, "undrift."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError:
            pass  # an extra is not installed
root = logging.getLogger()
found = {
    name: (len(log.handlers), log.level, log.propagate, len(log.filters))
    for name, log in logging.root.manager.loggerDict.items()
    if name.split(".")[0] == "undrift" and isinstance(log, logging.Logger)
}
print(json.dumps({"found": found, "root": [len(root.handlers), root.level], "disabled": logging.root.manager.disable}))
"""


def test_the_library_sets_no_handler_no_level_and_no_propagation():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert len(seen["found"]) > 8
    assert {name: state for name, state in seen["found"].items() if state != [0, 0, True, 0]} == {}
    assert [
        name for name in seen["found"] if name != "undrift" and name.split(".")[1:] not in [[r] for r in ROOMS]
    ] == []
    assert seen["root"] == [0, logging.WARNING]
    assert seen["disabled"] == 0


def test_each_logger_is_named_after_its_room():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        for name in re.findall(r'getLogger\("([^"]*)"\)', path.read_text(encoding="utf-8")):
            room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
            if name != f"undrift.{room}" and room != "cli":  # the commands configure the log of the program
                wrong.append((str(path), name))
    assert wrong == []


def _turns(session: Session, rounds: int, characters: int) -> None:
    messages: list[Any] = [{"role": "user", "content": f"{SAID}, and the key {SECRET}"}]
    for n in range(rounds):
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}
        session.prepare(body)
        asked = [{"type": "text", "text": SAID}, call(f"toolu_{n:08}", path=f"{SAID}.py")]
        session.record({"content": asked, "usage": {"input_tokens": 900, "output_tokens": 9}})
        told = [result(f"toolu_{n:08}", f"{n} {SAID} {SECRET} ".ljust(characters, "x"))]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": told}]


def test_sixty_turns_over_a_budget_write_nothing_above_info_and_no_word_of_the_conversation(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "undrift")
    with Session.open("s", home=tmp_path, settings=Settings(budget_tokens=6_000)) as session:
        _turns(session, 60, 2_000)
    records = [record for record in caplog.records if record.name.startswith("undrift")]
    assert {record.levelname for record in records} == {"DEBUG", "INFO"}
    assert [record.getMessage() for record in records if "\n" in record.getMessage()] == []
    pruned = [record.getMessage() for record in records if record.levelno == logging.INFO]
    assert pruned
    assert all(re.match(r"session 's': .*(pruned|cut|trimmed) \d+", line) for line in pruned)
    assert len([record for record in records if ": turn; " in record.getMessage()]) == 60
    whole = " ".join(record.getMessage() for record in records)
    assert "harbour" not in whole
    assert SECRET[:20] not in whole


def test_a_turn_where_nothing_leaves_writes_nothing_above_debug(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "undrift")
    with Session.open("s", home=tmp_path, settings=Settings(budget_tokens=100_000)) as session:
        _turns(session, 5, 200)
    assert {record.levelname for record in caplog.records if record.name.startswith("undrift")} == {"DEBUG"}
