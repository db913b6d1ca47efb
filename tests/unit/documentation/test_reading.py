"""Front matter, the audience policy, and what is made of the Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.core.errors import ConfigurationError, Invalid
from app.documentation.audience import admit_developer, admit_user
from app.documentation.front_matter import split
from app.documentation.markdown import page_address, to_html, to_plain
from app.documentation.reader import read_all

GOOD: dict[str, Any] = {
    "title": "Searching",
    "audience": "user",
    "module": "search",
    "locale": "en",
    "canonical_source": "handbook/user/en/searching.md",
    "safe_source_label": "User guide",
    "version": "1.0",
    "policy_classification": "user_safe",
    "policy_classification_version": "in-app-docs-v1",
    "required_permissions": [],
    "heading_breadcrumb": [],
    "tenant_scope": "global",
}


def test_the_policy_admits_a_page_that_declares_everything() -> None:
    assert admit_user(GOOD, "en") == {
        **GOOD,
        "permissions_metadata_validated": True,
        "required_permissions_count": 0,
    }
    assert admit_user({**GOOD, "audience": "shared"}, "en")["audience"] == "shared"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("audience", "developer"), ("audience", None), ("module", " "), ("locale", "it"), ("canonical_source", None),
        ("safe_source_label", ""), ("version", 1.0), ("policy_classification", "internal"),
        ("policy_classification_version", "v0"), ("required_permissions", None), ("required_permissions", ["x.y"]),
        ("heading_breadcrumb", "x"), ("tenant_scope", "tenant"), ("tenant_id", "7"),
    ],
)  # fmt: skip
def test_the_policy_refuses_whatever_is_missing_or_different(field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        admit_user({**GOOD, field: value}, "en")
    assert refused.value.path in (field, "tenant_scope")


def test_developer_pages_get_neutral_values_for_what_is_blank() -> None:
    found = admit_developer({"audience": " ", "module": "core"}, "it", "layers")
    assert (found["audience"], found["module"], found["locale"]) == ("shared", "core", "it")


def test_blanks_in_a_list_are_left_out_where_no_policy_reads_it() -> None:
    assert split('---\ntags: ["a", "", "b"]\n---\nx')[0] == {"tags": ["a", "b"]}
    with pytest.raises(Invalid):
        split('---\nrequired_permissions: ["a", ""]\n---\nx')


@pytest.mark.parametrize("yaml", ["a: [", "- a", "a: {b: c}", "a: [1]", "a: !!x", "heading_breadcrumb: [' ']"])
def test_front_matter_that_can_not_be_believed_is_refused(yaml: str) -> None:
    with pytest.raises(Invalid):
        split(f"---\n{yaml}\n---\nx")


def test_a_file_without_front_matter_declares_nothing() -> None:
    assert split("# Title\n\ntext") == ({}, "# Title\n\ntext")


def write(root: Path, file: str, text: str | bytes) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def test_faults_name_the_file_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, "developer/en/good.md", "# Good\n\nx")
    write(tmp_path, "developer/en/a.md", b"\xff")
    write(tmp_path, "developer/en/b.md", "# x\x00")
    write(tmp_path, "developer/en/c.md", "no title")
    write(tmp_path, "user/en/d.md", "# Without front matter")
    reading = read_all(tmp_path)
    assert [(text.collection, text.source, text.title) for text in reading.texts] == [("developer", "good", "Good")]
    assert {fault.file: fault.error.code for fault in reading.faults} == {
        "user/en/d.md": "documentation.field",
        "developer/en/a.md": "documentation.not_utf8",
        "developer/en/b.md": "documentation.control_characters",
        "developer/en/c.md": "documentation.no_title",
    }


def test_an_unknown_audience_stops_everything(tmp_path: Path) -> None:
    write(tmp_path, "developer/en/good.md", "# Good")
    write(tmp_path, "developer/it/bad.md", "---\naudience: User\n---\n# Bad")
    with pytest.raises(Invalid) as refused:
        read_all(tmp_path)
    assert (refused.value.code, refused.value.path) == ("documentation.unknown_audience", "developer/it/bad.md")


def test_a_folder_that_is_not_there_is_no_empty_corpus(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        read_all(tmp_path / "absent")


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "developer/en/good.md", "# Good")
    write(tmp_path, "secret.md", "# Secret")
    (tmp_path / "developer/en/linked.md").symlink_to(tmp_path / "secret.md")
    assert [text.source for text in read_all(tmp_path).texts] == ["good"]


def test_html_in_markdown_stays_text_and_scripts_do_not_pass() -> None:
    text = "# A\n\n## B *c*\n\n## B c\n\n<script>x</script> [l](javascript:alert(1)) ![i](http://x/y.png)"
    html, headings = to_html(text, "f")
    assert "<script" not in html
    assert "javascript:" not in html.replace("[l](javascript:alert(1))", "")
    assert "src=" not in html
    assert [(item.level, item.id) for item in headings] == [(2, "h-a"), (2, "h-b-c"), (2, "h-b-c-2")]


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("switching.md", "/documentation/user/switching"),
        ("../it/switching.md#room", "/documentation/user/switching#h-room"),
        ("../../developer/en/guide/layers.md", "/documentation/developer/guide/layers"),
        ("../../../../etc/passwd.md", "../../../../etc/passwd.md"),
        ("https://example.org/a.md", "https://example.org/a.md"),
        ("#room", "#h-room"),
    ],
)
def test_links_between_pages_lead_to_the_console(href: str, address: str) -> None:
    assert page_address(href, "user/en/searching.md") == address


def test_the_plain_text_has_words_and_no_marks() -> None:
    prose = "# Title\n\nA *b* `c` [d](e.md)\nnext\n\n- one\n- two\n\n"
    text = prose + "| h | i |\n|---|---|\n| j | k |\n\n```py\nx = 1\n```"
    assert to_plain(text, "Title") == "A b c d next\n\none\n\ntwo\n\nh | i\n\nj | k\n\nx = 1"
