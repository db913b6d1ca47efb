"""What a file says, as Markdown. Run as a script by `extracting.py`, in a process of its own and within limits.

``python extractors.py KIND BYTES SECONDS`` reads the file from standard input and writes
``{"title": text, "pages": [[page or null, Markdown], ...]}``. Exit codes: 2 the file can't be understood, 3 it needs
more memory than there is, 4 it holds more text than is wanted.
"""

from __future__ import annotations

import io
import json
import resource
import sys
from collections.abc import Callable
from typing import Any

MOST_TEXT = 2_000_000
"""Characters; more than is searchable of one source anyway."""
BROKEN, NO_MEMORY, TOO_MUCH = 2, 3, 4

Pages = list[tuple[int | None, str]]


class _TooMuch(Exception):
    """The text is longer than anybody wants it."""


def pdf(data: bytes) -> tuple[str, Pages]:
    """The text of each page, numbered from 1."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    title = str(reader.metadata.title or "") if reader.metadata else ""
    pages: Pages = []
    taken = 0
    for number, page in enumerate(reader.pages, start=1):
        text = page.extract_text()
        taken += len(text)
        if taken > MOST_TEXT:
            raise _TooMuch
        pages.append((number, escaped(text)))
    return title, pages


def html(data: bytes) -> tuple[str, Pages]:
    """Headings, lists, tables and code of the page; nothing of its scripts, styles and pictures."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup(["script", "style", "noscript", "template", "svg", "img", "iframe", "object", "head"]):
        tag.decompose()
    converter = MarkdownConverter(heading_style="ATX", bullets="-", table_infer_header=True)
    return title, [(None, str(converter.convert_soup(soup)))]


def docx(data: bytes) -> tuple[str, Pages]:
    """Headings, lists and tables of the document; pictures are left out."""
    import mammoth

    def nothing(image: Any) -> dict[str, str]:
        return {}

    found = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(nothing))
    return "", html(found.value.encode())[1]


def escaped(text: str) -> str:
    """Plain text as Markdown: what looks like a heading, a fence or a quotation at the start of a line is none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n").split("\n")
    return "\n".join("\\" + line.lstrip() if line.lstrip()[:1] in ("#", "`", "~", ">", "|") else line for line in lines)


KINDS: dict[str, Callable[[bytes], tuple[str, Pages]]] = {"pdf": pdf, "html": html, "docx": docx}


def limit(memory: int, seconds: int) -> None:
    """Bound what this process may take; it writes no file and keeps few open."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(kind: str, memory: int, seconds: int) -> int:
    limit(memory, seconds)
    try:
        title, pages = KINDS[kind](sys.stdin.buffer.read())
    except MemoryError:
        return NO_MEMORY
    except _TooMuch:
        return TOO_MUCH
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - whatever a broken file does to its parser, the file is to blame
        return BROKEN
    if sum(len(text) for _, text in pages) > MOST_TEXT:
        return TOO_MUCH
    sys.stdout.write(json.dumps({"title": title, "pages": pages}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
