"""Write the lock files beside this script from pyproject.toml. Law: every line is a pin or a hash; no address, no path.

Run by `make lock`. The locks are made with Python 3.11, the oldest that is supported: newer ones need no more packages than it does.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OLDEST = (3, 11)
HEADER = "# Written by `make lock` from pyproject.toml, for Python 3.11 and newer. Do not edit by hand.\n"
ALLOWED_LINE = re.compile(
    r"[a-z0-9][a-z0-9._-]*==[A-Za-z0-9.!+_-]+(?: ; python_version < \"[0-9.]+\")? \\|"  # the pin
    r"    --hash=sha256:[0-9a-f]{64}(?: \\)?|"
    r"    # via|    #   .*|    # via .*|#.*|"  # who wants it
)
ALONE = frozenset({"llama-index-core"})  # installed for a file in it, without what it requires
APART = frozenset({"peers"})  # other tools, with other versions of what we use: only base and build are as elsewhere
ADDRESS = re.compile(r"://|www\.|@ |(?<![\w.])/\w|--(?:index|extra-index|find-links|trusted)")


def wanted(pyproject: Path) -> dict[str, list[str]]:
    """Return what each lock file has to satisfy, the smallest first: a later one takes over the pins of those before it."""
    data = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    base = data["project"]["dependencies"]
    build = data["build-system"]["requires"]
    groups = data["dependency-groups"]
    return {
        "base": base,
        "build": build,
        "dev": base + build + groups["dev"],
        "bench": base + build + groups["bench"],
        "exact": base + build + groups["exact"],
        "journeys": groups["journeys"],
        "lance": base + build + groups["lance"],
        "peers": base + build + groups["peers"],
        "audit": groups["audit"],
        "lock": groups["lock"],
        "rules": groups["rules"],
        "serve": base + with_extras(data["project"], ("postgres", "serve", "vectors")),
        "deploy": base + with_extras(data["project"], ("postgres", "serve")) + groups["deploy"],
        "site": groups["site"],
    }


def with_extras(project: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Return the requirements of extras; an extra of our own among them is replaced by its requirements."""
    found: list[str] = []
    for name in names:
        for line in project["optional-dependencies"][name]:
            own = re.fullmatch(rf"{project['name']}\[([\w,]+)\]", line)
            found += with_extras(project, own[1].split(",")) if own else [line]
    return found


def problems(text: str) -> list[str]:
    """Return the lines of a lock file that are no pin, hash or comment, or that carry an address or a path."""
    return [line for line in text.splitlines() if not ALLOWED_LINE.fullmatch(line) or ADDRESS.search(line)]


def compile_lock(name: str, requirements: list[str], pins: dict[str, str], *, upgrade: bool) -> str:
    """Resolve one set of requirements with pip-compile, in a directory of its own, and return the lock file's text."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / f"{name}.in").write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        (work / "earlier-locks").write_text("".join(f"{p}=={v}\n" for p, v in pins.items()), encoding="utf-8")
        output = work / f"{name}.txt"
        if (HERE / output.name).exists() and not upgrade:
            output.write_text((HERE / output.name).read_text(encoding="utf-8"), encoding="utf-8")
        command = [sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--strip-extras"]
        command += ["--allow-unsafe", "--no-header", "--no-emit-index-url", "--no-emit-trusted-host"]
        command += ["--no-emit-find-links", "--constraint=earlier-locks", f"--output-file={output.name}", f"{name}.in"]
        subprocess.run(command, cwd=work, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return HEADER + cleaned(output.read_text(encoding="utf-8"), name)


def lock_alone(package: str, pins: dict[str, str], *, upgrade: bool) -> str:
    """Return the lines of a package that is taken for itself: its version, and the hash of its one wheel."""
    pinned = f"=={pins[package]}" if package in pins and not upgrade else ""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
    command += ["--only-binary=:all:", "--report=-", package + pinned]
    run = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8")
    (found,) = json.loads(run.stdout)["install"]
    version, hashes = found["metadata"]["version"], found["download_info"]["archive_info"]["hashes"]
    return f"{package}=={version} \\\n    --hash=sha256:{hashes['sha256']}\n    # via pyproject.toml, alone\n"


def pins_of(text: str) -> dict[str, str]:
    """Return the version of each package in a lock file."""
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def cleaned(text: str, name: str) -> str:
    """Name pyproject.toml where pip-compile names our scratch files, and drop its remark on unsafe packages."""
    lines = []
    for line in text.splitlines():
        if line.strip() == "#   -c earlier-locks" or line.startswith(("# The following", "--", "# WARNING")):
            continue
        lines.append(line.replace(f"-r {name}.in", "pyproject.toml").replace("# via -c earlier-locks", "# via"))
    return "\n".join(line for line in lines if line.strip()) + "\n"


def main(arguments: list[str]) -> int:
    """Write all lock files; with ``--upgrade``, take the newest releases instead of keeping the pins."""
    if sys.version_info[:2] != OLDEST:
        print(
            f"make lock needs Python 3.11, the oldest supported, not {sys.version.split()[0]}: PYTHON=python3.11 make lock"
        )
        return 1
    upgrade = "--upgrade" in arguments
    pins: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, requirements in wanted(HERE.parent / "pyproject.toml").items():
        former = HERE / f"{name}.txt"
        kept = pins_of(former.read_text(encoding="utf-8")) if former.exists() else {}
        resolved = [line for line in requirements if line not in ALONE]
        shared = pins if name not in APART else pins_of(texts["base"]) | pins_of(texts["build"])
        texts[name] = compile_lock(name, resolved, shared, upgrade=upgrade)
        texts[name] += "".join(lock_alone(line, kept, upgrade=upgrade) for line in requirements if line in ALONE)
        if wrong := problems(texts[name]):
            print(f"requirements/{name}.txt would hold lines that are no pin or hash:", *wrong, sep="\n  ")
            return 1
        pins |= pins_of(texts[name]) if name not in APART else {}
    for name, text in texts.items():
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"requirements/{name}.txt: {len(re.findall(r'^[a-z0-9].*==', text, re.MULTILINE))} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
