"""Pages with metadata that a test chooses, also what the reader would refuse, and questions to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.container import Container
from app.core.contracts.actor import Actor
from app.documentation.answering import Answering
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.searchable import documents

DECLARED: dict[str, Any] = {
    "audience": "user",
    "module": "search",
    "canonical_source": "handbook/page",
    "safe_source_label": "Handbook: Page",
    "version": "1",
    "policy_classification": "user_safe",
    "policy_classification_version": "in-app-docs-v1",
    "required_permissions": [],
    "required_permissions_count": 0,
    "permissions_metadata_validated": True,
    "heading_breadcrumb": [],
    "tenant_scope": "global",
}
READER = Actor(1, "u", "U", permissions=frozenset({"documentation.user.select"}))
DEVELOPER = Actor(2, "d", "D", permissions=frozenset({"documentation.developer.select"}))

AddPage = Callable[..., int]


@pytest.fixture
def add_page(container: Container) -> AddPage:
    """Store and index a page of one text; keywords are metadata, ``absent`` names what is left out of it."""

    def add(
        source: str,
        body: str,
        *,
        corpus: str = "user",
        locale: str = "en",
        absent: str = "",
        title: str = "",
        **more: Any,
    ) -> int:
        metadata = {**DECLARED, "locale": locale, "safe_source_label": f"Handbook: {source}", **more}
        metadata.pop(absent, None)
        text = DocumentationText(
            locale=locale, title=title or source, body=body, front_matter=metadata, content_hash=source.encode()
        )
        page = DocumentationPage(corpus=corpus, source=source, revision=1, texts=[text])
        with container.units() as unit:
            unit.session.add(page)
            unit.session.flush()
            entity = f"documentation.{corpus}"
            container.outbox.put(unit, entity, page.id, documents(page, container.clock.now()))
            return page.id

    return add


@pytest.fixture
def answering(container: Container) -> Answering:
    assert container.answering is not None
    return container.answering
