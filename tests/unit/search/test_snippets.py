"""The lines that show why."""

from __future__ import annotations

from app.search.snippets import LENGTH, likely_words, marked_pieces, snippet

TEXT = "Start of it. " + "filler words here. " * 60 + "The printer prints nothing today. " + "more filler. " * 60


def plain(pieces: tuple[tuple[str, bool], ...]) -> str:
    return "".join(text for text, _ in pieces)


def test_the_densest_place_is_shown_and_marked() -> None:
    pieces = snippet(TEXT, {"printer", "prints"})
    assert [text for text, marked in pieces if marked] == ["printer", "prints"]
    assert plain(pieces).startswith("… ")
    assert plain(pieces).endswith(" …")
    assert len(plain(pieces)) < LENGTH + 10


def test_words_are_not_cut() -> None:
    words = set(TEXT.split())
    assert set(plain(snippet(TEXT, {"printer"})).replace("…", "").split()) <= words


def test_without_marks_it_is_the_beginning_and_a_region_limits_it() -> None:
    assert plain(snippet(TEXT, set())).startswith("Start of it.")
    at = TEXT.index("The printer")
    assert plain(snippet(TEXT, set(), region=(at, at + 33))) == "The printer prints nothing today. …"


def test_a_blank_text_has_none() -> None:
    assert snippet("", {"x"}) == ()
    assert snippet(" \n ", {"x"}) == ()


def test_markup_stays_text() -> None:
    pieces = marked_pieces("<b>Printer</b> & more", {"printer"})
    assert pieces == (("<b>", False), ("Printer", True), ("</b> & more", False))


def test_identifiers_and_pairs_of_characters() -> None:
    assert marked_pieces("siehe sao-12.", set(), ("sao-12",)) == (("siehe ", False), ("sao-12", True), (".", False))
    assert marked_pieces("中文合約轉換", {"合約", "約轉"}) == (("中文", False), ("合約轉", True), ("換", False))


def test_likely_words_share_a_beginning_without_accents() -> None:
    assert likely_words("Università universale altro", {"uni"}) == {"università", "universale"}


def test_offsets_outside_the_text_are_harmless() -> None:
    assert plain(snippet("short", set(), region=(-5, 900))) == "short"
    assert snippet("short", set(), region=(90, 95)) == ()
