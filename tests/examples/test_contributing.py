"""The reader of CONTRIBUTING.md works as it stands: the sample, the module and the test of the page, in a process of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from undrift.transcripts import FORMATS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RUN = """
import importlib.util, sys
import tests.transcripts.samples as samples
import undrift.transcripts as transcripts

sample, module, test = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
exec(sample, vars(samples))
place = importlib.util.spec_from_file_location("undrift.transcripts.jotter", sys.argv[2])
jotter = transcripts.jotter = importlib.util.module_from_spec(place)
sys.modules[place.name] = jotter
place.loader.exec_module(jotter)
names = {}
exec(test, names)
ran = [name for name in names if name.startswith("test_")]
for name in ran:
    names[name]()

from tests.transcripts.builders import lines
from tests.transcripts.test_reading import holds_its_promises

transcripts.FORMATS = {"jotter": jotter, **transcripts.FORMATS}
rows = lines(*samples.JOTTER)
assert transcripts.read(rows).format == "jotter"
assert [name for name, reader in transcripts.FORMATS.items() if reader.recognises(rows)] == ["jotter"]
assert not [reason for reason in jotter.read(rows, count=len).skipped if reason.startswith("unknown")]
for end in range(len(rows)):
    holds_its_promises(jotter.read([*rows[:end], "{", '{"type": 3}', '["x"]'], count=len))
print(len(ran))
"""
"""Does what the page asks for with its three blocks; then damages the file, as tests/transcripts/test_damage.py does."""


def blocks() -> dict[str, str]:
    """Return the Python blocks of the page by the file that their first line names."""
    found = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", PAGE, re.M | re.S)
    return dict(found)


def test_the_reader_of_the_page_passes_its_test_and_survives_damage(tmp_path: Path) -> None:
    named = ("tests/transcripts/samples.py", "src/undrift/transcripts/jotter.py", "tests/transcripts/test_jotter.py")
    assert tuple(blocks()) == named
    for number, text in enumerate(blocks().values()):
        (tmp_path / f"{number}.py").write_text(text, encoding="utf-8")
    words = [sys.executable, "-c", RUN, *(str(tmp_path / f"{number}.py") for number in range(3))]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3\n"


def test_the_example_is_of_a_client_that_does_not_exist() -> None:
    assert "jotter" not in FORMATS


def test_the_blocks_are_as_the_formatter_wants_them(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="needs ruff, of `make setup`")
    for name, text in blocks().items():
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    words = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--check",
        "--diff",
        f"--config={ROOT / 'pyproject.toml'}",
        str(tmp_path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_each_template_asks_for_the_report_and_names_the_private_way() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    templates = {
        path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yml") if path.name != "config.yml"
    }
    assert sorted(templates) == ["fault.yml", "reader.yml", "wish.yml"]
    assert [name for name, text in templates.items() if "`undrift doctor --report`" not in text] == []
    assert "Report a vulnerability" in templates["fault.yml"]
    assert "Report a vulnerability" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def paths() -> list[str]:
    """Return the paths of the repository that the page and the templates name."""
    template = "".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*"))
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.M | re.S) + template
    return sorted(set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+|[a-z]+/[a-z_]+\.py)`", text)))


@pytest.mark.parametrize("path", paths())
def test_a_path_that_the_page_names_is_there(path: str) -> None:
    places = [ROOT / path, ROOT / "src/undrift" / path, ROOT / "tests" / path]
    assert any(place.exists() for place in places), path
