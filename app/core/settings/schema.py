"""Which settings exist: each is declared here once, with its default (`seed-facts.md` 2.3 and 3).

A managed setting is written by the program and read-only for people. A setting with a ``confirmation`` has
consequences that are shown and agreed to elsewhere first. An ``action`` is a job that is sent when the value changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.core.errors import Invalid
from app.core.messages import N_
from app.core.unit import Unit

Kind = Literal["bool", "integer", "choice", "string"]
Value = bool | int | str | None
Choices = Callable[[], Sequence[str]]

_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")
_WORDS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}

EMBEDDING_MODEL = "features.embeddings.model"
RETAIN_PREVIOUS_DAYS = "features.embeddings.retain_previous_days"
VECTOR_ENABLED = "search.vector.enabled"
VECTOR_MODEL = "search.vector.model"
VECTOR_DIMENSIONS = "search.vector.dimensions"
VECTOR_SIMILARITY = "search.vector.similarity"
VECTOR_SUSPENDED = "search.vector.suspended_reason"
PAGE_SIZE = "search.page_size"
SEARCH_ENGINE = "search.engine"
ENGINES = ("postgres", "elasticsearch")
BUDGET_FAST = "search.budget_fast_ms"
BUDGET_BALANCED = "search.budget_balanced_ms"
BUDGET_DEEP = "search.budget_deep_ms"
MAX_RETRIES = "search.max_retries"
WORDS_WEIGHT = "search.words_weight"
VECTOR_WEIGHT = "search.vector_weight"
RERANKER = "search.reranker.enabled"
RERANKER_TOP_K = "search.reranker.top_k"
RERANKER_WEIGHT = "search.reranker.weight"
ADAPTIVE_TUNING = "search.adaptive_tuning"
DEBUG_TIMINGS = "search.debug_timings"
ORCHESTRATION = "features.search_orchestration.enabled"
ORCHESTRATION_SECONDS = "features.search_orchestration.timeout"
DEEP_PER_MINUTE = "search.deep_per_minute"
SYNONYMS_EN = "search.synonyms_en"
SYNONYMS_IT = "search.synonyms_it"
EXPIRE_DAYS = "approvals.expire_days"
AUDIT_DAYS = "audit.retain_days"
DOCS_MOST = "features.faq.max_documents"
DOCS_MIN_SIMILARITY = "features.faq.min_similarity"
QUERY_LOG = "features.faq.query_logging.enabled"
QUERY_TEXT = "features.faq.query_logging.query_text_mode"
QUERY_TEXTS = ("raw", "off")
QUERY_DAYS = "features.faq.query_logging.retention_days"
QUERY_STORE = "features.faq.query_logging.store"


@dataclass(frozen=True)
class SettingAction:
    """A job that is sent after the commit of a change, with the setting's name and nothing else."""

    job: str
    queue: str


@dataclass(frozen=True)
class Confirmation:
    """The change must be agreed to at ``location`` (a path of the console); ``reason`` is a sentence fragment."""

    location: str
    reason: str


class ConfirmationHook(Protocol):
    """Called before the form is shown again and once more when it is saved: cheap, and it writes nothing."""

    def warn(self, unit: Unit, definition: SettingDefinition, value: Value) -> Confirmation | None:
        """What must be agreed to before ``value`` holds, or None when it may be written at once."""
        ...


@dataclass(frozen=True)
class SettingDefinition:
    """One setting. ``group``, ``label`` and ``help`` are English, translated where they are shown.

    ``choices`` None: free. ``nullable``: None is a value. ``smallest``/``largest`` bound an integer. ``votes`` is how
    many approving votes a change by a person who needs approval takes. The audit names a ``secret`` and not its value.
    """

    name: str
    group: str
    label: str
    help: str
    kind: Kind
    default: Value = None
    choices: Choices | None = None
    smallest: int = 0
    largest: int = 2**31 - 1
    nullable: bool = False
    managed: bool = False
    permission: str = "settings.update"
    confirmation: str | None = None
    action: SettingAction | None = None
    votes: int = 1
    secret: bool = False

    def options(self) -> Sequence[str]:
        """The values to choose from now; empty when any is allowed."""
        return self.choices() if self.choices else ()

    def check(self, value: object) -> Value:
        """`typed`, and one of the options where there are some. Raises :class:`Invalid` at the setting."""
        checked, options = self.typed(value), self.options()
        if options and checked is not None and checked not in options:
            raise Invalid("input.choice", path=self.name, value=str(checked)[:100], allowed=", ".join(options))
        return checked

    def typed(self, value: object) -> Value:
        """``value`` in the setting's own type; text from a form is read. Raises :class:`Invalid` at the setting."""
        if value is None or (value == "" and self.nullable):
            if self.nullable:
                return None
            raise Invalid("input.required", path=self.name)
        if self.kind == "bool":
            return self._bool(value)
        if self.kind == "integer":
            return self._integer(value)
        return self._text(value)

    def _bool(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _WORDS:
            return _WORDS[value]
        raise Invalid("input.type", path=self.name, expected="true, false")

    def _integer(self, value: object) -> int:
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Invalid("input.type", path=self.name, expected="1, 2, 3 …")
        if not self.smallest <= value <= self.largest:
            raise Invalid("input.range", path=self.name, least=self.smallest, most=self.largest)
        return value

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            raise Invalid("input.type", path=self.name, expected="abc")
        if len(value) > 1000:
            raise Invalid("input.too_long", path=self.name, limit=1000)
        return value


AI = N_("AI & models")
SEARCH = N_("Search")
RECORDS = N_("Records")
DOCUMENTATION = N_("Documentation")


def _managed(name: str, label: str, help: str, kind: Kind) -> SettingDefinition:
    return SettingDefinition(name, SEARCH, label, help, kind, nullable=True, managed=True)


def _of_records() -> tuple[SettingDefinition, ...]:
    """How long what stands beside records is kept."""
    return (
        SettingDefinition(
            EXPIRE_DAYS,
            RECORDS,
            N_("Changes wait for approval (days)"),
            N_("A change that has not had its votes by then expires; nothing of it is written."),
            "integer",
            default=14,
            smallest=1,
            largest=365,
        ),
        SettingDefinition(
            AUDIT_DAYS,
            RECORDS,
            N_("Keep the audit (days)"),
            N_("Older entries of the audit are deleted for good."),
            "integer",
            default=365,
            smallest=30,
            largest=3650,
        ),
    )


def _of_search() -> tuple[SettingDefinition, ...]:
    """What a search may spend, and which words mean the same (`search-measured.md` 8, `seed-facts.md` 4.3)."""
    synonyms = N_("Groups of words that mean the same: words divided by commas, groups by semicolons.")

    def number(name: str, label: str, help: str, default: int, smallest: int, largest: int) -> SettingDefinition:
        return SettingDefinition(
            name, SEARCH, label, help, "integer", default=default, smallest=smallest, largest=largest
        )

    late = N_("What is not back by then is left out, and the answer says so.")
    return (
        number(BUDGET_FAST, N_("Time of a fast search (ms)"), late, 300, 100, 30_000),
        number(BUDGET_BALANCED, N_("Time of a balanced search (ms)"), late, 1500, 100, 30_000),
        number(BUDGET_DEEP, N_("Time of a deep search (ms)"), late, 10_000, 100, 120_000),
        number(
            DEEP_PER_MINUTE,
            N_("Deep searches per minute"),
            N_("So many each person may ask for; beyond, a search is answered fast and says so. 0 allows none."),
            6,
            0,
            1000,
        ),
        number(
            MAX_RETRIES,
            N_("Retries of a poor search"),
            N_("How often a deep search that asks for it may look again when its answer is poor."),
            2,
            0,
            5,
        ),
        *_of_ranking(),
        SettingDefinition(SYNONYMS_EN, SEARCH, N_("English synonyms"), synonyms, "string", default=""),
        SettingDefinition(SYNONYMS_IT, SEARCH, N_("Italian synonyms"), synonyms, "string", default=""),
    )


def _of_documentation() -> tuple[SettingDefinition, ...]:
    """How answers are looked for, and what is kept of the questions (`seed-facts.md` 17.6 and 18)."""

    def number(name: str, label: str, help: str, smallest: int, largest: int, default: int | None) -> SettingDefinition:
        return SettingDefinition(
            name,
            DOCUMENTATION,
            label,
            help,
            "integer",
            default=default,
            smallest=smallest,
            largest=largest,
            nullable=default is None,
        )

    def choice(name: str, label: str, help: str, allowed: Sequence[str]) -> SettingDefinition:
        return SettingDefinition(
            name, DOCUMENTATION, label, help, "choice", default=allowed[0], choices=lambda: allowed
        )

    return (
        number(DOCS_MOST, N_("Passages per answer"), N_("How many passages an answer rests on at most."), 1, 10, 5),
        number(
            DOCS_MIN_SIMILARITY,
            N_("Least similarity (thousandths)"),
            N_("Passages whose meaning is further away are left out, on the model's own scale. Empty leaves out none."),
            0,
            1000,
            None,
        ),
        SettingDefinition(
            QUERY_LOG,
            DOCUMENTATION,
            N_("Keep the questions"),
            N_("What people ask the user guide is kept under a code in place of their name, never of guests."),
            "bool",
            default=False,
        ),
        choice(
            QUERY_TEXT,
            N_("Text of kept questions"),
            N_("raw keeps questions as they were asked, off keeps their figures only."),
            QUERY_TEXTS,
        ),
        number(QUERY_DAYS, N_("Keep questions (days)"), N_("Older ones are deleted for good."), 1, 365, 30),
        choice(
            QUERY_STORE,
            N_("Where questions are kept"),
            N_("After a change to elasticsearch: flask docs create-query-index, or none are kept."),
            ENGINES,
        ),
    )


def _of_ranking() -> tuple[SettingDefinition, ...]:
    """How what was found is put in order, and what is told of it (`seed-facts.md` 9, 10, 12, 13)."""

    def percent(name: str, label: str, help: str, default: int) -> SettingDefinition:
        return SettingDefinition(name, SEARCH, label, help, "integer", default=default, largest=100)

    def switch(name: str, label: str, help: str, default: bool = False) -> SettingDefinition:
        return SettingDefinition(name, SEARCH, label, help, "bool", default=default)

    weights = N_("Its ratio to the other weight counts; words also weigh less the less of a question they know.")
    return (
        percent(WORDS_WEIGHT, N_("Weight of words (percent)"), weights, 50),
        percent(VECTOR_WEIGHT, N_("Weight of meaning (percent)"), weights, 50),
        switch(RERANKER, N_("Second ranking"), N_("The best results are read once more and put in order anew.")),
        SettingDefinition(
            RERANKER_TOP_K,
            SEARCH,
            N_("Results of the second ranking"),
            N_("So many of the best results are read once more."),
            "integer",
            default=30,
            smallest=5,
            largest=100,
        ),
        percent(
            RERANKER_WEIGHT,
            N_("Weight of the second ranking (percent)"),
            N_("0 keeps the first order, 100 goes by the second ranking alone."),
            60,
        ),
        switch(
            ADAPTIVE_TUNING,
            N_("Tuning profile"),
            N_("Each class of question gets the weights of the measured profile that is part of the program."),
        ),
        switch(
            DEBUG_TIMINGS, N_("Timings of search"), N_("Every answer of the API says how long each of its steps took.")
        ),
        switch(
            ORCHESTRATION,
            N_("Balanced and deep search"),
            N_("When this is off, every search is answered fast, by words."),
            default=True,
        ),
        SettingDefinition(
            ORCHESTRATION_SECONDS,
            SEARCH,
            N_("Patience with the language model (s)"),
            N_("What one call of it may take in a deep search. 0 leaves only the time of the search as a limit."),
            "integer",
            default=10,
            largest=120,
        ),
    )


def _of_serving() -> tuple[SettingDefinition, ...]:
    """What the serving row says; nobody writes it here."""
    return (
        _managed(VECTOR_MODEL, N_("Serving model"), N_("The model that answers now; written at activation."), "string"),
        _managed(VECTOR_DIMENSIONS, N_("Dimensions"), N_("The length of the serving model's vectors."), "integer"),
        _managed(VECTOR_SIMILARITY, N_("Similarity"), N_("How two vectors are compared."), "string"),
        _managed(
            VECTOR_SUSPENDED,
            N_("Suspended because"),
            N_("Why search by meaning is off for now; empty while it works."),
            "string",
        ),
    )


def declared(embedding_models: Choices | None = None) -> tuple[SettingDefinition, ...]:
    """Every setting, in the order in which they are shown. ``embedding_models``: the keys of configured profiles."""
    return (
        SettingDefinition(
            EMBEDDING_MODEL,
            AI,
            N_("Embedding model"),
            N_("The model that search by meaning should use. Changing it starts a switch, which shows its cost first."),
            "choice",
            choices=embedding_models,
            nullable=True,
            confirmation="embedding_switch",
        ),
        SettingDefinition(
            RETAIN_PREVIOUS_DAYS,
            AI,
            N_("Keep the previous model's vectors (days)"),
            N_("For so long after a switch the way back embeds only what has changed. 0 keeps nothing."),
            "integer",
            default=7,
            largest=90,
        ),
        SettingDefinition(
            VECTOR_ENABLED,
            SEARCH,
            N_("Search by meaning"),
            N_("When this is off, search answers by words only."),
            "bool",
            default=True,
        ),
        SettingDefinition(
            PAGE_SIZE,
            SEARCH,
            N_("Results per page"),
            N_("How many results a page of search shows."),
            "integer",
            default=20,
            smallest=10,
            largest=100,
        ),
        *_of_search(),
        SettingDefinition(
            SEARCH_ENGINE,
            SEARCH,
            N_("Engine"),
            N_("What searches by words and by meaning; flask search use changes it once the other engine is ready."),
            "choice",
            default=ENGINES[0],
            choices=lambda: ENGINES,
            managed=True,
        ),
        *_of_records(),
        *_of_documentation(),
        *_of_serving(),
    )
