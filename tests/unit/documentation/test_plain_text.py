"""What is searched of a text: the same words whether the parser was needed or not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.documentation.markdown import _blocks, _paragraphs, first_heading, to_plain

PIECES = st.sampled_from(
    ["word", "Città", "1", " ", "  ", "\n", "\n\n", ".", "-", "- ", "1. ", "(c)", "…", "'", '"', "http://x.y", "=",
     "---", "\t", "|", ":-", "# ", "東京", "%", "[a]", "&amp;", "\\", "_a_", "*", "`", "<b>", "\u00a0", "\r\n"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9).map("".join))
@example("one line\nand another\n\n\na second paragraph.\n")
def test_what_needs_no_parser_is_read_as_the_parser_reads_it(text: str) -> None:
    found = _paragraphs(text)
    assert not found or found == _blocks(text)


def test_paragraphs_without_markup_need_no_parser() -> None:
    assert _paragraphs("It's one line,\nand another - (so).\n\n\nÈ un secondo: 20%?\n") == [
        "It's one line, and another - (so).",
        "È un secondo: 20%?",
    ]


@pytest.mark.parametrize(
    "text", ["a *word*", "- an item", "1. an item", "a | b\n- | -", "a  \nb", "x\n---", "a &amp; b"]
)
def test_markup_is_left_to_the_parser(text: str) -> None:
    assert _paragraphs(text) == []


def test_a_first_paragraph_that_repeats_the_title_is_left_out() -> None:
    assert to_plain("Title\n\nwords", "Title") == "words"


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("\n# First *one*\n\n# Second", "First one"),
        ("words\n\n# Later", "Later"),
        ("# See [that]\n\n[that]: https://example.org", "See that"),
        ("## Second level\n\n```\n# no heading\n```", ""),
        ("Underlined\n==========", "Underlined"),
    ],
)
def test_the_first_heading(text: str, heading: str) -> None:
    assert first_heading(text) == heading
