"""The audit of pages in a browser misses none: every GET route has a row in `tests/browser/rows.py`."""

from __future__ import annotations

from apiflask import APIFlask

from tests.browser.rows import API, NO_PAGE, ROWS


def test_every_page_has_a_row_in_the_audit(app: APIFlask) -> None:
    """A new route without a row fails, and so does a row without a route."""
    routes = {rule.rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or set())}
    assert {route for route in routes if not route.startswith(API)} == {*ROWS, *NO_PAGE}
