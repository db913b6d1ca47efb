"""Markdown in passages: headings, code and tables that stay whole while they fit, and what is cut where they don't."""

from __future__ import annotations

import pytest

from app.documentation.splitter import split_markdown


def cut(body: str, title: str = "", words: int = 250) -> list[tuple[str, str]]:
    return [(" / ".join(one.breadcrumb), one.text) for one in split_markdown(body, title, words)]


def test_passages_stand_under_their_headings() -> None:
    body = "# Page\n\nLead.\n\n## A\n\nOne.\n\nTwo.\n\n### B\n\nThree.\n\n## C ##\n\nFour."
    assert cut(body, "Page") == [("", "Lead."), ("A", "One.\n\nTwo."), ("A / B", "Three."), ("C", "Four.")]
    assert cut(body, "Other")[0] == ("Page", "Lead.")


def test_a_heading_without_text_is_no_passage() -> None:
    assert cut("## A\n\n## B\n\nText.\n\n---\n") == [("B", "Text.\n\n---")]
    assert cut("## A\n\n***\n") == []


def test_hashes_inside_code_are_no_headings() -> None:
    body = "## A\n\n```sh\n# not a heading\n\nrun\n```\n\nAfter."
    assert cut(body) == [("A", "```sh\n# not a heading\n\nrun\n```\n\nAfter.")]


def test_a_fence_that_never_closes_takes_the_rest() -> None:
    assert cut("## A\n\n~~~\n## B\ntext") == [("A", "~~~\n## B\ntext")]


def test_long_code_is_cut_at_lines_with_its_fence() -> None:
    body = "```py\n" + "\n".join(f"a{n} = {n}" for n in range(10)) + "\n```"
    parts = [text for _, text in cut(body, words=14)]
    assert len(parts) > 1
    assert all(part.startswith("```py\n") and part.endswith("\n```") and len(part.split()) <= 14 for part in parts)
    inside = [line for part in parts for line in part.split("\n")[1:-1]]
    assert inside == [f"a{n} = {n}" for n in range(10)]


def test_a_long_table_repeats_its_header() -> None:
    rows = [f"| k{n} | v{n} |" for n in range(8)]
    parts = [text for _, text in cut("\n".join(["| key | value |", "| --- | --- |", *rows]), words=22)]
    assert len(parts) > 1
    assert all(part.startswith("| key | value |\n| --- | --- |\n") for part in parts)
    assert [line for part in parts for line in part.split("\n")[2:]] == rows


def test_long_prose_is_cut_at_sentences_then_at_words() -> None:
    assert cut("One two three four five. Six seven eight nine ten.", words=8) == [
        ("", "One two three four five."),
        ("", "Six seven eight nine ten."),
    ]
    endless = " ".join(f"w{n}" for n in range(30))
    parts = [text for _, text in cut(endless, words=8)]
    assert " ".join(parts) == endless
    assert max(len(part.split()) for part in parts) == 8


def test_a_window_too_small_to_hold_anything_is_refused() -> None:
    with pytest.raises(ValueError, match="8 words"):
        split_markdown("text", max_words=7)
