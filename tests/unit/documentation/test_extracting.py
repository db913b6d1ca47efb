"""Files that are no Markdown: what is made of them, and a child process that ends before it takes the machine along."""

from __future__ import annotations

import io
import zipfile

import pytest

from app.core.errors import Invalid
from app.documentation import extracting
from app.documentation.cutting import Splitter, cut
from app.documentation.extracting import extracted
from app.documentation.extractors import escaped


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF of one line of text a page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 << /Type"
            b" /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    objects.append(b"<< /Title (%s) >>" % title.encode())
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(data)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(places) + 1, table)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return data + trailer % (len(places) + 1, len(objects), at)


def docx(body: str) -> bytes:
    """A Word document around the given paragraphs."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}"'
        ' Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>',
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_pdf_gives_its_pages_and_its_title() -> None:
    found = extracted(pdf("The boiler stops at night.", "# not a heading", title="Manual"), "pdf")
    assert found.title == "Manual"
    assert [(piece.page, piece.text.strip()) for piece in found.pieces] == [
        (1, "The boiler stops at night."),
        (2, "\\# not a heading"),
    ]
    plain, passages = cut(found.title, found.pieces, Splitter())
    assert [(one.page, plain[one.start : one.end]) for one in passages] == [
        (1, "The boiler stops at night."),
        (2, "# not a heading"),
    ]


def test_a_web_page_keeps_its_structure_and_nothing_that_runs() -> None:
    page = (
        "<html><head><title>Guide</title><style>p {}</style></head><body><h1>Guide</h1><script>steal()</script>"
        '<img src="https://elsewhere/x.png" alt="x"><h2>Keys</h2><p>Press <b>slash</b>.</p><pre>run it</pre>'
        "<table><tr><th>key</th><th>does</th></tr><tr><td>n</td><td>new</td></tr></table></body></html>"
    )
    found = extracted(page.encode(), "html")
    _, passages = cut(found.title, found.pieces, Splitter())
    assert found.title == "Guide"
    assert [one.breadcrumb for one in passages] == [("Keys",)]
    text = passages[0].text
    assert "Press **slash**." in text
    assert "```\nrun it\n```" in text
    assert "| key | does |\n| --- | --- |\n| n | new |" in text
    assert not {word for word in ("steal", "elsewhere", "p {}") if word in text}


def test_a_word_document_keeps_its_headings() -> None:
    body = paragraph("Heating", "Heading1") + paragraph("The boiler stops.") + paragraph("Fan", "Heading2")
    found = extracted(docx(body + paragraph("It runs.")), "docx")
    _, passages = cut("Manual", found.pieces, Splitter())
    assert [(one.breadcrumb, one.text) for one in passages] == [
        (("Heating",), "The boiler stops."),
        (("Heating", "Fan"), "It runs."),
    ]


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        ("pdf", b"no PDF at all", "documentation.not_extracted"),
        ("pdf", pdf("text")[:200], "documentation.not_extracted"),
        ("pdf", pdf(""), "documentation.no_text"),
        ("docx", b"PK\x03\x04 broken", "documentation.not_extracted"),
        ("html", b"<html><body><script>only()</script></body></html>", "documentation.no_text"),
    ],
)
def test_a_file_that_can_not_be_understood_is_refused(kind: str, data: bytes, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        extracted(data, kind)
    assert refused.value.code == code


def test_a_file_that_takes_too_much_memory_ends_the_child_only() -> None:
    with pytest.raises(Invalid) as refused:
        extracted(b"<p>" + b"a" * 80_000_000, "html", memory=150 * 1024 * 1024)
    assert refused.value.code == "documentation.extraction_killed"
    assert refused.value.values == {"seconds": extracting.SECONDS, "megabytes": 150}


def test_a_file_that_takes_too_long_ends_the_child_only() -> None:
    slow = b"<div>" * 30_000 + b"".join(b"<p>%d</p>" % number for number in range(60_000))
    with pytest.raises(Invalid) as refused:
        extracted(slow, "html", seconds=1)
    assert refused.value.code == "documentation.extraction_killed"


def test_a_file_of_too_much_text_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        extracted(b"<p>" + b"word " * 500_000 + b"</p>", "html")
    assert refused.value.code == "documentation.too_much_text"


def test_plain_text_is_no_markdown() -> None:
    assert escaped("# one\n```\n| a |\n> b\ntext") == "\\# one\n\\```\n\\| a |\n\\> b\ntext"
