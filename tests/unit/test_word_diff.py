"""Two texts as one, by words."""

from __future__ import annotations

import pytest

from app.web.word_diff import KEPT, Piece, shortened, word_diff


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("", "new"),
        ("old", ""),
        ("Ask your manager early.", "Ask your team lead early."),
        ("uno due\ntre", "uno  due\n\ntre quattro"),
        ("word " * 4000 + "\nend", "word " * 4000 + "\nother end"),
    ],
)
def test_the_pieces_give_both_texts(old: str, new: str) -> None:
    pieces = word_diff(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "old") == new


def test_only_the_words_that_differ_are_marked() -> None:
    assert word_diff("Ask your manager early.", "Ask your chief early.") == [
        Piece("same", "Ask your "),
        Piece("old", "manager"),
        Piece("new", "chief"),
        Piece("same", " early."),
    ]


def test_long_unchanged_runs_become_a_gap() -> None:
    run = "x " * 1000
    pieces = shortened([Piece("new", "a"), Piece("same", run), Piece("old", "b"), Piece("same", run)])
    assert [piece.kind for piece in pieces] == ["new", "same", "gap", "same", "old", "same", "gap"]
    assert sum(len(piece.text) + piece.count for piece in pieces[1:4]) == len(run)
    assert len(pieces[1].text) == KEPT
