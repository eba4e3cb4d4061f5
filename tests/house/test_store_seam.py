"""Only stores/ knows that there is a database."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.laws import Source
from tests.house.trees import nodes

SOURCE = Path(__file__).parents[2] / "src" / "undrift"
SQL = re.compile(
    r"\s*(SELECT |INSERT INTO |UPDATE \w+ SET |DELETE FROM |PRAGMA |CREATE (TABLE|INDEX|VIRTUAL) |BEGIN IMMEDIATE)"
)


def leaks(text: str) -> Iterator[str]:
    """Give what a module outside stores/ must not do."""
    for node in nodes(text):
        match node:
            case ast.Constant(value=str(value)) if SQL.match(value):
                yield f"line {node.lineno}: SQL"
            case ast.Name(id="SqliteStore") | ast.alias(name="SqliteStore"):
                yield f"line {node.lineno}: names an engine; `undrift.stores.opening.open_store` gives a store"
            case ast.Attribute(attr="using" | "_database"):
                yield f"line {node.lineno}: borrows a connection"
            case ast.Import(names=names) if {"apsw", "sqlite3"} & {one.name.split(".")[0] for one in names}:
                yield f"line {node.lineno}: imports the driver"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in ("apsw", "sqlite3"):
                yield f"line {node.lineno}: imports the driver"


def test_nothing_outside_stores_knows_the_database():
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("stores/"):
            found += [f"{name}, {leak}" for leak in leaks(Source(name, path.read_text(encoding="utf-8")).text)]
    assert not found, "\n".join(found)


def test_a_leak_is_named():
    text = 'from undrift.stores.sqlite import SqliteStore\nimport apsw\nfrom sqlite3 import connect\nX = "SELECT 1"\nwith store.using() as c: pass\n'
    assert len(list(leaks(text))) == 5
