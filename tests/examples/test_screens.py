"""Each example runs with one command, offline, and prints what examples/README.md shows."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, QUESTIONS, SCREENS, ask, figures_shown, run, screens, server
from tests.long_form import only_long

SHOWN = dict(screens())
SERVER = "fastapi_app.py"
LONGEST_LOOP_LINES = 60


def test_every_example_has_a_screen() -> None:
    programs = {
        path.relative_to(EXAMPLES).as_posix() for path in [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("loops/*.py")]
    }
    helpers = {"offline.py", "demo_plan.py", "record_demo.py"}
    shown = {name for name in programs if any(name in command for command in SHOWN)}
    assert programs - helpers - {SERVER} == shown - helpers
    assert SERVER in SCREENS.read_text(encoding="utf-8")


def test_a_connection_is_noticed(tmp_path: Path) -> None:
    program = tmp_path / "calls_home.py"
    program.write_text("import socket\nsocket.socket().connect(('192.0.2.1', 9))\n")
    assert "a connection: socket.connect" in run(["examples/offline.py", str(program)], tmp_path).stderr


@pytest.mark.parametrize("command", SHOWN)
def test_an_example_prints_its_screen(command: str, tmp_path: Path) -> None:
    """The budget bites in each: so the screen names what left."""
    done = run(command.split(), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == SHOWN[command], "python -m tests.examples.running writes the screens again"


@only_long
def test_forked_processes_print_the_same_as_spawned_ones(tmp_path: Path) -> None:
    command = "examples/offline.py examples/worker_processes.py "
    done = run([*command.split(), "fork"], tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", SHOWN[f"{command}spawn"])


def test_a_loop_is_short_and_knows_nothing_of_the_script() -> None:
    for path in (EXAMPLES / "loops").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= LONGEST_LOOP_LINES
        assert "testing" not in text


def test_a_server_keeps_its_users_apart_and_in_budget(tmp_path: Path) -> None:
    """The budget of 8,000 tokens bites from the sixth question of a user."""
    with server(tmp_path) as address, ThreadPoolExecutor(2) as pool:
        figures = [ask(address, "ann", "refunds")[1] for _ in range(QUESTIONS)]
        assert "\n".join(figures) == figures_shown(SCREENS.read_text(encoding="utf-8"))
        asked = [pool.submit(ask, address, *who) for who in [("ann", "refunds"), ("bob", "taxes")] * 3]
        for number, future in enumerate(asked):
            text, line = future.result()
            mine, theirs = ("taxes", "refunds") if number % 2 else ("refunds", "taxes")
            assert f"about {mine}" in text
            assert theirs not in text
            assert f'"chat-{"bob" if number % 2 else "ann"}"' in line
            assert '"bypass": null' in line
        assert '"chat-J%C3%B6rg%20%0A"' in ask(address, "J%C3%B6rg%20%0A", "taxes")[1]
