"""Citations: known numbers stay with their sentence, unknown ones are dropped and counted."""

from __future__ import annotations

import pytest

from app.documentation.citations import Claim, check_citations


@pytest.mark.parametrize(
    ("answer", "claims", "dropped"),
    [
        ("Press it [1].", [Claim("Press it.", (1,))], 0),
        ("Press it. [1] Then wait [2, 3].", [Claim("Press it.", (1,)), Claim("Then wait.", (2, 3))], 0),
        ("A [1][1][2]. B", [Claim("A.", (1, 2)), Claim("B", ())], 0),
        ("A [4]. B [0] [2].", [Claim("A.", ()), Claim("B.", (2,))], 2),
        ("A.\n[1]", [Claim("A.", (1,))], 0),
        ("[1] A.", [Claim("A.", (1,))], 0),
        ("See [a] and [x1].", [Claim("See [a] and [x1].", ())], 0),
        ("", [], 0),
        ("[9]", [], 1),
    ],
)
def test_claims(answer: str, claims: list[Claim], dropped: int) -> None:
    checked = check_citations(answer, 3)
    assert (list(checked.claims), checked.dropped) == (claims, dropped)


def test_what_is_cited_is_listed_once() -> None:
    checked = check_citations("A [3]. B [1, 3]. C.", 3)
    assert checked.cited == (1, 3)
    assert [claim.supported for claim in checked.claims] == [True, True, False]
