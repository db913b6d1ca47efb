"""Builds the tests' Elasticsearch where `tests/fixtures/elasticsearch.py` looks for it, before the tests begin."""

import hashlib
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BUILDS = FOLDER.parents[2] / "build"


def home() -> Path:
    """The folder of the build, named by what it is made of."""
    files = [FOLDER / "start", FOLDER / "pom.xml", *sorted((FOLDER / "src").rglob("*.java"))]
    return BUILDS / f"search-server-{hashlib.sha256(b''.join(path.read_bytes() for path in files)).hexdigest()[:12]}"


if __name__ == "__main__":
    BUILDS.mkdir(exist_ok=True)
    sys.exit(subprocess.run([FOLDER / "start", home()], stdin=subprocess.DEVNULL, check=False).returncode)
