"""schemathesis against the served document: generated requests, good and bad, as administrator and as reader.

Valid data must be accepted, invalid data refused, and every answer must be one that the document tells, in its shape.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
import schemathesis
from apiflask import APIFlask
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import positive_data_acceptance
from sqlalchemy import text

from app.container import Container
from app.core.access.models import User
from tests.fixtures.clients import People

GOOD, BAD = 4, 3
"""Examples of each operation."""
SEED = 20261130

EXEMPT_OPERATIONS = {
    "embedding_switches.start": "asks a model server",
    "vector_health.sample": "asks a model server",
    "vector_health.repair": "asks a model server",
    "health.ready": "says 503 while no worker runs, as in this test",
}
"""Operations that are not sent at all, and why."""
UNKNOWABLE = {
    "cursor": "only a list that was answered gives one that continues it",
    "If-Match": "may not differ from the revision that the same request names",
    "Idempotency-Key": "two different requests may not have the same",
}
"""Parameters that are left out of good requests: what makes them right is no matter of their form."""
NOT_BY_FORM = {
    "bulk.change": "only a preview gives the token",
    "bulk.preview": "an equality with nothing in it restricts nothing",
    "roles.create": "names of permissions must be registered and be given by somebody who has them",
    "roles.update": "as for roles.create",
    "users.create": "names of roles must exist",
    "users.update": "as for users.create",
    "documentation.answer": "the corpus must be one of the collections",
    "documentation.retrieve": "as for documentation.answer",
    "documentation_ingest.ingest": "a text or bytes, of a kind of file that is read",
    "documentation_queries.erase": "somebody or a question must be named",
    "search_suggestions.suggestions": "names of entities must exist",
    "approvals.edit": "values are those of the entity that was captured",
    "settings.update": "the value must fit the setting",
}
"""Operations whose good requests need not be accepted, and why: the service knows more than a form can say."""

CHECKS = {
    "not_a_server_error": {"enabled": True},
    "status_code_conformance": {"enabled": True},
    "content_type_conformance": {"enabled": True},
    "response_schema_conformance": {"enabled": True},
    "response_headers_conformance": {"enabled": True},
    "negative_data_rejection": {"enabled": True, "expected-statuses": ["4xx"]},
    "positive_data_acceptance": {
        "enabled": True,
        "expected-statuses": ["2xx", "304", "403", "404", "409", "412", "428"],
    },
    "missing_required_header": {"enabled": True},
    "unsupported_method": {"enabled": True},
    "ignored_auth": {"enabled": True},
}
EXEMPT_CHECKS: dict[str, str] = {
    "use_after_free": "needs stateful runs; deleting is tested in test_records.py",
    "ensure_resource_availability": "needs stateful runs",
    "max_response_time": "no test asserts a time",
}

CONFIG = {
    "generation": {"allow-x00": False, "with-security-parameters": False},
    "checks": {**CHECKS, **{name: {"enabled": False} for name in EXEMPT_CHECKS if name != "max_response_time"}},
}


@pytest.fixture
def records(container: Container, admin: User) -> None:
    """Something to be found under small ids, and tokens far away from them, so that nobody ends their own."""
    with container.units() as unit:
        unit.session.execute(text("select setval(pg_get_serial_sequence('api_tokens', 'id'), 1000000)"))
        unit.session.execute(text("insert into cms_contents (category) select 'news' from generate_series(1, 3)"))
        unit.session.execute(
            text(
                "insert into cms_content_translations (content_id, locale, title, body)"
                " select id, 'en', 'News', '' from cms_contents"
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize("role", ["administrator", "reader"])
def test_finds_nothing(app: APIFlask, records: None, people: People, admin: User, role: str) -> None:
    user = admin if role == "administrator" else people.user("rita", role)
    headers = {"Authorization": f"Bearer {people.token(user, 'all')}"}
    config = schemathesis.Config.from_dict(CONFIG)
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app, config=config, headers=headers)
    found: dict[str, str] = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        if _named(operation) in EXEMPT_OPERATIONS:
            continue
        for mode, count in ((GenerationMode.POSITIVE, GOOD), (GenerationMode.NEGATIVE, BAD)):
            _try(operation, mode, count, headers, found)
        known = app.test_client(use_cookies=False).get("/api/v1/me", headers=headers)
        assert known.status_code == 200, operation.label
    print("\n".join(f"@@@ {a}\n{b}" for a, b in found.items()))
    assert list(found) == []


def _try(
    operation: APIOperation, mode: GenerationMode, count: int, headers: dict[str, str], found: dict[str, str]
) -> None:
    """Send ``count`` requests; what a check finds goes to ``found``."""

    @seed(SEED)
    @settings(
        max_examples=count,
        derandomize=False,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: schemathesis.Case) -> None:
        if mode is GenerationMode.POSITIVE:
            for name in UNKNOWABLE:
                (case.query or {}).pop(name, None)
                (case.headers or {}).pop(name, None)
        excluded = [positive_data_acceptance] if _named(operation) in NOT_BY_FORM else []
        try:
            case.call_and_validate(headers=headers, excluded_checks=excluded)
        except FailureGroup as group:
            for failure in group.exceptions:
                title = failure.title if isinstance(failure, Failure) else type(failure).__name__
                found.setdefault(f"{operation.label} {mode.value}: {title}", str(group)[:1500])

    run: Callable[[], None] = send
    with suppress(Unsatisfiable):  # nothing can be wrong with a request that has no part of its own
        run()


def _named(operation: APIOperation) -> str:
    """``bulk.change`` for each of ``bulk.change.cms.contents`` and its like."""
    return ".".join(str(operation.definition.raw["operationId"]).split(".")[:2])
