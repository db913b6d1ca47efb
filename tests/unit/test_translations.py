"""The catalogues: complete, with the placeholders of their English texts, and in step with the source."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from gettext import GNUTranslations
from io import BytesIO

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.core.messages import SENTENCES
from app.embeddings.profiles import SHIPPED
from tests.fixtures.catalogues import TRANSLATIONS

ROOT = TRANSLATIONS.parents[1]
SOURCES = ("app", "templates", "jobs")
TRANSLATED = [code for code in LOCALES if code != DEFAULT_LOCALE]
STOPS = (".", ":", "?")
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")

pytestmark = pytest.mark.parametrize("locale", TRANSLATED)


@cache
def catalogue(locale: str) -> Catalog:
    with (TRANSLATIONS / locale / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=locale)


@cache
def messages(locale: str) -> tuple[Message, ...]:
    return tuple(message for message in catalogue(locale) if message.id)


@cache
def extracted() -> frozenset[tuple[str | None, tuple[str, ...]]]:
    """Context and texts of what the present source shows, found as `make catalogue` finds them."""
    with (TRANSLATIONS / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    return frozenset(
        (context, (text,) if isinstance(text, str) else tuple(text))
        for directory in SOURCES
        for _file, _line, text, _comments, context in extract_from_dir(ROOT / directory, methods, options)
    )


def placeholders(text: str) -> Counter[str]:
    return Counter(match[0] for match in _PLACEHOLDER.finditer(text))


def english(message: Message) -> tuple[str, ...]:
    """The text, or singular and plural."""
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def forms(message: Message) -> tuple[str, ...]:
    """The translation, or each of its plural forms."""
    return (message.string or "",) if isinstance(message.string, str | None) else tuple(message.string)


def pairs(message: Message) -> list[tuple[str, str]]:
    """Each English text with its translation; every form but the first one stands for the English plural."""
    return [(english(message)[min(form, 1)], text) for form, text in enumerate(forms(message))]


def test_every_text_has_a_translation_in_every_form(locale: str) -> None:
    wanted = get_plural(locale).num_plurals
    assert messages(locale)
    for message in messages(locale):
        assert len(forms(message)) == (1 if len(english(message)) == 1 else wanted), message.id
        assert all(text.strip() for text in forms(message)), message.id


def test_the_header_has_the_plural_rule_of_the_language(locale: str) -> None:
    assert catalogue(locale).plural_expr == get_plural(locale).plural_expr
    assert catalogue(locale).num_plurals == get_plural(locale).num_plurals


def test_placeholders_are_those_of_the_english_text(locale: str) -> None:
    for message in messages(locale):
        for source, text in pairs(message):
            assert placeholders(text) == placeholders(source), message.id
            assert "%" not in _PLACEHOLDER.sub("", text) or "%" in _PLACEHOLDER.sub("", source), message.id


def test_sentences_end_as_the_english_ones_do(locale: str) -> None:
    """Texts are joined to others: a missing stop shows; and nothing is shouted."""
    for message in messages(locale):
        for source, text in pairs(message):
            assert text == text.strip(), message.id
            assert "!" not in text, message.id
            assert text.endswith(STOPS) == source.endswith(STOPS) or message.id == "since", message.id


def test_nothing_is_fuzzy_or_obsolete(locale: str) -> None:
    assert not [message.id for message in messages(locale) if message.fuzzy]
    assert not catalogue(locale).obsolete


def test_every_error_sentence_is_translated(locale: str) -> None:
    assert not [code for code, text in SENTENCES.items() if text not in catalogue(locale)]


def test_every_description_of_a_shipped_model_is_translated(locale: str) -> None:
    profiles = tomllib.loads(SHIPPED.read_text())["profiles"].values()
    assert not [profile["label"] for profile in profiles if profile["description"] not in catalogue(locale)]


def test_the_catalogue_has_the_texts_of_the_source_and_no_others(locale: str) -> None:
    known = {(message.context, english(message)) for message in messages(locale)}
    assert not extracted() - known, "run `make catalogue` and translate what is new"
    assert not known - extracted(), "run `make catalogue`"


def test_the_compiled_catalogue_answers(locale: str) -> None:
    compiled = BytesIO()
    write_mo(compiled, catalogue(locale))
    compiled.seek(0)
    answers = GNUTranslations(compiled)
    for message in messages(locale):
        if message.context is not None:
            assert answers.pgettext(message.context, english(message)[0]) == forms(message)[0]
        elif len(english(message)) == 1:
            assert answers.gettext(english(message)[0]) == forms(message)[0]
        else:
            singular, plural = english(message)
            said = [answers.ngettext(singular, plural, count) for count in (0, 1, 2, 5, 11, 1_000_000)]
            assert set(said) == set(forms(message)), message.id
