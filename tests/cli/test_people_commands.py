import os
import subprocess
import sys
from pathlib import Path

import pytest
from apiflask import APIFlask
from click.testing import Result

from app.container import Container
from tests.fixtures.clients import Api

ROOT = Path(__file__).resolve().parents[2]


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=list(arguments))


def test_the_schema_is_brought_up_to_date_twice(app: APIFlask) -> None:
    assert run(app, "db", "upgrade").exit_code == 0
    assert run(app, "db", "upgrade").exit_code == 0


def test_a_person_is_created_listed_given_a_password_and_disabled(app: APIFlask, container: Container) -> None:
    made = run(app, "users", "create", "ada", "--role", "editor", "--name", "Ada", "--password", "right password")
    assert made.exit_code == 0, made.output
    listed = run(app, "users", "list")
    assert listed.output.split("\t") == ["ada", "Ada", "editor", "active\n"]
    assert run(app, "users", "password", "ada", "--password", "other password").exit_code == 0
    with container.units() as unit:
        assert container.access.sign_in(unit, "ada", "other password", "").session_version == 2
    assert run(app, "users", "disable", "ada").exit_code == 0
    assert "disabled" in run(app, "users", "list").output


def test_a_token_is_all_that_is_printed_and_it_works(app: APIFlask) -> None:
    run(app, "users", "create", "admin", "--role", "administrator", "--password", "right password")
    made = run(app, "tokens", "create", "--user", "admin", "--scope", "all", "--days", "1")
    assert made.exit_code == 0
    secret = made.stdout.removesuffix("\n")
    assert secret.startswith("chg_")
    assert "\n" not in secret
    assert Api(app, secret).get("/api/v1/settings").status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ("tokens", "create", "--user", "nobody", "--scope", "all"),
        ("users", "disable", "nobody"),
        ("users", "create", "x", "--role", "reader", "--password", "short"),
    ],
)
def test_a_refusal_is_a_sentence_and_exit_code_1(app: APIFlask, arguments: tuple[str, ...]) -> None:
    refused = run(app, *arguments)
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert refused.stderr.startswith("Error: ")
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("command", [("-m", "flask", "--app", "wsgi", "users", "list"), ("-c", "import wsgi")])
def test_a_wrong_configuration_is_named_without_a_traceback(command: tuple[str, ...]) -> None:
    environment = {"PATH": os.environ["PATH"], "REDIS_URL": "redis://127.0.0.1:1", "WEB_WORKRES": "2"}
    ended = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "DATABASE_URL is missing" in ended.stderr
    assert "WEB_WORKRES" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_web_server_gives_up_on_a_wrong_configuration() -> None:
    command = ("-m", "gunicorn", "wsgi:app", "--bind", "127.0.0.1:0", "--no-control-socket")
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert "DATABASE_URL is missing" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_last_administrator_is_rescued_with_a_password_that_is_printed_once(
    app: APIFlask, container: Container
) -> None:
    run(app, "users", "create", "admin", "--role", "administrator", "--password", "right password")
    run(app, "users", "create", "rita", "--role", "reader", "--password", "right password", "--guest")
    refused = run(app, "users", "disable", "admin")
    assert refused.exit_code == 1
    assert "last administrator" in refused.stderr
    run(app, "users", "disable", "rita")
    rescued = run(app, "users", "rescue", "rita")
    assert rescued.exit_code == 0, rescued.output
    password = rescued.stdout.removesuffix("\n")
    assert len(password) >= 20
    with container.units() as unit:
        user = container.access.sign_in(unit, "rita", password, "")
        assert {role.name for role in user.roles} == {"administrator", "reader"}
        assert not user.is_guest
    assert run(app, "users", "disable", "admin").exit_code == 0, "there is another one now"


def test_a_rescue_takes_its_password_from_standard_input(app: APIFlask, container: Container) -> None:
    run(app, "users", "create", "admin", "--role", "administrator", "--password", "right password")
    rescued = app.test_cli_runner().invoke(
        args=["users", "rescue", "admin", "--password-stdin"], input="from a manager\n"
    )
    assert rescued.exit_code == 0, rescued.output
    assert "from a manager" not in rescued.output
    with container.units() as unit:
        container.access.sign_in(unit, "admin", "from a manager", "")
    assert run(app, "users", "rescue", "nobody").exit_code == 1
    assert run(app, "users", "rescue", "admin", "--ask", "--password-stdin").exit_code == 2
