"""The documentation as JSON: passages for a question, and an answer with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from apiflask import APIBlueprint
from flask import url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import NotFound
from app.edge.context import actor, container
from app.edge.limits import costly

if TYPE_CHECKING:
    from app.documentation.answering import Answer, Answering
    from app.documentation.retrieved import Evidence, Retrieved

blueprint = APIBlueprint("documentation_api", __name__, url_prefix="/api/v1/documentation")

LONGEST = 2_000


class Retrieve(BaseModel):
    """A question; ``top_k`` is clamped to 1 … 10, the setting where it is absent; ``locale`` is the caller's then."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(max_length=LONGEST)
    corpus: str = Field(default="user", max_length=60)
    locale: Literal["en", "it"] | None = None
    module: str | None = Field(default=None, max_length=100)
    top_k: int | None = None


class Ask(BaseModel):
    """A question. ``sources``: the Sources block as text, beside the sources as data."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str = Field(max_length=LONGEST)
    corpus: str = Field(default="user", max_length=60)
    locale: Literal["en", "it"] | None = None
    module: str | None = Field(default=None, max_length=100)
    top_k: int | None = None
    sources: bool = False


@blueprint.get("/retrieve")
@costly
@blueprint.input(Retrieve, location="query", arg_name="asked")
def retrieve(asked: Retrieve) -> ResponseReturnValue:
    """The best passages that the caller may see, at most one of a page, in the caller's locale.

    ``meta.confident`` is false where they hardly cover the question; ``meta.degraded`` says why meaning was not asked.
    """
    service = answering()
    found = service.retrieve(actor(), service.request(asked.q, asked.corpus, asked.locale, asked.top_k, asked.module))
    return {"data": [_passage(one) for one in found.passages], "meta": _meta(found)}


@blueprint.post("/answer")
@costly
@blueprint.input(Ask, location="json", arg_name="asked")
def answer(asked: Ask) -> ResponseReturnValue:
    """An answer with its sources, or the passages where no model writes; ``not_documented`` where nothing fits.

    ``claims`` are sentences with the numbers of the passages that they rest on; ``supported`` is false for one that
    names none. Nothing is made.
    """
    service = answering()
    wished = service.request(asked.question, asked.corpus, asked.locale, asked.top_k, asked.module)
    return _answer(service.answer(actor(), wished), asked.sources)


def answering() -> Answering:
    """The part that answers. Raises :class:`NotFound` where it is not installed."""
    found = container().answering
    if found is None:
        raise NotFound("documentation.not_installed")
    return found


def _answer(found: Answer, block: bool) -> dict[str, object]:
    shown: dict[str, object] = {
        "outcome": found.outcome,
        "claims": [
            {"text": claim.text, "cites": list(claim.cites), "supported": claim.supported} for claim in found.claims
        ],
        "sources": [_passage(one) for one in found.sources],
        "meta": {
            **_meta(found.retrieved),
            "dropped_citations": found.dropped,
            "removed_links": found.removed,
            "model": found.model,
            "model_degraded": found.degraded,
        },
    }
    return {**shown, "sources_block": found.sources_block} if block else shown


def _passage(one: Evidence) -> dict[str, object]:
    shown: dict[str, object] = {
        "number": one.number,
        "title": one.title,
        "text": one.text,
        "metadata": one.projected(),
        "url": url_for("documentation.page", corpus=one.corpus, source=one.source, locale=one.locale),
    }
    if one.score is not None:
        shown |= {"score": one.score, "similarity": one.similarity}
    return shown


def _meta(found: Retrieved) -> dict[str, object]:
    return {
        "quality": found.quality,
        "confident": found.confident,
        "strategies": list(found.strategies),
        "degraded": found.degraded,
    }
