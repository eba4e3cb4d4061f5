"""Run an example without a key and without a network: a scripted model answers on this machine.

    python examples/offline.py examples/loops/anthropic_loop.py

It makes a small project in a temporary folder, and starts a provider that judges each request as strictly as the real one.
Then it runs the program there. The program only sees the variables that its SDK knows (ANTHROPIC_BASE_URL and others).
"""

import os
import re
import site
import subprocess
import sys
import tempfile
from pathlib import Path

from undrift.testing import Follow, Say, ScriptedProvider, Use

TASK = "Read modules 1 to 14, run the check, and say which rate is wrong."
MOST_TURNS = 1_000
OTHERS = re.compile("UNDRIFT_|GOOGLE_|XDG_|.*_PROXY$", re.IGNORECASE)
GOODS = """apples bread books boots butter candles chairs cheese clocks coats coffee combs cups desks doors eggs fish
flour forks gloves hats honey jam keys knives lamps lemons locks milk nails onions paint paper pens pepper plates
rope salt shirts shoes soap socks spoons stoves sugar tables tea tools towels wool"""
TOWNS = "Bergen Bologna Bruges Cadiz Delft Galway Ghent Graz Lund Nantes Porto Tartu Turku Vilnius"
CHECK = r"""
import pathlib, re
for path in sorted(pathlib.Path().glob("module_*.py")):
    for name in re.findall(r"def tax_on_(\w+).*\n.*\n    return amount \* 0\.19", path.read_text()):
        print(f"{path}: the tax on {name} is 0.19, agreed was 0.07")
"""


def make_project(folder: Path) -> None:
    """Write 14 modules of about 2,000 tokens each, one of them with a wrong rate, and a program that finds it."""
    (folder / "check.py").write_text(CHECK, encoding="utf-8")
    for number, town in enumerate(TOWNS.split(), 1):
        parts = [f'"""The taxes of {town}."""\n']
        for year, goods in enumerate(GOODS.split(), 1_990):
            rate = "0.19" if (town, goods) == ("Lund", "lamps") else "0.07"
            about = f"Return the tax on {goods} in {town}; the council agreed on it in {year - number}."
            parts.append(
                f'\n\ndef tax_on_{goods}(amount: float) -> float:\n    """{about}"""\n    return amount * {rate}\n'
            )
        (folder / f"module_{number:02}.py").write_text("".join(parts), encoding="utf-8")


def next_turn(text: str) -> Say | Use:
    """Decide what the model does next. It knows nothing but the text of the request, as a real one."""
    asked = re.findall(r"modules (\d+) to (\d+)", text)
    if not asked:
        (*_, topic) = re.findall(r"about (\w+)", text) or ["nothing"]
        number = max((int(found) for found in re.findall(r"Answer (\d+)", text)), default=0) + 1
        said = [f"{topic} {number}.{line}: see rule {number * 100 + line} of the book." for line in range(160)]
        return Say(f"Answer {number} about {topic}.\n" + "\n".join(said))
    first, last = map(int, asked[-1])
    seen = [int(found) for found in re.findall(r"module_(\d\d)\.py", text)]
    newest = max((number for number in seen if first <= number <= last), default=first - 1)
    if newest < last:
        return Use("read_file", {"path": f"module_{newest + 1:02}.py"})
    if "run the check" in text and "python3 check.py" not in text:
        return Use("run", {"command": "python3 check.py"})
    (*_, found) = re.findall(r"module_\d\d\.py: the tax .*", text) or [f"Modules {first} to {last} are read."]
    return Say(found)


def run(program: Path, *arguments: str) -> int:
    """Run a program of the examples beside a scripted provider; return its exit status."""
    with (
        tempfile.TemporaryDirectory() as home,
        tempfile.TemporaryDirectory() as project,
        ScriptedProvider([Follow(next_turn)] * MOST_TURNS, without_tools=True) as provider,
    ):
        make_project(Path(project))
        environment = {
            **{name: value for name, value in os.environ.items() if not OTHERS.match(name)},
            "PYTHONUSERBASE": site.getuserbase(),  # packages that stand in the true home are still found
            "HOME": home,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "PYTHONUNBUFFERED": "1",
            "ANTHROPIC_BASE_URL": provider.url,
            "ANTHROPIC_API_KEY": "none",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": provider.url,
            "GEMINI_API_KEY": "none",
        }
        command = [sys.executable, str(program.resolve()), *(arguments or [TASK])]
        child = subprocess.Popen(command, cwd=project, env=environment)
        try:
            status = child.wait()
        except KeyboardInterrupt:  # the program has got it as well, and ends in its own time
            status = child.wait()
        for seen in provider.requests:
            if seen.refused:
                print(f"the provider refused a request: {seen.refused}")
                status = 1
        return status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python examples/offline.py PROGRAM [ARGUMENTS]")
    sys.exit(run(Path(sys.argv[1]), *sys.argv[2:]))
