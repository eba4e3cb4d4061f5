"""Builds a release from the last commit: ``python -m release.build DIST``.

Law: what is not committed does not count, and a change that waits for its commit stops the build. The wheel is built from
the source archive, so the archive is complete.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from release.about import ROOT, About, about
from release.archives import files_below, unpack, write_zip
from release.parts import ENDING, contained, document, locked
from release.provenance import statement

__all__ = ["SUMS", "main"]

SUMS = "SHA256SUMS"
_PLUGINS = {
    "claude-plugin": (".claude-plugin", "plugins/claude"),
    "codex-plugin": (".agents", "plugins/codex"),
}
"""The archive of a plugin and its paths: as unpacked, the folder is a marketplace that the client can add."""
_ALWAYS = ("LICENSE", "NOTICE")
_DEPLOY = "deploy"
"""The recipe of the container, and files that it needs."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its hash, and its time in Unix seconds."""

    name: str
    at_s: int


def committed(root: Path) -> Commit:
    """Return the last commit. Raises SystemExit: a tracked file was changed after it, or this is no clone."""
    try:
        name, at = _git(root, "log", "-1", "--format=%H %ct").split()
    except subprocess.CalledProcessError as error:
        raise SystemExit("make release needs a clone: it builds from a commit") from error
    if changed := _git(root, "status", "--porcelain", "--untracked-files=no").splitlines():
        raise SystemExit("commit first, a release is built from a commit:\n" + "\n".join(changed[:20]))
    return Commit(name, int(at))


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *words], check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


def _export(root: Path, commit: Commit, target: Path) -> None:
    """Write the files of a commit into a folder."""
    packed = target.with_suffix(".tar")
    _git(root, "-c", "tar.umask=0022", "archive", "--format=tar", f"--output={packed}", commit.name)
    unpack(packed, target)
    packed.unlink()


def _hatch(source: Path, kind: str, out: Path, at_s: int) -> None:
    """Build one kind of package, ``sdist`` or ``wheel``, from a folder."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("HATCH_", "PYTHONPATH"))}
    variables["SOURCE_DATE_EPOCH"] = str(at_s)
    subprocess.run(words, cwd=source, env=variables, check=True, stdout=subprocess.DEVNULL)


def _packages(source: Path, out: Path, release: About, at_s: int, scratch: Path) -> None:
    _hatch(source, "sdist", out, at_s)
    unpack(out / release.archive, scratch)
    _hatch(scratch / release.archive.removesuffix(".tar.gz"), "wheel", out, at_s)


def _is_secret(path: str) -> bool:
    """Tell whether a file of the recipe lies where a person keeps keys: not even a committed one is published."""
    return path.startswith(f"{_DEPLOY}/secrets/") and not path.endswith(("/.gitignore", "/.gitkeep"))


def _archives(source: Path, out: Path, release: About, at_s: int) -> Mapping[str, Mapping[str, bytes]]:
    """Write the archives of the plugins and of the recipe; return the files of each."""
    wanted: dict[str, tuple[str, ...]] = dict(_PLUGINS)
    if (source / _DEPLOY).is_dir():
        wanted["container"] = (_DEPLOY,)
    else:
        print("left out: this commit has no recipe of a container")
    held = dict[str, Mapping[str, bytes]]()
    for kind, paths in wanted.items():
        name = f"{release.name}-{kind}-{release.version}.zip"
        files = files_below(source, *paths, *_ALWAYS)
        held[name] = {path: content for path, content in files.items() if not _is_secret(path)}
        write_zip(out / name, held[name], at_s)
    return held


def _lists(source: Path, out: Path, release: About, held: Mapping[str, Mapping[str, bytes]]) -> None:
    """Write the list of parts beside each file."""
    base, build = (
        locked((source / "requirements" / f"{name}.txt").read_text(encoding="utf-8")) for name in ("base", "build")
    )
    program: dict[str, Any] = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{release.name}@{release.version}",
        "name": release.name,
        "version": release.version,
        "purl": f"pkg:pypi/{release.name}@{release.version}",
        "scope": "required",
    }
    tools = [one | {"scope": "excluded"} for one in build if one not in base]
    found: dict[str, tuple[str, list[dict[str, Any]]]] = {
        release.wheel: ("library", base),
        release.archive: ("library", [*base, *tools]),
        "server.json": ("data", [program]),
    }
    found |= {name: ("application", [*contained(files), program]) for name, files in held.items()}
    for name, (kind, parts) in found.items():
        text = document(out / name, kind, release.version, parts)
        (out / f"{name}{ENDING}").write_text(text, encoding="utf-8")


def _sums(out: Path) -> str:
    paths = sorted(path for path in out.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def _emptied(out: Path, name: str) -> None:
    """Make the folder, and delete the files of an earlier build in it, one by one.

    Raises SystemExit: it holds anything else; then nothing is deleted.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = list(out.iterdir())
    for path in paths:
        is_ours = path.name.startswith((name, "server.json")) or path.name == SUMS
        if not is_ours or path.is_symlink() or not path.is_file():
            raise SystemExit(f"{path}: no build has written it; move it away, or name another folder")
    for path in paths:
        path.unlink()


def main(arguments: list[str]) -> int:
    """Write the release of the last commit into a folder, without the files of an earlier one; return the exit code."""
    out = Path(arguments[0]).absolute()
    commit = committed(ROOT)
    _emptied(out, about().name)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        _export(ROOT, commit, source)
        release = about(source)
        _packages(source, out, release, commit.at_s, Path(folder) / "unpacked")
        held = _archives(source, out, release, commit.at_s)
        (out / "server.json").write_bytes((source / "server.json").read_bytes())
        _lists(source, out, release, held)
        made = [path for path in out.iterdir() if path.name != SUMS]
        text = statement(made, commit.name, commit.at_s, source)
        (out / f"{release.name}-{release.version}.provenance.json").write_text(text, encoding="utf-8")
    (out / SUMS).write_text(_sums(out), encoding="utf-8")
    for path in out.iterdir():
        path.chmod(0o644)
    print(f"{release.name} {release.version} from commit {commit.name[:12]}:\n{_sums(out)}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
