"""Where passages stand in the searchable text, by which splitter, within which bounds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.documents.text import clean_text
from app.core.documents.tokens import estimated_tokens
from app.core.errors import Invalid
from app.documentation.cutting import Piece, Splitter, cut
from app.documentation.splitter import Size, open_fence, split_at, split_markdown, split_sentences
from app.embeddings.passages import split

BLOCKS = st.sampled_from(
    ["# T", "## Part", "### Inner part", "One sentence. Another one! A third?", "word " * 40, "x" * 300, "- a\n- b",
     "```py\nx = 1\ny = 2\n```", "| k | v |\n|---|---|\n| a | b |\n| c | d |", "***", "\u200b", "中文合約轉換",
     "> quoted"]
)  # fmt: skip
BODIES = st.lists(BLOCKS, max_size=12).map("\n\n".join)
SPLITTERS = st.builds(
    lambda kind, words, window: Splitter(kind, words, "***" if kind == "delimiter" else "", window),
    st.sampled_from(["markdown_aware", "sentence", "delimiter"]),
    st.integers(8, 60),
    st.integers(40, 512),
)


@settings(deadline=None, max_examples=60)
@given(bodies=st.lists(BODIES, min_size=1, max_size=3), splitter=SPLITTERS)
def test_passages_are_spans_of_the_searchable_text(bodies: list[str], splitter: Splitter) -> None:
    pieces = [Piece(body, page) for page, body in enumerate(bodies, start=1)]
    plain, passages = cut("T", pieces, splitter)
    assert plain == clean_text(plain)
    assert [one.n for one in passages] == list(range(len(passages)))
    assert all(before.end + 2 == after.start for before, after in pairwise(passages))
    if passages:
        assert (passages[0].start, passages[-1].end) == (0, len(plain))
    assert [one.page for one in passages] == sorted(one.page or 0 for one in passages)
    for one in passages:
        size = Size(splitter.max_words, splitter.max_tokens)
        assert size(one.text) <= size.limit or one.text.startswith(("```", "|"))


@settings(deadline=None, max_examples=60)
@given(bodies=st.lists(BODIES, min_size=1, max_size=2))
def test_the_embedder_cuts_where_the_splitter_did(bodies: list[str]) -> None:
    """At the window that was planned for, one passage of the splitter is one vector."""
    splitter = Splitter(window=512)
    plain, passages = cut("T", [Piece(body) for body in bodies], splitter)
    embedded = split("T", plain, splitter.window, [(one.start, " / ".join(one.breadcrumb)) for one in passages])
    before = len("T\n\n")
    if passages:
        assert [(one.start - before, one.end - before) for one in embedded] == [
            (one.start, one.end) for one in passages
        ]
        assert [one.text.split("\n")[0] for one in embedded] == [" / ".join(("T", *one.breadcrumb)) for one in passages]
    assert all(estimated_tokens(one.text) <= splitter.window for one in embedded)


def test_a_smaller_window_cuts_further_and_stays_inside_the_passage() -> None:
    body = "## A\n\n" + "word " * 200 + "\n\n## B\n\nEnd."
    plain, passages = cut("T", [Piece(body)], Splitter(window=512))
    embedded = split("T", plain, 64, [(one.start, " / ".join(one.breadcrumb)) for one in passages])
    assert len(embedded) > len(passages) == 2
    assert [one.text.split("\n")[0] for one in embedded] == ["T / A"] * (len(embedded) - 1) + ["T / B"]


def test_a_window_bounds_passages_of_long_words() -> None:
    body = "Donaudampfschifffahrtsgesellschaftskapitaen " * 100
    by_words = split_markdown(body, max_words=100)
    by_tokens = split_markdown(body, max_words=100, max_tokens=120)
    assert len(by_words) == 1
    assert len(by_tokens) > 5
    assert all(estimated_tokens(one.text) <= 120 for one in by_tokens)
    endless = split_markdown("x" * 5000, max_words=100, max_tokens=120)
    assert "".join(one.text for one in endless) == "x" * 5000
    assert all(estimated_tokens(one.text) <= 120 for one in endless)


def test_sentences_fill_passages_across_headings_and_keep_code_whole() -> None:
    body = "# T\n\nOne two three. Four five six.\n\n## A\n\n```sh\nrun this\n```\n\nSeven eight. Nine ten."
    assert [one.text for one in split_sentences(body, "T", 8)] == [
        "One two three. Four five six.\n\n## A",
        "```sh\nrun this\n```\n\nSeven eight. Nine ten.",
    ]
    assert all(one.breadcrumb == () for one in split_sentences(body, "T", 8))


def test_a_delimiter_ends_passages_and_too_long_ones_are_cut_at_sentences() -> None:
    body = "First part.\n%%\nSecond part. " + "It goes on and on. " * 3 + "%%\n  %%Last."
    assert [one.text for one in split_at("%%", body, max_words=8)] == [
        "First part.", "Second part. It goes on and on.", "It goes on and on.", "It goes on and on.", "Last.",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="not blank"):
        split_at(" \n", "text")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("```\nx\n```", None), ("a\n\n```sh\nx", 3), ("```\nx\n~~~", 1), ("````\n```\n````", None), ("```a``` b", None),
        ("~~~\n```\n~~~\n\n```", 5), ("", None), ("```\nx\n```\n\n   ```js\ny\n   ```", None),
    ],
)  # fmt: skip
def test_a_fence_that_never_closes_is_told_by_its_line(body: str, line: int | None) -> None:
    assert open_fence(body) == line


@pytest.mark.parametrize(
    "wrong",
    [{"driver": "words"}, {"max_words": 7}, {"max_words": 2001}, {"driver": "delimiter"}, {"delimiter": "x"},
     {"driver": "delimiter", "delimiter": "\n"}],
)  # fmt: skip
def test_a_splitter_that_cuts_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        Splitter(**wrong)  # type: ignore[arg-type]
    assert refused.value.code == "documentation.splitter"


def test_whatever_changes_the_cut_changes_the_signature() -> None:
    splitters = [Splitter(), Splitter("sentence"), Splitter(max_words=100), Splitter(window=256),
                 Splitter("delimiter", delimiter="x"), Splitter("delimiter", delimiter="y")]  # fmt: skip
    assert len({one.signature for one in splitters}) == len(splitters)


def test_more_text_than_is_searchable_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        cut("T", [Piece("word " * 50_000)], Splitter())
    assert refused.value.code == "documentation.too_much_text"
