"""``flask docs create-index`` and the commands of kept questions: what they make, say and exit with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apiflask import APIFlask
from click.testing import Result
from sqlalchemy import text

from app.container import Container, build_container
from app.core.settings.schema import QUERY_LOG, QUERY_STORE
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import People
from tests.integration.documentation.test_query_log import execute, put, record, rows

INDEXES = {"documentation_queries_pkey", "documentation_queries_logged_at_idx", "documentation_queries_user_ref_idx"}
SHAPE = """select string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, attnum), ', '
    order by attnum) from pg_attribute where attrelid = 'documentation_queries'::regclass and attnum > 0"""
CHECKS = """select string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' order by conname) from pg_constraint
    where conrelid = 'documentation_queries'::regclass and contype <> 'n'"""


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=["docs", *arguments])


def scalar(container: Container, sql: str) -> object:
    with container.units() as unit:
        return unit.session.scalar(text(sql))


@pytest.fixture
def shape(container: Container) -> Iterator[tuple[object, object]]:
    """The columns and checks that the migration made; they are there again afterwards."""
    yield scalar(container, SHAPE), scalar(container, CHECKS)
    execute(container, "drop table if exists other")


def indexes(container: Container) -> set[str]:
    with container.units() as unit:
        found = unit.session.scalars(text("select indexname from pg_indexes where tablename = 'documentation_queries'"))
        return set(found)


def test_the_table_of_questions_is_there_and_made_again_as_the_migration_made_it(
    app: APIFlask, container: Container, shape: tuple[object, object]
) -> None:
    done = run(app, "create-query-index")
    assert (done.exit_code, "nothing to do" in done.output) == (0, True)
    execute(container, "drop table documentation_queries")
    done = run(app, "create-query-index")
    assert (done.exit_code, "the table documentation_queries was made" in done.output) == (0, True)
    assert (scalar(container, SHAPE), scalar(container, CHECKS)) == shape
    assert indexes(container) == INDEXES


def test_a_missing_index_is_made(app: APIFlask, container: Container) -> None:
    execute(container, "drop index documentation_queries_user_ref_idx")
    assert run(app, "create-query-index").exit_code == 0
    assert indexes(container) == INDEXES


def test_force_loses_what_was_kept_and_nothing_else_does(app: APIFlask, container: Container) -> None:
    put(container, QUERY_LOG, True)
    record(container, 1, "one")
    assert run(app, "create-query-index").exit_code == 0
    assert len(rows(container)) == 1
    done = run(app, "create-query-index", "--force")
    assert (done.exit_code, "the questions in it are gone" in done.output) == (0, True)
    assert rows(container) == []
    assert indexes(container) == INDEXES


def test_a_table_of_another_form_is_told_and_made_anew_by_force(app: APIFlask, container: Container) -> None:
    execute(container, "alter table documentation_queries add column answer text")
    try:
        done = run(app, "create-query-index")
        assert done.exit_code == 1
        assert "has another form, see its columns answer; --force" in done.output
    finally:
        assert run(app, "create-query-index", "--force").exit_code == 0
    assert run(app, "create-query-index").exit_code == 0


def test_create_index_says_what_there_is_and_makes_what_is_missing(app: APIFlask, container: Container) -> None:
    done = run(app, "create-index")
    assert done.exit_code == 0
    assert "documentation_pages: 0 rows" in done.output
    assert "documentation_texts: 0 rows" in done.output
    assert "made" not in run(app, "create-index").output
    execute(container, "alter table documentation_texts rename to other")
    try:
        done = run(app, "create-index")
    finally:
        execute(container, "alter table other rename to documentation_texts")
    assert done.exit_code == 1
    assert "documentation_texts: missing" in done.output
    assert "flask db upgrade" in done.output


def test_create_index_says_where_questions_go(app: APIFlask, container: Container) -> None:
    assert "kept questions: none, the setting is off" in run(app, "create-index").output
    put(container, QUERY_LOG, True)
    done = run(app, "create-index")
    assert "kept questions: the table documentation_queries, see create-query-index" in done.output
    put(container, QUERY_STORE, "elasticsearch")
    done = run(app, "create-index")
    assert (done.exit_code, "documentation_pages: 0 rows" in done.output) == (0, True)
    assert "kept questions: none. Elasticsearch has no address" in done.output


def test_create_index_names_the_index_that_elasticsearch_keeps_questions_in(container: Container) -> None:
    put(container, QUERY_LOG, True)
    put(container, QUERY_STORE, "elasticsearch")
    config = container.config.model_copy(
        update={"elasticsearch_url": "http://127.0.0.1:9", "elasticsearch_prefix": "x"}
    )
    other = build_container(config, queue=container.queue)
    try:
        with other.units() as unit:
            assert other.answering is not None
            assert other.answering.questions is not None
            assert other.answering.questions.place(unit) == "the index x-documentation_queries"
    finally:
        other.engine.dispose()


def test_erasing_a_person_by_name_or_by_the_number_of_an_account_that_is_gone(
    app: APIFlask, container: Container, people: People
) -> None:
    put(container, QUERY_LOG, True)
    rita = people.user("rita", "reader")
    for user_id, question in ((rita.id, "one"), (rita.id, "two"), (4711, "three"), (4711, "one")):
        record(container, user_id, question)
    assert run(app, "erase-queries", "rita", "--question", "two").output == "1 erased\n"
    assert run(app, "erase-queries", "rita").output == "1 erased\n"
    assert run(app, "erase-queries", "rita").output == "0 erased\n"
    assert run(app, "erase-queries", "4711", "--question", "other").output == "0 erased\n"
    assert run(app, "erase-queries", "--question", "three").output == "1 erased\n"
    assert run(app, "erase-queries", "4711").output == "1 erased\n"
    unknown = run(app, "erase-queries", "nobody")
    assert (unknown.exit_code, "There is no user named nobody" in unknown.output) == (1, True)
    nothing = run(app, "erase-queries")
    assert (nothing.exit_code, "Say whose questions" in nothing.output) == (1, True)


def test_pruning_by_hand(app: APIFlask, container: Container, clock: FakeClock) -> None:
    put(container, QUERY_LOG, True)
    record(container, 1, "one")
    assert run(app, "prune-queries").output == "0 deleted\n"
    clock.advance(86_400 * 31)
    record(container, 1, "two")
    assert run(app, "prune-queries").output == "1 deleted\n"
    assert [one["query"] for one in rows(container)] == ["two"]
