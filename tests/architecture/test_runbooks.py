"""Every reason for which a switch stops has a line in the index of runbooks, and every runbook is led to."""

from __future__ import annotations

import re

from app.core.messages import SENTENCES
from tests.architecture.tree import ROOT

INDEX = (ROOT / "docs/runbooks/README.md").read_text(encoding="utf-8")


def test_every_reason_to_stop_has_its_runbook() -> None:
    row = r"^\| `(switch\.failed\.\w+)` \| [^|]+ \| \[[^]]+\]\([\w-]+\.md\) \|$"
    listed = set(re.findall(row, INDEX, re.MULTILINE))
    assert listed == {code for code in SENTENCES if code.startswith("switch.failed.")}


def test_the_index_leads_to_every_runbook() -> None:
    pages = {page.name for page in (ROOT / "docs/runbooks").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", INDEX)) == pages
