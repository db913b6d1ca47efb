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
BUDGET_BALANCED = "search.budget_balanced_ms"
DEEP_PER_MINUTE = "search.deep_per_minute"
SYNONYMS_EN = "search.synonyms_en"
SYNONYMS_IT = "search.synonyms_it"
EXPIRE_DAYS = "approvals.expire_days"
AUDIT_DAYS = "audit.retain_days"


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

    late = N_("What is not back by then is left out, and the answer says so. Words always answer.")
    return (
        number(BUDGET_BALANCED, N_("Time of a balanced search (ms)"), late, 1500, 100, 30_000),
        number(
            DEEP_PER_MINUTE,
            N_("Deep searches per minute"),
            N_("So many each person may ask for; beyond, a search is answered fast and says so. 0 allows none."),
            6,
            0,
            1000,
        ),
        SettingDefinition(SYNONYMS_EN, SEARCH, N_("English synonyms"), synonyms, "string", default=""),
        SettingDefinition(SYNONYMS_IT, SEARCH, N_("Italian synonyms"), synonyms, "string", default=""),
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
            N_("What looks for words; a command of the terminal changes it once the other engine is ready."),
            "choice",
            default=ENGINES[0],
            choices=lambda: ENGINES,
            managed=True,
        ),
        *_of_records(),
        *_of_serving(),
    )
