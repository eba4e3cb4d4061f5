"""The table of clients is its data, and each cell can be followed: to a test that is there, a fixture, or a source."""

import ast
import re
from pathlib import Path

import pytest

from tests.clients import grades
from tests.clients.grades import COLUMNS, GRADED, Cell, Client
from tests.clients.programs import ROOT
from tests.clients.recordable import RECORDABLE
from tests.transcripts.recordings import RECORDED_FROM, fixture
from undrift import clients, transcripts
from undrift.clients.wrapped import WRAPPED
from undrift.profiles import PROFILES

CELLS = [(client, column, client.cell(column)) for client in GRADED for column in COLUMNS]
OF_GRADE = {grade: [one for one in CELLS if one[2].grade == grade] for grade in ("recorded", "source", "not tried")}
NAMES = [f"{client.title}, {column}" for client, column, _ in OF_GRADE["recorded"]]


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return "".join(ast.unparse(decorator) for decorator in function.decorator_list)


def problem_of(test: str) -> str:
    """Say what is wrong with the name of a test; empty if it is there."""
    path, _, named = test.partition("::")
    name, _, parameter = named.rstrip("]").partition("[")
    if not (ROOT / path).is_file():
        return f"{path} is not there"
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        return f"{path} has no test {name}"
    if parameter and not (
        "parametrize" in parameters_of(found[0]) and (f'"{parameter}"' in text or parameter in RECORDABLE)
    ):
        return f"{name} is not run for {parameter}"
    return ""


def test_the_page_is_what_the_data_says():
    assert grades.PAGE.read_text(encoding="utf-8") == grades.page(), "run python -m tests.clients.grades --write"


@pytest.mark.parametrize(("client", "column", "cell"), OF_GRADE["recorded"], ids=NAMES)
def test_a_recorded_cell_names_a_test_of_the_real_program_that_make_clients_runs(
    client: Client, column: str, cell: Cell
):
    assert problem_of(cell.test) == ""
    path = cell.test.partition("::")[0]
    assert Path(path).name.startswith("real_")
    assert path in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert client.version
    assert not cell.source


@pytest.mark.parametrize("client", [client for client in GRADED if client.version], ids=lambda client: client.title)
def test_the_version_is_the_one_that_make_clients_installs(client: Client):
    pinned = re.search(rf"^{client.pin} \?= (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned
    assert pinned[1] == client.version


def test_recorded_recordings_have_a_fixture_of_the_same_program_and_version():
    recorded = {cell.fixture: client for client, column, cell in OF_GRADE["recorded"] if column == "recordings"}
    assert set(recorded) == set(RECORDED_FROM)
    for name, client in recorded.items():
        assert (RECORDED_FROM[name]["program"], RECORDED_FROM[name]["version"]) == (client.title, client.version)
        assert fixture(name).stat().st_size > 0


def test_a_cell_that_was_read_names_its_source_with_a_version_or_commit():
    for _, _, cell in OF_GRADE["source"]:
        assert re.search(r"^npm \S+ \d+\.\d+\.\d+$|^github\.com/\S+/\S+ at [0-9a-f]{7}, ", cell.source)
        assert not cell.test


def test_a_cell_that_was_not_tried_claims_nothing():
    assert all(cell == Cell() for _, _, cell in OF_GRADE["not tried"])


def test_every_reader_and_every_client_of_a_command_has_its_cell():
    read = {client.title for client, column, cell in CELLS if column == "recordings" and cell.grade != "not tried"}
    assert len(read) == len(transcripts.FORMATS)
    titles = {client.title for client in GRADED}
    named = {*clients.CLIENTS, *clients.SERVED, *WRAPPED}
    assert {PROFILES[name].title for name in named} <= titles


def test_the_counts_are_those_of_the_cells():
    found = grades.counts()
    assert sum(found.values()) == len(GRADED) * len(COLUMNS)
    assert found["recorded"] == len(OF_GRADE["recorded"])


def test_a_test_that_is_not_there_is_found():
    assert problem_of("tests/clients/none_such.py::test_a") == "tests/clients/none_such.py is not there"
    assert problem_of("tests/clients/test_grades.py::test_a") == "tests/clients/test_grades.py has no test test_a"
    own = "test_the_page_is_what_the_data_says"
    assert problem_of(f"tests/clients/test_grades.py::{own}") == ""
    assert problem_of(f"tests/clients/test_grades.py::{own}[x]") == f"{own} is not run for x"
