"""Vectors of questions are kept, until another model serves: seen from the models' servers."""

from __future__ import annotations

from app.embeddings import activation_store
from tests.fakes.embedding_server import text_vector
from tests.fixtures.bench import DIMENSIONS, A, B, Bench

QUESTION = "where is the paper"


def ask(bench: Bench, question: str = QUESTION) -> tuple[float, ...]:
    """The question's vector as search gets it."""
    vectors = bench.container.vectors
    assert vectors is not None
    return tuple(vectors.query_vector(question, 5.0).vector)


def asked(bench: Bench, server: str) -> int:
    """How often a model's server was asked the question."""
    return bench.servers[server].counters.embedded[QUESTION]


def of(model: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text_vector(model, QUESTION, "", DIMENSIONS[model], False))


def switch(bench: Bench, target: str) -> None:
    bench.start(target)
    bench.run_until(lambda: bench.serving == target)


def test_a_question_is_embedded_once_and_again_by_each_model_that_serves(bench: Bench) -> None:
    assert ask(bench) == ask(bench) == ask(bench, f"  {QUESTION}\n") == of("alpha")
    assert asked(bench, "alpha") == 1
    switch(bench, B)
    assert ask(bench) == ask(bench) == of("beta")
    assert (asked(bench, "alpha"), asked(bench, "beta")) == (1, 1)
    switch(bench, A)
    assert ask(bench) == of("alpha")
    assert asked(bench, "alpha") == 2, "activation clears what the model's earlier time left behind"


def test_a_suspension_clears_it_too(bench: Bench) -> None:
    """A server that answered as another model for a while has left nothing."""
    ask(bench)
    with bench.container.units() as unit:
        activation_store.suspend(unit.session, "maintenance")
    with bench.container.units() as unit:
        assert activation_store.lift(unit.session, "maintenance")
    ask(bench)
    assert asked(bench, "alpha") == 2
