"""Raw values become a request, or one error per field."""

from __future__ import annotations

import pytest

from app.core.errors import Invalid
from app.search.answer import SearchRequest, read_request


def test_defaults() -> None:
    assert read_request(q="x") == SearchRequest(q="x", mode="auto", cost="balanced", page=1)
    assert read_request(q="x", entities=("a.a,b.b", "a.a"), page="").entities == ("a.a", "b.b")


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        ({"q": " "}, "q", "input.required"),
        ({"q": "x" * 4001}, "q", "input.too_long"),
        ({"q": "x", "mode": "fancy"}, "mode", "input.choice"),
        ({"q": "x", "cost": "free"}, "cost", "input.choice"),
        ({"q": "x", "locale": "fr"}, "locale", "input.choice"),
        ({"q": "x", "page": "0"}, "page", "input.type"),
        ({"q": "x", "page": "²"}, "page", "input.type"),
        ({"q": "x", "size": "101"}, "size", "input.type"),
    ],
)
def test_refusals_name_the_field(raw: dict[str, str], path: str, code: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_request(**raw)  # type: ignore[arg-type]
    assert [(error.path, error.code) for error in refusal.value.fields] == [(path, code)]


def test_an_unknown_choice_names_the_allowed_ones() -> None:
    with pytest.raises(Invalid) as refusal:
        read_request(q="x", cost="free")
    assert refusal.value.fields[0].values["allowed"] == "fast, balanced, deep"
