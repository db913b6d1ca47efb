"""The two documentation corpora as read-only kinds of records."""

from __future__ import annotations

from app.core.messages import N_
from app.core.registry import Entity, Field
from app.documentation.indexer import documents
from app.documentation.models import DocumentationPage, DocumentationText

FIELDS = (
    Field("title", N_("Title"), required=True, translated=True, editable=False),
    Field("body", N_("Text"), "text", translated=True, listed=False, editable=False),
    Field("source", N_("Source"), editable=False),
)


def _corpus(corpus: str, label: str, label_plural: str) -> Entity:
    return Entity(
        name=f"documentation.{corpus}",
        label=label,
        label_plural=label_plural,
        model=DocumentationPage,
        translation_model=DocumentationText,
        translations_field="texts",
        title_field="title",
        fields=FIELDS,
        editable=False,
        visible={"corpus": corpus},
        documents=documents,
    )


USER = _corpus("user", N_("Guide page"), N_("User guide"))
DEVELOPER = _corpus("developer", N_("Developer page"), N_("Developer documentation"))
ENTITIES = (USER, DEVELOPER)
BY_CORPUS = {"user": USER, "developer": DEVELOPER}
