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
def extracted() -> frozenset[str | tuple[str, ...]]:
    """The texts of the present source, found as `make catalogue` finds them."""
    with (TRANSLATIONS / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)
    return frozenset(
        text
        for directory in SOURCES
        for _file, _line, text, _comments, _context in extract_from_dir(ROOT / directory, methods, options)
    )


def placeholders(text: str) -> Counter[str]:
    return Counter(match[0] for match in _PLACEHOLDER.finditer(text))


def pairs(message: Message) -> list[tuple[str, str]]:
    """Each English text with its translation; every form but the first one stands for the English plural."""
    if isinstance(message.id, str):
        return [(message.id, str(message.string))]
    singular, plural = message.id
    return [(plural if form else singular, text) for form, text in enumerate(message.string)]


def test_every_text_has_a_translation_in_every_form(locale: str) -> None:
    forms = get_plural(locale).num_plurals
    assert messages(locale)
    for message in messages(locale):
        assert isinstance(message.id, str) or len(message.string) == forms, message.id
        assert all(text.strip() for _english, text in pairs(message)), message.id


def test_the_header_has_the_plural_rule_of_the_language(locale: str) -> None:
    assert catalogue(locale).plural_expr == get_plural(locale).plural_expr
    assert catalogue(locale).num_plurals == get_plural(locale).num_plurals


def test_placeholders_are_those_of_the_english_text(locale: str) -> None:
    for message in messages(locale):
        for english, text in pairs(message):
            assert placeholders(text) == placeholders(english), message.id
            assert "%" not in _PLACEHOLDER.sub("", text) or "%" in _PLACEHOLDER.sub("", english), message.id


def test_sentences_end_as_the_english_ones_do(locale: str) -> None:
    """Texts are joined to others: a missing stop shows; and nothing is shouted."""
    for message in messages(locale):
        for english, text in pairs(message):
            assert text == text.strip() and "!" not in text, message.id
            assert (text[-1] in ".:?") == (english[-1] in ".:?") or message.id == "since", message.id


def test_nothing_is_fuzzy_or_obsolete(locale: str) -> None:
    assert not [message.id for message in messages(locale) if message.fuzzy]
    assert not catalogue(locale).obsolete


def test_every_error_sentence_is_translated(locale: str) -> None:
    assert not [code for code, text in SENTENCES.items() if text not in catalogue(locale)]


def test_every_description_of_a_shipped_model_is_translated(locale: str) -> None:
    profiles = tomllib.loads(SHIPPED.read_text())["profiles"].values()
    assert not [profile["label"] for profile in profiles if profile["description"] not in catalogue(locale)]


def test_the_catalogue_has_the_texts_of_the_source_and_no_others(locale: str) -> None:
    known = {message.id for message in messages(locale)}
    assert not extracted() - known, "run `make catalogue` and translate what is new"
    assert not known - extracted(), "run `make catalogue`"


def test_the_compiled_catalogue_answers(locale: str) -> None:
    compiled = BytesIO()
    write_mo(compiled, catalogue(locale))
    compiled.seek(0)
    answers = GNUTranslations(compiled)
    for message in messages(locale):
        if isinstance(message.id, str):
            assert answers.gettext(message.id) == message.string
        else:
            assert tuple(answers.ngettext(*message.id, count) for count in (1, 1_000_000, 2)) == message.string
    assert answers.ngettext("%(num)s day", "%(num)s days", 0) == answers.ngettext("%(num)s day", "%(num)s days", 5)
