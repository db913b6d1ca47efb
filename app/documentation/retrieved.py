"""What retrieval hands on: passages with their sources, and what of them may be told to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.documentation.markdown import to_html


@dataclass(frozen=True)
class Evidence:
    """One passage, numbered from 1 as an answer cites it. ``text`` is Markdown of the handbook: shown sanitised, and
    framed as untrusted where a model reads it. ``score`` and ``similarity`` are None for who may not see them."""

    number: int
    corpus: str
    source: str
    title: str
    label: str
    breadcrumb: tuple[str, ...]
    text: str
    locale: str
    audience: str
    module: str
    version: str
    file: str
    score: float | None = None
    similarity: float | None = None

    @property
    def html(self) -> str:
        """The passage for a page: sanitised, nothing in it runs or is fetched from elsewhere."""
        return to_html(self.text, self.file)[0]

    def projected(self) -> Mapping[str, object]:
        """All of its metadata that an answer tells (`seed-facts.md` 17.1): no path, no source name."""
        return {
            "audience": self.audience,
            "heading_breadcrumb": list(self.breadcrumb),
            "locale": self.locale,
            "module": self.module,
            "safe_source_label": self.label,
            "version": self.version,
        }


@dataclass(frozen=True)
class Retrieved:
    """The passages, best first. ``quality`` in [0, 1] says how well they cover the question; below the threshold
    ``confident`` is false. ``degraded`` says why meaning was not asked, None when it was."""

    passages: tuple[Evidence, ...]
    quality: float
    confident: bool
    strategies: tuple[str, ...]
    degraded: str | None = None
