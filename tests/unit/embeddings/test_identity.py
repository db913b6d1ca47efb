"""Identity is the model, not the length."""

from __future__ import annotations

import numpy as np
import pytest

from app.embeddings.identity import Inspection, declared_identity, identity, refusal, same_model, same_vector
from tests.unit.embeddings.conftest import profile_of

UNIT = np.eye(8, dtype=np.float32)[0]


def inspection(**changes: object) -> Inspection:
    values: dict[str, object] = {"named_model": "fake-model", "info_model": None, "dimensions": 8, "norm": 1.0}
    values |= {"max_batch": None, "vector": UNIT, "seconds": 0.1, **changes}
    return Inspection(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("intfloat/multilingual-e5-small", "multilingual-e5-small"),
        ("Multilingual-E5-Small", "multilingual-e5-small"),
        ("nomic-embed-text:latest", "nomic-embed-text"),
        ("/data/models/bge-m3.gguf", "BAAI/bge-m3"),
    ],
)
def test_trivial_differences_of_form(a: str, b: str) -> None:
    assert same_model(a, b)
    assert same_model(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("multilingual-e5-small", "multilingual-e5-small-q4"),
        ("one/bge-m3", "another/bge-m3"),
        ("nomic-embed-text:v1", "nomic-embed-text"),
        ("", ""),
        ("/", "/"),
    ],
)
def test_other_models(a: str, b: str) -> None:
    assert not same_model(a, b)


def test_refusals_come_in_the_seeds_order() -> None:
    everything: dict[str, object] = {"dimensions": 3, "named_model": None, "norm": 5.0}
    profile = profile_of(dimensions=2001)
    expected = ["switch.dimensions", "switch.too_many_dimensions", "switch.names_no_model", "switch.not_normalised"]
    found = []
    fixes: tuple[dict[str, object], ...] = (
        {},
        {"dimensions": 2001},
        {"profile": 8},
        {"named_model": "fake-model"},
        {"norm": 1.005},
    )
    for fix in fixes:
        profile = profile_of() if "profile" in fix else profile
        everything |= {"dimensions": 8} if "profile" in fix else fix
        refused = refusal(profile, inspection(**everything))
        found.append(refused and refused.code)
    assert found == [*expected, None]


@pytest.mark.parametrize("names", [{"named_model": "other"}, {"info_model": "other"}])
def test_answer_and_info_must_both_agree(names: dict[str, str]) -> None:
    refused = refusal(profile_of(), inspection(**names))
    assert refused is not None
    assert refused.code == "switch.other_model"
    assert "other" in str(refused)
    assert "fake-model" in str(refused)


def test_norm_is_free_where_the_profile_says_so() -> None:
    assert refusal(profile_of(normalize=False), inspection(norm=5.0)) is None


@pytest.mark.parametrize("name", ["fake-model", "Org/Fake-Model", "/models/fake-model.gguf"])
def test_identity_does_not_depend_on_the_spelling(name: str) -> None:
    assert identity(profile_of(), inspection(named_model=name)) == declared_identity(profile_of())


def test_same_vector() -> None:
    noisy = UNIT + np.float32(1e-3)
    assert same_vector(UNIT, noisy)
    assert same_vector(list(UNIT), UNIT)
    assert not same_vector(UNIT, np.eye(8, dtype=np.float32)[1])
    assert not same_vector(UNIT, UNIT[:4])
    assert not same_vector(UNIT, np.zeros(8, dtype=np.float32))
    assert not same_vector(UNIT, np.full(8, np.nan, dtype=np.float32))
