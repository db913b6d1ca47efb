from datetime import UTC, datetime, timedelta

import pytest
from apiflask import APIFlask
from flask import request
from flask_babel import force_locale, refresh

from app.web.filters import duration, moment, number, relative, size
from tests.fakes.clock import START


@pytest.fixture(autouse=True)
def _in_a_request(app: APIFlask):  # type: ignore[no-untyped-def]
    with app.test_request_context():
        yield


def test_numbers_are_grouped_by_locale() -> None:
    assert number(1234567) == "1,234,567"
    assert number(1234.56, 1) == "1,234.6"
    assert number(None) == "–"
    with force_locale("it"):
        assert number(1234567.5, 1) == "1.234.567,5"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1234, "1.2 kB"),
        (52_428_800, "52 MB"),
        (9.96e6, "10 MB"),
        (2e12, "2 TB"),
    ],
)
def test_sizes(value: float, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "less than 1 s"),
        (45, "45 s"),
        (130, "2 min 10 s"),
        (120, "2 min"),
        (11_100, "3 h 5 min"),
        (86_400, "1 day"),
        (190_800, "2 days 5 h"),
        (None, "–"),
        (-3, "0 s"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_moments_stand_in_the_zone_of_the_browser() -> None:
    instant = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    assert "12:00" in moment(instant)
    refresh()
    request.cookies = {"timezone": "Europe/Rome"}  # type: ignore[assignment]
    assert "2:00" in moment(instant)
    for wrong in ("../../etc/passwd", "Nowhere/Land", "Europe"):
        refresh()
        request.cookies = {"timezone": wrong}  # type: ignore[assignment]
        assert "12:00" in moment(instant)


def test_relative_times_count_from_the_clock() -> None:
    assert relative(START - timedelta(minutes=3)) == "3 minutes ago"
    assert relative(START + timedelta(hours=2)) == "in 2 hours"
    assert relative(None) == "–"
