"""No file that is kept names a host from which packages are downloaded, or a place of one machine."""

from __future__ import annotations

from tests.architecture.tree import ROOT, kept_files

# In two halves, so that this file does not name them either.
HOSTS = tuple(
    first + second
    for first, second in (
        ("pypi.", "org"),
        ("pythonhosted", ".org"),
        ("registry", ".npmjs"),
        ("npmjs", ".com"),
        ("yarnpkg", ".com"),
        ("unpkg", ".com"),
        ("jsdelivr", ".net"),
        ("cdnjs.", "cloudflare"),
        ("repo1", ".maven"),
        ("repo.maven", ".apache"),
        ("deb.", "debian.org"),
        ("archive.", "ubuntu.com"),
        ("crates", ".io"),
        ("proxy.", "golang.org"),
        ("index.", "docker.io"),
        ("anaconda", ".org"),
        ("ghcr", ".io"),
        ("quay", ".io"),
        ("--index", "-url"),
        ("extra-index", "-url"),
    )
)
BINARY = {".png", ".jpg", ".ico", ".woff2", ".gz", ".mo"}


def test_no_file_names_where_packages_come_from() -> None:
    found = {}
    for name in kept_files():
        path = ROOT / name
        if path.suffix in BINARY:
            continue
        content = path.read_text(encoding="utf-8", errors="replace").lower()
        named = {host for host in HOSTS if host in content}
        if named:
            found[name] = named
    assert found == {}


def test_locks_are_hashed_and_name_versions_only() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        lines = lock.read_text(encoding="utf-8").splitlines()
        pinned = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert pinned, lock.name
        assert [line for line in pinned if "==" not in line] == [], lock.name
        assert [line for line in lines if "://" in line or " @ " in line] == [], lock.name
        assert len([line for line in lines if "--hash=sha256:" in line]) >= len(pinned), lock.name
