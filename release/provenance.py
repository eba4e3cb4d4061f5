"""The statement of origin of a release: an in-toto statement with SLSA provenance, which is not signed.

Law: it says only what the build knows itself: commit, commands, versions of the tools, hashes. It has no address, no
machine and no time, so that a second build gives the same one.
"""

import hashlib
import json
import platform
import zlib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["COMMANDS", "UNSIGNED", "statement"]

COMMANDS = (
    "git archive COMMIT",
    "python -m hatchling build -t sdist",
    "python -m hatchling build -t wheel   # in the unpacked source archive",
    "python -m release.build DIST",
)
UNSIGNED = (
    "Not signed. A signature proves who built; this build has no key and no identity of a build service. Build it again "
    "from the commit and compare SHA256SUMS: that proves the content."
)
_LOCKS = ("requirements/base.txt", "requirements/build.txt")


def statement(files: Iterable[Path], commit: str, at_s: int, source: Path) -> str:
    """Return the statement on the files, as JSON. `at_s`: SOURCE_DATE_EPOCH. `source`: the folder of the commit's files."""
    locks = [{"name": name, "digest": _sha256((source / name).read_bytes())} for name in _LOCKS]
    tools = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "hatchling": metadata.version("hatchling"),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
    definition = {
        "buildType": "urn:undrift:make-release:1",
        "externalParameters": {"commit": commit, "target": "release"},
        "internalParameters": {"commands": COMMANDS, "SOURCE_DATE_EPOCH": at_s, "tools": tools},
        "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": commit}}, *locks],
    }
    predicate: Mapping[str, Any] = {
        "buildDefinition": definition,
        "runDetails": {
            "builder": {"id": "urn:undrift:unsigned-build"},
            "byproducts": [{"name": "signature", "annotations": {"state": UNSIGNED}}],
        },
    }
    return (
        json.dumps(
            {
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [
                    {"name": path.name, "digest": _sha256(path.read_bytes())}
                    for path in sorted(files, key=lambda path: path.name)
                ],
                "predicateType": "https://slsa.dev/provenance/v1",
                "predicate": predicate,
            },
            indent=2,
        )
        + "\n"
    )


def _sha256(content: bytes) -> dict[str, str]:
    return {"sha256": hashlib.sha256(content).hexdigest()}
