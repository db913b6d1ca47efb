"""For every combination of actor, tenant, locale, module and permission: what is found is what the policy lets through.

The policy stands here once more, written from its text (`seed-facts.md` 17.1 and 17.3) and not from the product's code.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.access import policy
from app.core.access.actor import actor_of
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition
from app.core.errors import Invalid, Unavailable
from app.documentation import collections, store
from app.documentation.answering import Answering
from app.documentation.audience import permits, reach_of
from app.documentation.entities import BY_CORPUS
from app.documentation.models import DocumentationPage, DocumentationText
from app.documentation.places import Collection
from app.documentation.retrieval import Asked, Limits, Retrieval
from app.documentation.searchable import documents
from app.search.engines.postgres_coverage import PostgresWordSearch
from tests.fixtures.clients import Api, Browser, People
from tests.integration.documentation.conftest import DECLARED, AddPage
from tests.integration.search.conftest import Stage

SELECT = "documentation.user.select"
TICKETS, SETTINGS = "sao.tickets.select", "settings.select"
AUDIENCES = ("user", "shared", "developer", None)
LOCALES = ("en", "it")
TENANTS: tuple[Mapping[str, Any], ...] = (
    {"tenant_scope": "global"},
    {"tenant_scope": "tenant", "tenant_id": "7"},
    {"tenant_scope": "tenant", "tenant_id": "8"},
    {"tenant_scope": "tenant"},
    {"tenant_scope": "everyone"},
)
NEEDED: tuple[tuple[str, ...], ...] = ((), (TICKETS,), (TICKETS, SETTINGS))
MODULES: tuple[tuple[str, bool], ...] = (("search", False), ("sao", False), ("sao", True))
"""The module of a page, and whether it is for every module."""
HELD: tuple[tuple[str, ...], ...] = ((), (TICKETS,), (SETTINGS,), (TICKETS, SETTINGS), ("*",))
ASKED_MODULES = (None, "search", "nowhere")
GROUP = 8
"""Pages that answer one question, fewer than an answer may have: so nothing hides behind the best ten."""


@dataclass(frozen=True)
class Stored:
    """A page, the word that finds it and its neighbours, and its metadata."""

    id: int
    source: str
    word: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Caller:
    """Somebody who asks; ``hidden`` is a source that their row rule takes away."""

    actor: Actor
    hidden: str | None


def callers() -> list[Caller]:
    """Every combination; row rules, which know nothing of the rest, for a few of them."""
    found = []
    for tenant, locale, guest, held in itertools.product((None, 7, 8), LOCALES, (False, True), HELD):
        if guest and "*" in held:
            continue  # a guest is never an administrator
        permissions = frozenset({SELECT, *held})
        actor = Actor(1, "u", "U", locale, permissions=permissions, tenant_id=tenant, is_guest=guest)
        found.append(Caller(actor, None))
    for hidden in ("page-0", "page-1", "page-2", "page-3"):
        rows = {SELECT: Condition("source", "!=", hidden)}
        found += [replace(one, actor=replace(one.actor, rows=rows), hidden=hidden) for one in found[:50:25]]
    return found


def may_see(caller: Caller, page: Stored, module: str | None) -> bool:
    """The policy, from its text."""
    meta = page.metadata
    if page.source == caller.hidden or meta.get("audience") not in ("user", "shared"):
        return False
    if meta["locale"] != caller.actor.locale:
        return False
    own = caller.actor.tenant_id
    is_global = meta["tenant_scope"] == "global" and "tenant_id" not in meta
    is_own = meta["tenant_scope"] == "tenant" and own is not None and meta.get("tenant_id") == str(own)
    if not (is_global or is_own):
        return False
    if module is not None and meta["module"] != module and meta.get("cross_cutting_user") is not True:
        return False
    held = caller.actor.permissions
    if caller.actor.is_guest:
        held = frozenset(one for one in held if one.count(".") == 2 and one.endswith(".select"))
    return "*" in held or all(needed in held for needed in meta["required_permissions"])


Corner = tuple[str | None, str, Mapping[str, Any], tuple[str, ...], tuple[str, bool]]


@pytest.fixture
def pages(container: Container) -> list[Stored]:
    """One page for every combination; eight at a time share a word, drawn so that they differ."""
    return fill(container, "user", list(itertools.product(AUDIENCES, LOCALES, TENANTS, NEEDED, MODULES)))


def fill(container: Container, collection: str, corners: list[Corner], corpus: str = "user") -> list[Stored]:
    """Store a page for each corner, in one unit; sources and words begin with what tells the collection."""
    random.Random(7).shuffle(corners)
    made: list[tuple[DocumentationPage, str, dict[str, Any]]] = []
    for n, (audience, locale, tenant, needed, (module, everywhere)) in enumerate(corners):
        metadata = {**DECLARED, "locale": locale, "module": module, "audience": audience}
        del metadata["tenant_scope"]
        metadata |= {**tenant, "required_permissions": list(needed), "required_permissions_count": len(needed)}
        if everywhere:
            metadata["cross_cutting_user"] = True
        source = f"page-{n}" if corpus == collection else f"{collection}/page-{n}"
        word = _word(n // GROUP)
        text = DocumentationText(
            locale=locale, title=source, body=f"The {word}.", front_matter=metadata, content_hash=b"x"
        )
        page = DocumentationPage(corpus=corpus, collection=collection, source=source, revision=1, texts=[text])
        made.append((page, word, metadata))
    with container.units() as unit:
        unit.session.add_all([page for page, _, _ in made])
        unit.session.flush()
        now = container.clock.now()
        items = {page.id: documents(page, now) for page, _, _ in made}
        container.outbox.put_many(unit, f"documentation.{corpus}", items)
    return [Stored(page.id, page.source, word, metadata) for page, word, metadata in made]


def _word(group: int) -> str:
    """A long word that no other is a misspelling of."""
    letters = "bcdfghjklmnpqrst"
    return "".join(
        letters[byte % 16] + "aeiou"[byte % 5] for byte in blake2b(str(group).encode(), digest_size=6).digest()
    )


@pytest.fixture
def stage(container: Container) -> Stage:
    return Stage(container)


def by_source(found: Sequence[str]) -> list[str]:
    return sorted(found)


def test_the_statement_lets_through_what_the_policy_does_for_every_combination(
    container: Container, pages: Sequence[Stored]
) -> None:
    """Every caller and module against every one of 360 pages."""
    ids = [page.id for page in pages]
    sizes = set()
    for caller, module in itertools.product(callers(), ASKED_MODULES):
        reach = reach_of(caller.actor, "user", caller.actor.locale, module)
        visible = policy.visible(BY_CORPUS["user"], caller.actor)
        with container.units() as unit:
            found = {page.source for page, _ in store.texts_within(unit.session, reach, visible, ids)}
        allowed = {page.source for page in pages if may_see(caller, page, module)}
        assert found == allowed, (caller, module)
        sizes.add(len(allowed))
    assert len(pages) == 360
    assert len(sizes) > 8  # the callers differ in what they may read


def test_the_second_look_agrees_with_the_policy_for_every_combination(pages: Sequence[Stored]) -> None:
    """`permits` is asked of what the statement let through, so it need not know rows."""
    for caller, module in itertools.product(callers(), ASKED_MODULES):
        if caller.hidden is not None:
            continue
        reach = reach_of(caller.actor, "user", caller.actor.locale, module)
        assert {page.source for page in pages if permits(page.metadata, reach)} == {
            page.source for page in pages if may_see(caller, page, module)
        }


def test_questions_are_answered_from_what_the_policy_lets_through(
    answering: Answering, pages: Sequence[Stored]
) -> None:
    """Every caller and module asks for one group of pages after the other; the whole answer must be the policy's."""
    words = sorted({page.word for page in pages})
    turn = itertools.cycle(words)
    answered = 0
    for caller, module in itertools.product(callers(), ASKED_MODULES):
        word = next(turn)
        found = answering.retrieve(caller.actor, Asked(word, top_k=10, module=module))
        allowed = [page.source for page in pages if page.word == word and may_see(caller, page, module)]
        assert by_source([one.source for one in found.passages]) == by_source(allowed), (caller, module, word)
        answered += bool(allowed)
    assert answered > 25


def test_meaning_finds_nothing_that_the_policy_hides(
    container: Container, stage: Stage, pages: Sequence[Stored]
) -> None:
    """All pages lie equally near the question; the words match none."""
    stage.execute(
        """insert into embeddings (entity, record_id, locale, space_id, n, "of", start, "end", text_hash, passage_hash,
            embedding)
        select entity, record_id, locale, :space, 0, 1, 0, 5, text_hash, text_hash, cast('[1,0,0,0]' as vector)
        from search_documents""",
        space=stage.space,
    )
    words = PostgresWordSearch(container.word_engine, container.clock)
    retrieval = Retrieval(container.units, words, stage.vectors, lambda session: Limits())
    for caller, module in itertools.product(callers()[::11], ASKED_MODULES):
        found = retrieval.retrieve(caller.actor, Asked("wholly different", top_k=10, module=module))
        allowed = {page.source for page in pages if may_see(caller, page, module)}
        got = [one.source for one in found.passages]
        assert set(got) <= allowed, (caller, module)
        assert len(got) == len(set(got)) == min(10, len(allowed))


def test_the_api_tells_what_the_policy_lets_through(
    app: APIFlask, people: People, container: Container, pages: Sequence[Stored]
) -> None:
    words = sorted({page.word for page in pages})[:6]
    told = 0
    kinds: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
        (("reader",), {}),
        (("reader",), {"tenant_id": 7}),
        (("reader",), {"tenant_id": 8, "locale": "it"}),
        (("reader",), {"is_guest": True, "tenant_id": 7}),
        (("administrator",), {"locale": "it"}),
    )
    for n, (roles, options) in enumerate(kinds):
        user = people.user(f"person{n}", *roles, **options)
        caller = Caller(actor_of(user, registry=container.registry), None)
        api = Browser(app).login_as(user)
        for word, module in itertools.product(words, (None, "search")):
            query = {"q": word, "top_k": 10} | ({} if module is None else {"module": module})
            answer = api.get("/api/v1/documentation/retrieve", query_string=query)
            assert answer.status_code == 200
            assert answer.json
            allowed = [page.source for page in pages if page.word == word and may_see(caller, page, module)]
            assert by_source([one["title"] for one in answer.json["data"]]) == by_source(allowed)
            told += bool(allowed)
    assert told > 10


NAMED_SELECT = "documentation.named.select"


def test_a_collection_answers_from_its_own_pages_and_within_its_policy(
    container: Container, answering: Answering
) -> None:
    """Two collections with the same words and metadata: ``guide`` is for users, ``notes`` for developers."""
    corners = list(itertools.product(AUDIENCES, LOCALES, TENANTS[:3], NEEDED[:2], MODULES[1:]))
    stored: dict[str, list[Stored]] = {}
    for name, audience in (("guide", "user"), ("notes", "developer")):
        with container.units() as unit:
            collections.save(unit, Collection(name, audience=audience))
        stored[name] = fill(container, name, list(corners), corpus="named")
    everybody = [replace(one, actor=replace(one.actor, permissions=one.actor.permissions | {NAMED_SELECT}))
                 for one in callers() if one.hidden is None]  # fmt: skip
    words = itertools.cycle(sorted({page.word for page in stored["guide"]}))
    told = 0
    for caller, module in itertools.product(everybody[::3], (None, "search")):
        word = next(words)
        for name, pages in stored.items():
            found = answering.retrieve(caller.actor, Asked(word, name, top_k=10, module=module))
            allowed = [page.source for page in pages if page.word == word and _of(name, caller, page, module)]
            assert by_source([one.source for one in found.passages]) == by_source(allowed), (caller, name, module)
            told += bool(allowed)
    assert told > 30


def _of(collection: str, caller: Caller, page: Stored, module: str | None) -> bool:
    """What is for users obeys the policy of the user guide; what is for developers knows modules alone."""
    if collection == "guide":
        return may_see(caller, page, module)
    return module is None or page.metadata["module"] == module or page.metadata.get("cross_cutting_user") is True


@pytest.mark.parametrize("collection", ["named", "absent", "user/", "guide"])
def test_who_may_not_read_collections_is_told_of_none(
    container: Container, answering: Answering, collection: str
) -> None:
    with container.units() as unit:
        collections.save(unit, Collection("guide", audience="user"))
    fill(container, "guide", list(itertools.product(("user",), ("en",), TENANTS[:1], NEEDED[:1], MODULES[:1])), "named")
    reader = Actor(1, "u", "U", permissions=frozenset({SELECT}))
    with pytest.raises(Invalid) as caught:
        answering.retrieve(reader, Asked(_word(0), collection))
    assert (caught.value.code, caught.value.values["allowed"]) == ("input.choice", "user, developer")


@pytest.mark.parametrize("top_k", [1, 5])
def test_one_page_that_breaks_the_policy_closes_everything_also_behind_the_last_one_shown(
    answering: Answering, add_page: AddPage, top_k: int
) -> None:
    add_page("good", "The boiler, the boiler, the boiler.")
    add_page("bad", "A boiler is one of many things that this page talks about at length.", version=" ")
    reader = Actor(1, "u", "U", permissions=frozenset({SELECT}))
    with pytest.raises(Unavailable) as caught:
        answering.retrieve(reader, Asked("boiler", top_k=top_k))
    assert caught.value.code == "documentation.unavailable"
    with pytest.raises(Unavailable):
        answering.answer(reader, Asked("boiler", top_k=top_k))


def test_a_broken_page_closes_the_api_and_the_page_without_a_word_of_it(
    app: APIFlask, people: People, add_page: AddPage
) -> None:
    add_page("good", "The boiler stops.")
    add_page("bad", "The boiler is a secret.", required_permissions=["sao.tickets.forceDelete"])
    api = Api(app, people.token(people.user("rita", "reader"), "read", "write"))
    for answer in (
        api.get("/api/v1/documentation/retrieve", query_string={"q": "boiler"}),
        api.post("/api/v1/documentation/answer", json={"question": "boiler"}),
        api.get("/documentation/ask", query_string={"q": "boiler"}),
    ):
        assert answer.status_code == 503
        text = answer.get_data(as_text=True)
        assert "secret" not in text
        assert "stops" not in text
