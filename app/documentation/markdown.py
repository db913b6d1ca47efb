"""Markdown to safe HTML for reading, and to plain text for searching. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

TAGS = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "a", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li",
    "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "img",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "img": {"alt", "title"}, "code": {"class"}, "ol": {"start"},
              **{f"h{level}": {"id"} for level in range(1, 7)}}  # fmt: skip
"""No `src`: a page never makes the browser fetch something from elsewhere."""

_SIGNS = ",.;:?!'\"()%/\u2013\u2014\u2018\u2019\u201c\u201d\u2026\\-"
_UNMARKED = re.compile(rf"\n*(?:[^\W\d](?:[\w{_SIGNS} ]*[\w{_SIGNS}])?(?:\n+|$))+")
"""Lines that begin with a letter and hold nothing that could be markup."""
_BETWEEN = re.compile(r"\n\n+")


@cache
def _parser() -> MarkdownIt:
    """Made once: making it costs as much as parsing a passage. Safe for threads after the first text, which has its
    rules put in order."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.parse("words")
    return made


@dataclass(frozen=True)
class Heading:
    """A heading of a page; ``id`` is its fragment in the address."""

    level: int
    id: str
    text: str


def to_html(text: str, file: str) -> tuple[str, tuple[Heading, ...]]:
    """(sanitised HTML without a heading of level 1, its headings). Links to other files of the handbook, relative to
    ``file`` (``user/en/searching.md``), become addresses of the console."""
    parser = _parser()
    tokens = parser.parse(text)
    headings: list[Heading] = []
    for place, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h2" if token.tag == "h1" else token.tag
        if token.type == "heading_open":
            words = _inline(tokens[place + 1].children or ())
            heading = Heading(int(token.tag[1]), _fragment(words, {item.id for item in headings}), words)
            headings.append(heading)
            token.attrSet("id", heading.id)
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", page_address(str(child.attrGet("href") or ""), file))
    html = parser.renderer.render(tokens, parser.options, {})
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"}), tuple(headings)


def _fragment(words: str, taken: Collection[str]) -> str:
    """Letters and digits of a heading joined by hyphens; the second of the same name gets a number. The prefix keeps
    it apart from the ids of the page around."""
    slug = "h-" + "-".join(re.findall(r"\w+", words.lower()))
    number = 2
    found = slug
    while found in taken:
        found, number = f"{slug}-{number}", number + 1
    return found


def page_address(href: str, file: str) -> str:
    """``href`` as it stands, unless it names another Markdown file: then the address of that page."""
    path, _, fragment = href.partition("#")
    if not path and fragment:
        return f"#h-{fragment}"
    if not path.endswith(".md") or "://" in path or path.startswith("/"):
        return href
    parts = posixpath.normpath(posixpath.join(posixpath.dirname(file), path)).split("/")
    if len(parts) < 3 or ".." in parts:
        return href
    address = f"/documentation/{quote(parts[0])}/{quote('/'.join(parts[2:]).removesuffix('.md'))}"
    return address + (f"#h-{fragment}" if fragment else "")


def first_heading(text: str) -> str:
    """The text of the first heading of level 1, or nothing."""
    first = text.lstrip("\n").partition("\n")[0]
    if first.startswith("# ") and "[" not in first:
        text = first  # what follows changes it only by defining where a link of it goes
    tokens = _parser().parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            return _inline(tokens[place + 1].children or ())
    return ""


def to_plain(text: str, title: str = "") -> str:
    """The words without markup, one block per paragraph; a first heading that repeats ``title`` is left out."""
    blocks = _paragraphs(text) or _blocks(text)
    if blocks and blocks[0].strip() == title.strip():
        del blocks[0]
    return "\n\n".join(block for block in blocks if block.strip())


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text without any markup, as the parser gives them for a tenth of the time; else none."""
    if "_" in text or not _UNMARKED.fullmatch(text):
        return []
    return [" ".join(one.split("\n")) for one in _BETWEEN.split(text.strip("\n"))]


def _blocks(text: str) -> list[str]:
    blocks: list[str] = []
    cells: list[str] | None = None
    for token in _parser().parse(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "tr_close" and cells is not None:
            blocks.append(" | ".join(cells))
            cells = None
        elif token.type == "inline":
            (blocks if cells is None else cells).append(_inline(token.children or ()))
        elif token.type in ("fence", "code_block"):
            blocks.append(token.content.rstrip("\n"))
    return blocks


def _inline(children: Sequence[Token]) -> str:
    parts: list[str] = []
    for child in children:
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type == "image":
            parts.append(_inline(child.children or ()))
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" " if child.type == "softbreak" else "\n")
    return "".join(parts).strip()
