"""The kept vectors of questions: what distinguishes them, how many there are, and whose they are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.embeddings.profiles import Profile
from app.embeddings.questions import QuestionVectors, asked
from tests.unit.embeddings.conftest import profile_of

WORDING = "where is it"


def other(**changes: object) -> Profile:
    return profile_of(**changes)


@pytest.mark.parametrize(
    ("space", "profile", "wording"),
    [
        (2, other(), WORDING),
        (1, other(key="openai_compatible:other"), WORDING),
        (1, other(query_prefix="query: "), WORDING),
        (1, other(prefixes="server"), WORDING),
        (1, other(), "where is it?"),
    ],
)
def test_space_model_prefix_and_wording_each_make_another_question(space: int, profile: Profile, wording: str) -> None:
    kept = QuestionVectors()
    kept.put(1, asked(1, other(), WORDING), (1.0,))
    assert kept.get(1, asked(1, other(), WORDING)) == (1.0,)
    assert kept.get(1, asked(space, profile, wording)) is None


def test_a_new_epoch_clears_all_and_an_old_one_leaves_nothing() -> None:
    kept = QuestionVectors()
    question = asked(1, other(), WORDING)
    kept.put(4, question, (1.0,))
    assert kept.get(5, question) is None
    assert len(kept) == 0
    kept.put(4, question, (1.0,))  # a search that began before the activation
    assert kept.get(5, question) is None
    assert kept.get(4, question) is None
    kept.put(5, question, (2.0,))
    assert kept.get(5, question) == (2.0,)


def test_many_threads_keep_to_the_bound_and_to_their_epoch() -> None:
    kept = QuestionVectors(size=50)

    def work(number: int) -> bool:
        epoch = 1 + number // 500
        question = asked(1, other(), str(number % 100))
        kept.put(epoch, question, (float(epoch),))
        found = kept.get(epoch, question)
        return found in (None, (float(epoch),))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(2000)))
    assert 0 < len(kept) <= 50
