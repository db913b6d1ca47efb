"""Threads beside a search."""

from __future__ import annotations

import os
from contextvars import ContextVar

import pytest

from app.search.beside import beside

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def test_work_has_the_context_of_who_asks() -> None:
    NAME.set("Ada")
    assert beside(NAME.get).result(timeout=5) == "Ada"


def test_an_error_is_raised_again_by_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 // 0).result(timeout=5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    """The threads that were kept stay behind in the parent; work given to them would wait for good."""
    assert beside(lambda: 1).result(timeout=5) == 1
    child = os.fork()
    if child == 0:
        try:
            os._exit(beside(lambda: 7).result(timeout=5))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
