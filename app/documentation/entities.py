"""The documentation corpora as read-only kinds of records: user guide, developer pages, and all named collections."""

from __future__ import annotations

from app.core.messages import N_
from app.core.registry import Entity, Field
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.places import NAMED as NAMED_CORPUS
from app.documentation.searchable import documents

FIELDS = (
    Field("title", N_("Title"), required=True, translated=True, editable=False),
    Field("body", N_("Text"), "text", translated=True, listed=False, editable=False),
    Field("source", N_("Source"), editable=False),
)


def _corpus(corpus: str, label: str, label_plural: str, *more: Field) -> Entity:
    return Entity(
        name=f"documentation.{corpus}",
        label=label,
        label_plural=label_plural,
        model=DocumentationPage,
        translation_model=DocumentationText,
        translations_field="texts",
        title_field="title",
        fields=(*FIELDS, *more),
        editable=False,
        visible={"corpus": corpus},
        documents=documents,
    )


USER = _corpus("user", N_("Guide page"), N_("User guide"))
DEVELOPER = _corpus("developer", N_("Developer page"), N_("Developer documentation"))
NAMED = _corpus(
    NAMED_CORPUS,
    N_("Page of a collection"),
    N_("Document collections"),
    Field("collection", N_("Collection"), editable=False),
)
ENTITIES = (USER, DEVELOPER, NAMED)
BY_CORPUS = {"user": USER, "developer": DEVELOPER}


def entity_of(collection: str) -> Entity:
    """The kind of record that the pages of a corpus or named collection are."""
    return BY_CORPUS.get(collection, NAMED)
