"""The data home: what is kept, for whom it is readable, and who may hold it."""

import socket
import stat
from pathlib import Path

import pytest

from app.local.account import current_account
from app.local.errors import LocalError
from app.local.home import LONGEST_SOCKET_PATH, Home, is_free


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_secret_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    first = Home(tmp_path / "home").secret("admin-password")

    assert Home(tmp_path / "home").secret("admin-password") == first
    assert len(first) >= 24
    assert mode(tmp_path / "home" / "admin-password") == 0o600


def test_two_homes_have_different_secrets(tmp_path: Path) -> None:
    assert Home(tmp_path / "one").secret("secret-key") != Home(tmp_path / "two").secret("secret-key")


def test_the_home_can_be_passed_through_but_not_listed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")

    assert mode(home.path) == 0o711
    assert mode(home.folder("logs")) == 0o700


def test_a_port_is_remembered(tmp_path: Path) -> None:
    port = Home(tmp_path).port("embeddings")

    assert Home(tmp_path).port("embeddings") == port
    assert Home(tmp_path).port("embeddings-fast") != port


def test_a_port_that_somebody_took_meanwhile_is_replaced(tmp_path: Path) -> None:
    port = Home(tmp_path).port("embeddings")
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()

        assert not is_free("127.0.0.1", port)
        assert Home(tmp_path).port("embeddings") != port


def test_a_socket_folder_is_private_short_and_remembered(tmp_path: Path) -> None:
    home = Home(tmp_path / ("long" * 20) / "home")

    folder = home.socket_folder("valkey", current_account())

    assert mode(folder) == 0o700
    assert len(str(folder / ".s.PGSQL.5432")) <= LONGEST_SOCKET_PATH
    assert home.socket_folder("valkey", current_account()) == folder
    home.remove()
    assert not folder.exists()


def test_a_socket_folder_that_others_could_enter_is_not_used_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = home.socket_folder("valkey", current_account())
    folder.chmod(0o777)

    assert home.socket_folder("valkey", current_account()) != folder
    folder.rmdir()
    home.remove()


def test_a_second_holder_is_refused_with_the_first_ones_process(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.locked(), pytest.raises(LocalError, match=r"already running .* \(process \d+\)"), Home(tmp_path).locked():
        pass

    with home.locked():
        pass


def test_a_home_that_cannot_be_made_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalError, match="CHANGEOVER_HOME"):
        Home(tmp_path / "file" / "home")
