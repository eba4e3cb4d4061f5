"""The files that a piece of code writes, and those that a command for packages changes by itself. Pure, linear.

Law: a file counts only if its name stands in the call that writes it, or in the variable that this call is given.
"""

import re
from collections.abc import Sequence

__all__ = ["changed_lists", "written_paths"]

_READ_CHARACTERS = 20_000
_OPENED = re.compile(r"""open\(\s*["']([^"'\n]{1,300})["']\s*,\s*["'](?:[wax][+bt]{0,2}|r[bt]?\+)["']""")
_WRITTEN = re.compile(
    r"""(?:Path\(\s*["']([^"'\n]{1,300})["']\s*\)\.(?:write_|unlink|touch)"""
    r"""|(?:writeFile|appendFile|unlink|rm)(?:Sync)?\(\s*["']([^"'\n]{1,300})["']"""
    r"""|(?:os\.(?:remove|unlink)|rmtree|\.to_(?:csv|parquet|json|excel|pickle|feather|hdf)|\.save(?:fig)?|np\.save\w{0,3})\(\s*["']([^"'\n]{1,300})["'])"""
)
_ASSIGNED = re.compile(
    r"""^[ \t]{0,20}(?:const |let |var )?(\w{1,40})\s{0,3}=\s{0,3}(?:[\w.]{0,40}\()?["']([^"'\n]{1,300})["']""",
    re.MULTILINE,
)
_OF_NAME = re.compile(
    r"""\b(\w{1,40})\.(?:write_text|write_bytes|unlink|touch|rename)\("""
    r"""|\bopen\(\s*(\w{1,40})\s*,\s*["'](?:[wax][+bt]{0,2}|r[bt]?\+)["']"""
    r"""|(?:writeFile|appendFile|unlink|rm)(?:Sync)?\(\s*(\w{1,40})\b"""
    r"""|(?:os\.(?:remove|unlink)|rmtree|\.to_(?:csv|parquet|json|excel|pickle|feather|hdf)|\.save(?:fig)?)\(\s*(\w{1,40})\b"""
)
_LISTS = {
    "npm": ("package.json", "package-lock.json"), "pnpm": ("package.json", "pnpm-lock.yaml"), "yarn": ("package.json", "yarn.lock"),
    "bun": ("package.json", "bun.lock"), "poetry": ("pyproject.toml", "poetry.lock"), "uv": ("pyproject.toml", "uv.lock"),
    "cargo": ("Cargo.toml", "Cargo.lock"), "bundle": ("Gemfile", "Gemfile.lock"), "composer": ("composer.json", "composer.lock"),
    "go": ("go.mod", "go.sum"), "pipenv": ("Pipfile", "Pipfile.lock"), "pdm": ("pyproject.toml", "pdm.lock"), "pod": ("Podfile.lock",),
    "mix": ("mix.lock",), "flutter": ("pubspec.yaml", "pubspec.lock"), "nix": ("flake.lock",),
}  # fmt: skip
_ADDS = frozenset({"add", "remove", "rm", "uninstall", "update", "upgrade", "up", "get", "require", "un"})
_LOCKS = frozenset({"lock", "update", "upgrade", "up", "deps.update", "dedupe"})


def written_paths(code: str) -> list[str]:
    """Return the files that a piece of code writes or deletes."""
    code = code[:_READ_CHARACTERS]
    found = [*_OPENED.findall(code), *(path for three in _WRITTEN.findall(code) for path in three if path)]
    if names := {name for four in _OF_NAME.findall(code) for name in four if name}:
        found += [path for name, path in _ASSIGNED.findall(code) if name in names]
    return found


def changed_lists(words: Sequence[str]) -> tuple[str, ...]:
    """Return the lists of dependencies that a command changes."""
    lists = _LISTS.get(words[0])
    plain = [word for word in words[1:] if word[:1] != "-"]
    if lists is None or not plain or {"-g", "--global", "--dry-run"} & set(words):
        return ()
    does, *more = plain
    if does in ("install", "i") and words[0] in ("npm", "pnpm", "pod", "bun"):
        return lists if more or words[0] == "pod" else ()
    if words[0] in ("npm", "yarn", "pnpm") and does in ("pkg", "version"):
        return lists[:1] if more and more[0] in ("set", "delete", "patch", "minor", "major") else ()
    if does in _LOCKS and words[0] in (
        "cargo",
        "bundle",
        "poetry",
        "uv",
        "composer",
        "mix",
        "nix",
        "flutter",
        "pod",
        "pdm",
        "pipenv",
    ):
        return lists[-1:]
    return lists if does in _ADDS and (more or does not in ("get", "up")) else ()
