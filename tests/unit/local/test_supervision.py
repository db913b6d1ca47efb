"""The generated configuration of the supervisor, read back by a parser of the same kind."""

from configparser import RawConfigParser
from pathlib import Path

import pytest

from app.local.errors import LocalError
from app.local.home import Home
from app.local.parts import Settings, application_parts
from app.local.supervision import Supervisor


def configuration(home: Home) -> str:
    parts = application_parts(Settings.read({"CHANGEOVER_HOME": str(home.path)}))
    return Supervisor(home)._configuration(parts, home.path)


def test_paths_with_spaces_and_percent_signs_survive(tmp_path: Path) -> None:
    home = Home(tmp_path / "a home of 100%")
    parsed = RawConfigParser(inline_comment_prefixes=(";", "#"), strict=False)

    parsed.read_string(configuration(home))

    assert parsed["program:web"]["directory"].replace("%%", "%") == str(home.path)
    assert parsed["program:web"]["stdout_logfile"].replace("%%", "%") == str(home.log("web"))
    home.remove()


def test_a_worker_may_take_longer_to_stop_than_the_web_server(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    parsed = RawConfigParser(inline_comment_prefixes=(";", "#"), strict=False)

    parsed.read_string(configuration(home))

    assert int(parsed["program:worker-default"]["stopwaitsecs"]) > int(parsed["program:web"]["stopwaitsecs"])
    assert parsed["program:web"]["autostart"] == "false"
    assert "web" in parsed["group:application"]["programs"].split(",")
    home.remove()


def test_a_path_that_the_format_cannot_carry_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path / "home ;old")

    with pytest.raises(LocalError, match="cannot be used"):
        configuration(home)
    home.remove()
