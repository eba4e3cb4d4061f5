"""The list of parts of each file of a release (SBOM, CycloneDX 1.6): packages as they are locked, or the files inside.

``python -m release.parts DIST`` checks the lists against the schema, with the library that `make audit` installs.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["ENDING", "contained", "document", "locked", "main"]

ENDING = ".cdx.json"
_VERSION = "1.6"
_PIN = re.compile(r"^([a-z0-9._-]+)==([^\s;]+)(?: ; (python_version < \"[0-9.]+\"))?", re.MULTILINE)


def locked(lock: str) -> list[dict[str, Any]]:
    """Return the packages of a lock file as parts. A part that only some versions of Python need is optional."""
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "scope": "optional" if only else "required",
            **({"properties": [{"name": "python", "value": only}]} if only else {}),
        }
        for name, version, only in _PIN.findall(lock)
    ]


def contained(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return the files of an archive as parts, each with its SHA-256."""
    return [
        {"type": "file", "bom-ref": name, "name": name, "hashes": [_digest(content)]}
        for name, content in sorted(files.items())
    ]


def document(path: Path, kind: str, version: str, parts: Iterable[Mapping[str, Any]]) -> str:
    """Return the list of parts of a built file, as JSON. `kind`: a type of CycloneDX, such as ``library``."""
    listed = sorted(parts, key=lambda part: str(part["bom-ref"]))
    return (
        json.dumps(
            {
                "$schema": f"http://cyclonedx.org/schema/bom-{_VERSION}.schema.json",
                "bomFormat": "CycloneDX",
                "specVersion": _VERSION,
                "version": 1,
                "metadata": {
                    "component": {
                        "type": kind,
                        "bom-ref": path.name,
                        "name": path.name,
                        "version": version,
                        "licenses": [{"license": {"id": "Apache-2.0"}}],
                        "hashes": [_digest(path.read_bytes())],
                    }
                },
                "components": listed,
                "dependencies": [{"ref": path.name, "dependsOn": [part["bom-ref"] for part in listed]}],
            },
            indent=2,
        )
        + "\n"
    )


def _digest(content: bytes) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}


def main(arguments: list[str]) -> int:
    """Check each list of a folder against the schema of CycloneDX; return the exit code."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    paths = sorted(Path(arguments[0]).glob(f"*{ENDING}"))
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    faults = [(path, fault) for path in paths if (fault := validator.validate_str(path.read_text(encoding="utf-8")))]
    for path, fault in faults:
        print(f"{path.name}: {fault}")
    print(f"{len(paths)} lists of parts, {len(faults)} not as the schema of CycloneDX {_VERSION} asks")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
