"""Splitting: all of the text, once, within the window, the same each time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.documents.text import document_text
from app.core.documents.tokens import DEAREST, costs, estimated_tokens
from app.embeddings.passages import Passage, _running_costs, _spans, _spans_of, passage_hash, split

WORDS = st.text(st.sampled_from("abcé ZЯ中ก9.!?\n\n\u0301-🎉\u00a0"), max_size=1500)
WINDOWS = st.integers(8, 300)


@given(title=WORDS, body=WORDS, window=WINDOWS)
@example(title="a" * 500, body="b", window=8)
@example(title=" ", body="\u0301" * 200 + "a", window=8)
def test_covers_all_that_says_something_once_and_in_order(title: str, body: str, window: int) -> None:
    text = document_text(title, body)
    passages = split(title, body, window)
    assert [passage.n for passage in passages] == list(range(len(passages)))
    assert {passage.of for passage in passages} <= {len(passages)}
    assert all(first.end <= second.start for first, second in pairwise(passages))
    kept = "".join(text[passage.start : passage.end] for passage in passages)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


@given(title=WORDS, body=WORDS, window=WINDOWS)
@example(title="", body="9?Z?aa?aa?Za99?9?9?9??", window=9)
def test_is_bounded_trimmed_and_the_same_each_time(title: str, body: str, window: int) -> None:
    text = document_text(title, body)
    passages = split(title, body, window)
    assert passages == split(title, body, window)
    for passage in passages:
        assert estimated_tokens(passage.text) <= window
        assert passage.text.endswith(text[passage.start : passage.end])
        assert text[passage.start : passage.end] == text[passage.start : passage.end].strip() != ""


@pytest.mark.parametrize(("title", "body"), [("", ""), (" ", "\n\n"), ("", "--- ***"), ("\u200b", "")])
def test_blanks_and_marks_have_no_passages(title: str, body: str) -> None:
    assert split(title, body, 100) == []


@given(st.text())
def test_no_character_costs_more_than_the_dearest(text: str) -> None:
    assert not text or int(costs(text).max()) <= DEAREST


@given(piece=WORDS, heading=WORDS, window=st.integers(16, 120))
def test_a_part_that_surely_fits_is_cut_as_if_it_had_been_measured(piece: str, heading: str, window: int) -> None:
    measured = [span for span in _spans(piece, _running_costs(piece), 0, heading[:9], window) if span[0] < span[1]]
    assert [span for span in _spans_of(piece, heading[:9], window) if span[0] < span[1]] == measured


def test_a_short_document_is_one_passage_of_its_own_text() -> None:
    assert split("Printers", "The tray is empty.", 100) == [Passage(0, 1, 0, 28, "Printers\n\nThe tray is empty.")]


def test_later_passages_carry_the_title_outside_of_their_offsets() -> None:
    body = "\n\n".join(f"Paragraph {number} says something about the tray and the paper in it." for number in range(9))
    first, *later = split("Printers", body, 50)
    assert first.start == 0
    assert later
    for passage in later:
        assert passage.text == "Printers\n" + document_text("Printers", body)[passage.start : passage.end]
        assert passage.text.startswith("Printers\nParagraph")


def test_cuts_at_paragraphs_then_sentences_then_words_then_anywhere() -> None:
    sentence = "The quick brown fox jumps over the lazy dog. "
    assert split("", f"{sentence * 3}\n\n{sentence * 3}", 50)[0].text.endswith("dog.")
    assert all(passage.text.endswith("dog.") for passage in split("", sentence * 20, 50))
    words = split("", "alpha beta gamma delta " * 50, 50)
    assert {passage.text.split()[-1] for passage in words} <= {"alpha", "beta", "gamma", "delta"}
    assert "".join(passage.text for passage in split("", "x" * 3000, 50)) == "x" * 3000


def test_a_crumb_is_not_left_over() -> None:
    passages = split("", "word " * 230, 220)
    assert min(estimated_tokens(passage.text) for passage in passages) > 60


def test_marks_stay_with_their_letter() -> None:
    text = "e\u0301" * 2000
    assert not any(passage.text[0] == "\u0301" for passage in split("", text, 50))


def test_a_huge_document_splits() -> None:
    passages = split("Title", "parola " * 28_571, 220)
    assert passages[-1].end == len(document_text("Title", "parola " * 28_571)) - 1


def test_cjk_counts_one_a_character() -> None:
    assert estimated_tokens("中文合約轉換" * 10) >= 60


def test_passage_hash_is_of_the_text_alone() -> None:
    assert passage_hash("a") == passage_hash("a") != passage_hash("b")
    assert len(passage_hash("a")) == 16


def test_a_window_too_small_is_refused() -> None:
    with pytest.raises(ValueError):
        split("a", "b", 7)
