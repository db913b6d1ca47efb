"""The system account that PostgreSQL runs under: it refuses to run as root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from app.local.errors import LocalError

UNPRIVILEGED = "nobody"


@dataclass(frozen=True)
class Account:
    """An account with an entry in the password database, as `initdb` and `postgres` ask for."""

    name: str
    uid: int
    gid: int

    @property
    def is_current(self) -> bool:
        return self.uid == os.geteuid()

    @property
    def child_user(self) -> int | None:
        """`user` for `subprocess`, so that the child runs as this account; None when it does so anyway."""
        return None if self.is_current else self.uid

    @property
    def child_group(self) -> int | None:
        """`group` for `subprocess`, as `child_user`."""
        return None if self.is_current else self.gid

    @property
    def child_groups(self) -> list[int] | None:
        """`extra_groups` for `subprocess`, as `child_user`: none of root's."""
        return None if self.is_current else []

    def may(self, permission: str, path: Path) -> bool:
        """Whether the account has `permission` ("r", "w", "x") on `path`, every folder above it included.

        The account itself is asked, so access lists and mount options count too.
        """
        asked = subprocess.run(
            ["/bin/sh", "-c", f'test -{permission} "$1"', "sh", str(path)],
            cwd="/",
            check=False,
            user=self.child_user,
            group=self.child_group,
            extra_groups=self.child_groups,
        )
        return asked.returncode == 0


def database_account() -> Account:
    """The account for PostgreSQL: our own, or an unprivileged one when we are root.

    Raises LocalError when that account has no entry in the password database.
    """
    uid = os.geteuid()
    try:
        entry = pwd.getpwnam(UNPRIVILEGED) if uid == 0 else pwd.getpwuid(uid)
    except KeyError:
        wanted = f"an account named {UNPRIVILEGED}" if uid == 0 else f"an account with the id {uid}"
        raise LocalError(
            f"PostgreSQL needs {wanted} in the password database and there is none. Add it, or set DATABASE_URL."
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def current_account() -> Account:
    """The account of this process, whether or not it has an entry."""
    return Account("", os.geteuid(), os.getegid())
