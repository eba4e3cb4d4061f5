"""Every law of the code holds in every file, and every law can fail."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house import laws
from tests.house.laws import Source

ROOT = Path(__file__).parents[2]
PACKAGE = "src/undrift/"
PURE_FLOORS = (f"{PACKAGE}core/", f"{PACKAGE}profiles/", f"{PACKAGE}wire/", f"{PACKAGE}transcripts/")

Law = Callable[[Source], Iterator[str]]


def sources(*folders: str) -> list[Source]:
    """Read all Python files under the folders, sorted by path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [source(path) for path in paths]


@cache
def source(path: Path) -> Source:
    """Read a file once for all laws: taking it apart is most of the work."""
    return Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def breaches(law: Law, files: list[Source]) -> list[str]:
    """Apply a law to files; none at all is a mistake of the test, not a success."""
    assert files, "no file was found for this law: the layout has changed, so tests/house must follow"
    return [message for file in files for message in law(file)]


def assert_law(law: Law, files: list[Source]) -> None:
    """Fail with one line for each breach."""
    found = breaches(law, files)
    assert not found, f"{len(found)} breaches of `{law.__name__}`:\n" + "\n".join(found)


def test_functions_have_at_most_70_lines():
    assert_law(laws.has_short_functions, sources("src", "tests", "bench", "requirements", "plugins", "deploy"))


def test_functions_take_at_most_six_parameters():
    assert_law(laws.takes_few_parameters, sources("src"))


def test_a_class_has_a_name_of_its_own():
    places: dict[str, list[str]] = {}
    for source in sources("src"):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(source.path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_each_exception_to_it_is_one_that_is_still_needed():
    counts = {name: count for file in sources("src") for name, count, _ in laws.parameters(file)}
    done = [one for one in laws.MANY_PARAMETERS if counts.get(PACKAGE + one, 0) <= laws.MOST_PARAMETERS]
    assert not done, (
        f"these are gone or take few enough: take them out of MANY_PARAMETERS in tests/house/laws.py: {done}"
    )


def test_files_have_at_most_400_lines_and_tests_at_most_500():
    assert_law(laws.is_short, sources("src", "tests", "bench", "plugins", "release", "website"))


def test_every_module_opens_with_a_docstring():
    assert_law(laws.has_docstring, sources("src", "tests", "bench", "requirements", "plugins", "deploy"))


def test_every_public_module_lists_its_names_sorted():
    assert_law(laws.has_sorted_all, sources("src"))


def test_no_module_works_at_import():
    assert_law(laws.works_not_at_import, sources("src"))


def test_only_the_command_line_prints():
    assert_law(laws.is_quiet, [file for file in sources("src") if not file.path.startswith(f"{PACKAGE}cli")])


def test_only_settings_read_the_environment():
    assert_law(
        laws.leaves_the_environment_alone,
        [file for file in sources("src") if file.path != f"{PACKAGE}settings/__init__.py"],
    )


@pytest.mark.parametrize("floor", PURE_FLOORS)
def test_the_first_floor_is_pure(floor: str):
    assert_law(laws.is_pure, sources(floor))


def test_what_says_that_it_is_pure_is():
    claims = [file for file in sources("src") if laws.claims_to_be_pure(file)]
    assert_law(laws.keeps_its_word, [file for file in claims if not file.path.startswith(PURE_FLOORS)])


@pytest.mark.parametrize(
    ("docstring", "is_claim"),
    [("What it is. Pure.", True), ("A. No I/O.\n\nMore.", True), ("A. Pure but for the echo.", False), ("A.", False)],
)
def test_a_docstring_claims_purity_in_two_ways(docstring: str, is_claim: bool):
    assert laws.claims_to_be_pure(Source("a.py", f'"""{docstring}"""')) is is_claim


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 70
BAD: list[tuple[Law, str, str]] = [
    (laws.has_short_functions, LONG_FUNCTION, ":1: f has 71 lines"),
    (laws.has_short_functions, "class C:\n    async " + LONG_FUNCTION.replace("\n", "\n    "), ":2: f has 71 lines"),
    (laws.takes_few_parameters, "def f(a, b, /, c, *d, e, f, **g): ...", ":1: f takes 7 parameters"),
    (laws.takes_few_parameters, "class C:\n    def f(self, a, b, c, d, e, f, g): ...", ":2: C.f takes 7 parameters"),
    (laws.is_short, "x = 1\n" * 401, ":401: 401 lines"),
    (laws.has_docstring, "x = 1", "no docstring"),
    (laws.has_docstring, "import os\n'''Too late.'''", "no docstring"),
    (laws.has_sorted_all, "x = 1", "no __all__"),
    (laws.has_sorted_all, "__all__ = ['b', 'a']", "write ['a', 'b']"),
    (laws.has_sorted_all, "__all__ = ['a', 'B']", "write ['B', 'a']"),
    (laws.has_sorted_all, "__all__ = ['a', 'a']", "repeats a name"),
    (laws.has_sorted_all, "__all__ = names()", "not a literal"),
    (laws.works_not_at_import, "x = open('f')", "calls open at import"),
    (laws.works_not_at_import, "print('hello')", "runs at import (`print('hello')`)"),
    (laws.works_not_at_import, "import os\nHOME = os.environ['HOME']", ":2: reads os.environ at import"),
    (laws.works_not_at_import, "import os\nHOME = os.environ.get('HOME')", "os.environ"),
    (laws.works_not_at_import, "import time\nclass C:\n    started = time.time()", ":3: calls time.time at import"),
    (laws.works_not_at_import, "def f(now=time()): ...", "calls time at import"),
    (laws.works_not_at_import, "@register('x')\ndef f(): ...", "decorator register"),
    (laws.works_not_at_import, "@dataclass(frozen=load())\nclass C: ...", "calls load at import"),
    (laws.works_not_at_import, "x = [load(n) for n in read()]", "calls load at import"),
    (laws.works_not_at_import, "x = [n for n in read()]", "calls read at import"),
    (laws.works_not_at_import, "def f(n):\n    return open(n)\nx = f('a')", ":3: calls f at import"),
    (laws.works_not_at_import, "def f(n):\n    return f(n)\nx = f('a')", ":3: calls f at import"),
    (laws.works_not_at_import, "def f(n):\n    if n:\n        return open(n)\nx = f('a')", ":4: calls f at import"),
    (laws.works_not_at_import, "def f(n):\n    log(n)\n    return n\nx = f('a')", ":4: calls f at import"),
    (laws.works_not_at_import, "x = dict(a=load())", "calls load at import"),
    (laws.works_not_at_import, "from threading import Lock\nlock = Lock()", "calls Lock at import"),
    (laws.works_not_at_import, "for n in (1, 2):\n    x = n", "runs at import"),
    (laws.works_not_at_import, "if not TYPE_CHECKING:\n    print(1)", "runs at import (`print(1)`)"),
    (laws.works_not_at_import, "try:\n    import numpy\nexcept ImportError:\n    numpy = None", "runs at import"),
    (laws.is_quiet, "def f():\n    print(1)", ":2: print"),
    (laws.leaves_the_environment_alone, "import os\ndef f():\n    return os.environ.get('A')", ":3: os.environ"),
    (laws.leaves_the_environment_alone, "from os import getenv", "os.getenv"),
    (laws.is_pure, "import os.path", "imports os.path"),
    (laws.is_pure, "from time import monotonic", "imports time"),
    (laws.is_pure, "def f():\n    import random", ":2: imports random"),
    (laws.is_pure, "def f():\n    return open('x')", ":2: calls open"),
    (laws.is_pure, "def f():\n    return datetime.now(UTC)", "calls datetime.now"),
    (laws.is_pure, "def f():\n    return datetime.datetime.now(UTC)", "calls datetime.datetime.now"),
    (laws.is_pure, "def f():\n    return uuid.uuid4()", "calls uuid.uuid4"),
    (laws.keeps_its_word, "import os", "imports os"),
    (
        laws.keeps_its_word,
        "from pathlib import Path\nx = Path('a').read_text()",
        ":2: Path('a').read_text: the docstring",
    ),
    (laws.is_pure, "def f():\n    global x\n    x = 1", ":2: global x"),
]


@pytest.mark.parametrize(("law", "text", "message"), BAD)
def test_each_law_names_a_breach(law: Law, text: str, message: str):
    found = breaches(law, [Source("src/undrift/bad.py", text)])
    assert any(message in line for line in found), found
    assert all(line.startswith("src/undrift/bad.py:") for line in found)


GOOD = '''"""What it is. Pure."""

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIMIT", "Value", "act"]

LIMIT = 70
"""Lines."""
NAMES: frozenset[str] = frozenset(name.lower() for name in ("A", "B"))
PATTERN = re.compile(r"\\\\d+", re.ASCII)
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Value:
    """A value."""

    number: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def double(self) -> int:
        """Twice the number."""
        return self.number * 2


def _value(number: int) -> Value:
    """Build a value."""
    names = [str(number)] if number else []
    return Value(number, names=names)


ZERO = _value(0)


def act(value: Value, key=lambda v: open(v)) -> None:
    """Act."""
    with open(str(value)) as file:
        log.debug(file.read())
'''


@pytest.mark.parametrize(
    "law",
    [
        laws.has_short_functions,
        laws.takes_few_parameters,
        laws.is_short,
        laws.has_docstring,
        laws.has_sorted_all,
        laws.works_not_at_import,
        laws.is_quiet,
    ],
)
def test_no_law_complains_about_a_good_file(law: Law):
    assert breaches(law, [Source("src/undrift/good.py", GOOD)]) == []


def test_a_function_of_70_lines_is_let_through():
    assert breaches(laws.has_short_functions, [Source("a.py", "def f():\n" + "    x = 1\n" * 69)]) == []


def test_a_law_without_files_fails():
    with pytest.raises(AssertionError, match="layout has changed"):
        assert_law(laws.is_pure, [])
