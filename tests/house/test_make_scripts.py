"""The scripts behind make fail where they should: coverage floors, the wheel's content, the lock files."""

import re
import tomllib
from pathlib import Path

import pytest

from requirements import lock
from tests.house import built_wheel, coverage_floors

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def report(covered: int, statements: int) -> dict:
    summary = {"covered_lines": covered, "num_statements": statements}
    return {"files": {"src/a.py": {"summary": summary, "missing_lines": list(range(covered, statements))}}}


def test_coverage_at_its_floor_passes():
    assert coverage_floors.problems(report(9, 10), {"src/a.py": 90}) == []
    assert coverage_floors.shown(report(9, 10), {"src/a.py": 90}) == [
        "src/a.py: 90.00 % of the lines, the floor is 90 %"
    ]


def test_coverage_just_below_its_floor_fails_and_names_the_lines():
    # 9,999 of 10,000 is shown as 100 % by a rounding report, and is not 100 %
    (problem,) = coverage_floors.problems(report(9_999, 10_000), {"src/a.py": 100})
    assert "src/a.py: 99.99 %" in problem
    assert "[9999]" in problem


def test_a_file_that_is_not_in_the_coverage_report_fails():
    (problem,) = coverage_floors.problems(report(10, 10), {"src/gone.py": 90})
    assert "not in the coverage report" in problem


def test_the_pruner_and_the_observation_window_have_their_floors():
    assert PYPROJECT["tool"]["undrift"]["coverage_floors"] == {
        "src/undrift/core/window/prune.py": 90,
        "src/undrift/core/window/last_results.py": 100,
    }


GOOD_WHEEL = [
    "undrift/__init__.py",
    "undrift/py.typed",
    "undrift-1.dist-info/licenses/LICENSE",
    "undrift-1.dist-info/licenses/NOTICE",
    "undrift-1.dist-info/RECORD",
]


def test_a_whole_wheel_passes():
    assert built_wheel.problems(GOOD_WHEEL, ["undrift/__init__.py"]) == []


@pytest.mark.parametrize("missing", GOOD_WHEEL[:4])
def test_a_wheel_without_a_needed_file_fails(missing: str):
    names = [name for name in GOOD_WHEEL if name != missing]
    assert len(built_wheel.problems(names, ["undrift/__init__.py"])) == 1


@pytest.mark.parametrize(
    "extra", ["undrift.pth", "tests/test_a.py", "undrift/a.pyc", "undrift/tests/a.py", "undrift/a.jsonl"]
)
def test_a_wheel_with_a_left_over_fails(extra: str):
    (problem,) = built_wheel.problems([*GOOD_WHEEL, extra], ["undrift/__init__.py"])
    assert extra in problem


def test_a_wheel_of_pure_python_passes():
    assert built_wheel.impurities("undrift-1-py3-none-any.whl", GOOD_WHEEL, "Root-Is-Purelib: true\n") == []


@pytest.mark.parametrize(
    ("name", "more", "about"),
    [
        ("undrift-1-cp311-cp311-linux_x86_64.whl", [], "Root-Is-Purelib: true\n"),
        ("undrift-1-py3-none-any.whl", [], "Root-Is-Purelib: false\n"),
        ("undrift-1-py3-none-any.whl", ["undrift/a.so"], "Root-Is-Purelib: true\n"),
    ],
)
def test_a_wheel_with_compiled_code_fails(name: str, more: list[str], about: str):
    assert len(built_wheel.impurities(name, [*GOOD_WHEEL, *more], about)) == 1


def test_the_lock_files_hold_only_pins_and_hashes():
    assert [path.stem for path in LOCKS] == [
        "audit",
        "base",
        "bench",
        "build",
        "deploy",
        "dev",
        "exact",
        "journeys",
        "lance",
        "lock",
        "peers",
        "rules",
        "serve",
        "site",
    ]
    for path in LOCKS:
        text = path.read_text(encoding="utf-8")
        wrong = lock.problems(text)
        assert not wrong, f"{path.name}: neither pin nor hash, or an address or path in it; run `make lock`: {wrong}"
        for package in re.split(r"\n(?=[a-z0-9])", text)[1:]:
            assert "--hash=sha256:" in package, f"{path.name}: no hash in {package!r}; run `make lock`"


def test_the_lock_files_agree_on_every_version():
    versions: dict[str, dict[str, str]] = {}
    for path in LOCKS:
        if path.stem in lock.APART:  # other tools' wants exclude ours: in an environment of its own
            continue
        for name, version in re.findall(r"^([a-z0-9._-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            versions.setdefault(name, {})[path.name] = version
    differing = {name: where for name, where in versions.items() if len(set(where.values())) > 1}
    assert not differing, f"run `make lock`: {differing}"


def test_every_dependency_of_pyproject_is_locked():
    for name, requirements in lock.wanted(ROOT / "pyproject.toml").items():
        locked = set(
            re.findall(
                r"^([a-z0-9._-]+)==", (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8"), re.MULTILINE
            )
        )
        wanted = {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower() for requirement in requirements}
        assert wanted <= locked, f"requirements/{name}.txt lacks {sorted(wanted - locked)}: run `make lock`"


@pytest.mark.parametrize(
    "line",
    [
        "--index-" + "url https" + "://example.org/simple",
        "--find-" + "links /opt/wheels",
        "package @ https" + "://example.org/package.whl",
        "#    pip-compile --output-file=/home/someone/base.txt",
        "package>=1.0",
        "    # via -r /home/someone/pyproject.toml",
    ],
)
def test_a_lock_line_with_an_address_a_path_or_no_pin_is_found(line: str):
    assert lock.problems(f"package==1.0 \\\n    --hash=sha256:{'0' * 64}\n{line}\n") == [line]


def test_the_locking_script_names_pyproject_instead_of_its_scratch_files():
    text = "package==1.0 \\\n    # via\n    #   -c earlier-locks\n    #   -r base.in\n"
    assert lock.cleaned(text, "base") == "package==1.0 \\\n    # via\n    #   pyproject.toml\n"
