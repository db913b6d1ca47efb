"""Settings → AI and models, as a person uses it: with and without htmx, in both languages."""

from __future__ import annotations

import re
from html import unescape

import pytest
from sqlalchemy import text
from werkzeug.test import TestResponse

from app.core.contracts.actor import SYSTEM
from app.core.errors import ChangeoverError
from app.core.settings.schema import VECTOR_ENABLED
from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench, C
from tests.fixtures.clients import Browser, People

AI, SWITCH, PROGRESS = "/settings/ai", "/settings/ai/switch", "/settings/ai/progress"
PART, HISTORY, STRIP = f"{PROGRESS}/part", "/settings/ai/switches", "/settings/ai/strip"
HTMX = {"HX-Request": "true"}
LANGUAGES = ("en", "it")


@pytest.fixture
def bench_people(bench: Bench) -> People:
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    return People(bench.container)


@pytest.fixture
def admin_client(bench: Bench, bench_people: People) -> Browser:
    return browser(bench, bench_people, "administrator")


def browser(bench: Bench, people: People, *roles: str, locale: str = "en") -> Browser:
    app = create_app(bench.config, bench.container)
    app.testing = True
    return Browser(app).login_as(people.user(f"person-{locale}", *roles, locale=locale))


def looker(bench: Bench, people: People) -> Browser:
    """Somebody who may read the settings and no more."""
    person = browser(bench, people, "reader")
    with bench.container.units() as unit:
        unit.session.execute(text("update roles set permissions = '{settings.select}' where name = 'reader'"))
    return person


def words(answer: TestResponse) -> str:
    """The text of a page without its marks."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def confirmed(bench: Bench, target: str = B, mode: str = "side_by_side") -> dict[str, str]:
    found = bench.ai.switching.serving()
    epoch = found[0].epoch if found else 0
    return {"target": target, "mode": mode, "epoch": str(epoch), "confirm": "1"}


def calls(bench: Bench) -> int:
    return sum(server.counters.calls for server in bench.servers.values())


def fail_one(bench: Bench) -> None:
    """A switch that stops because one document can't be embedded."""
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    bench.start()
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    bench.servers["beta"].reset()


# --- the page of the models ----------------------------------------------------------------------------------------


def test_the_models_are_shown_without_asking_a_server(bench: Bench, admin_client: Browser) -> None:
    before = calls(bench)
    page = admin_client.get(AI)
    assert page.status_code == 200
    assert calls(bench) == before
    for key in (A, B, C):
        assert key in page.text
    assert "8 of 8 have vectors" in page.text
    assert "universal-sentence-encoder-m3 has no server" in page.text
    assert 'id="strip"' in page.text
    assert 'class="strip' not in page.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_served_in_both_languages(bench: Bench, bench_people: People, language: str) -> None:
    person = browser(bench, bench_people, "administrator", locale=language)
    pages = [AI, f"{SWITCH}?target={B}", HISTORY]
    for path in pages:
        page = person.get(path)
        assert page.status_code == 200, path
        assert f'<html lang="{language}"' in page.text
    bench.start()
    bench.run_to("embeddings")
    running = person.get(PROGRESS)
    assert (running.status_code, person.get(AI).status_code) == (200, 200)
    assert f'<html lang="{language}"' in running.text
    bench.settle()
    ended = person.get(f"{HISTORY}/{bench.last.id}")
    assert ended.status_code == 200
    assert f'<html lang="{language}"' in ended.text


def test_a_reader_sees_none_of_it(bench: Bench, bench_people: People) -> None:
    reader = browser(bench, bench_people, "reader")
    bench.start()
    for path in (AI, f"{SWITCH}?target={B}", PROGRESS, PART, HISTORY, f"{HISTORY}/1"):
        assert reader.get(path).status_code == 403, path
    for path in (SWITCH, f"{PROGRESS}/resume", f"{PROGRESS}/abandon", f"{PROGRESS}/failures"):
        assert reader.post(path, confirmed(bench)).status_code == 403, path
    strip = reader.get(STRIP)
    assert strip.status_code == 200
    assert "beta" not in strip.text


def test_who_may_only_look_is_offered_nothing_and_refused_everything(bench: Bench, bench_people: People) -> None:
    person = looker(bench, bench_people)
    page = person.get(AI)
    assert page.status_code == 200
    assert "needs the permission embeddings.switch" in page.text
    assert person.get(f"{SWITCH}?target={B}").status_code == 403
    assert person.post(SWITCH, confirmed(bench)).status_code == 403
    assert bench.ai.switching.status().status == "idle"
    bench.start()
    progress = person.get(PROGRESS)
    assert progress.status_code == 200
    assert "abandon-form" not in progress.text
    assert person.post(f"{PROGRESS}/abandon").status_code == 403
    assert bench.ai.switching.status().status == "running"


def test_a_form_of_another_site_is_refused(bench: Bench, admin_client: Browser) -> None:
    for path in (SWITCH, f"{PROGRESS}/resume", f"{PROGRESS}/abandon", f"{PROGRESS}/failures"):
        assert admin_client.post(path, confirmed(bench), csrf=False).status_code == 403, path
    assert bench.ai.switching.history() == []


# --- the confirmation ----------------------------------------------------------------------------------------------


def test_the_confirmation_is_a_page_and_a_part_with_the_same_figures(bench: Bench, admin_client: Browser) -> None:
    page = admin_client.get(f"{SWITCH}?target={B}&mode=in_place")
    part = admin_client.get(f"{SWITCH}?target={B}&mode=in_place", headers=HTMX)
    assert (page.status_code, part.status_code) == (200, 200)
    assert "<html" in page.text
    assert part.text.lstrip().startswith('<div id="confirm-body">')
    for answer in (page, part):
        assert "of 8; 0 already done" in words(answer)
        assert "24 dimensions (measured: same)" in words(answer)
        assert "Switch to beta" in words(answer)
        assert re.search(r'id="c-mode-in_place" value="in_place" required checked', answer.text)
    assert bench.ai.switching.status().status == "idle"


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        (Behaviour(status=503), "answered with status 503|is overloaded"),
        (Behaviour(dims=7), "7"),
        (Behaviour(model="delta"), "delta"),
    ],
)
def test_what_speaks_against_a_start_is_said_before_it(
    bench: Bench, admin_client: Browser, behaviour: Behaviour, sentence: str
) -> None:
    bench.servers["beta"].behaviour = behaviour
    page = admin_client.get(f"{SWITCH}?target={B}")
    assert page.status_code == 200
    assert "This switch cannot start. Nothing was changed." in page.text
    assert re.search(sentence, words(page))
    assert "Switch to beta" not in words(page)


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(
    ("target", "status", "sentence"),
    [
        ("openai_compatible:nobody", 404, "There is no embedding model named openai_compatible:nobody"),
        ("openai_compatible:universal-sentence-encoder-m3", 409, "has no server"),
        ("", 404, "There is no embedding model named"),
    ],
)
def test_a_refusal_is_said_where_the_choice_was_made(
    admin_client: Browser, headers: dict[str, str], target: str, status: int, sentence: str
) -> None:
    answer = admin_client.get(f"{SWITCH}?target={target}", headers=headers)
    assert answer.status_code == status
    assert sentence in words(answer)
    assert ("<html" in answer.text) == (not headers)


def test_choosing_the_serving_model_says_that_nothing_was_to_be_done(bench: Bench, admin_client: Browser) -> None:
    answer = admin_client.post(SWITCH, confirmed(bench, A))
    assert answer.status_code == 303
    page = admin_client.get(answer.headers["Location"])
    assert page.status_code == 200
    assert "nothing to switch" in page.text
    assert "note-info" in page.text
    assert "note-success" not in page.text
    part = admin_client.post(SWITCH, confirmed(bench, A), headers=HTMX)
    assert part.status_code == 200
    assert "nothing to switch" in part.text
    assert bench.ai.switching.history() == []


# --- the start -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_a_confirmed_switch_starts_and_leads_to_its_progress(bench: Bench, admin_client: Browser, mode: str) -> None:
    answer = admin_client.post(SWITCH, confirmed(bench, mode=mode))
    assert answer.status_code == 303
    assert answer.headers["Location"] == PROGRESS
    status = bench.ai.switching.status()
    assert status.switch is not None
    assert (status.status, status.switch.to_key, status.switch.mode) == ("running", B, mode)
    assert status.switch.started_by == "person-en"


def test_htmx_is_sent_to_the_progress_by_its_own_header(bench: Bench, admin_client: Browser) -> None:
    answer = admin_client.post(SWITCH, confirmed(bench), headers=HTMX)
    assert answer.status_code == 200
    assert answer.headers["HX-Redirect"] == PROGRESS
    assert bench.ai.switching.status().status == "running"


def test_without_the_confirmation_nothing_starts(bench: Bench, admin_client: Browser) -> None:
    fields = confirmed(bench)
    del fields["confirm"]
    answer = admin_client.post(SWITCH, fields)
    assert answer.status_code == 200
    assert "Switch to beta" in words(answer)
    assert bench.ai.switching.history() == []


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize("epoch", ["7", "", "x"])
def test_figures_that_are_no_longer_true_are_shown_again(
    bench: Bench, admin_client: Browser, headers: dict[str, str], epoch: str
) -> None:
    answer = admin_client.post(SWITCH, {**confirmed(bench), "epoch": epoch}, headers=headers)
    assert answer.status_code == 409
    assert "The serving model has changed since you looked." in words(answer)
    assert f'name="epoch" value="{confirmed(bench)["epoch"]}"' in answer.text
    assert "Switch to beta" in words(answer), "the fresh figures can be confirmed at once"
    assert bench.ai.switching.history() == []


def test_a_server_that_goes_away_before_the_confirmation_refuses_the_start(bench: Bench, admin_client: Browser) -> None:
    assert admin_client.get(f"{SWITCH}?target={B}").status_code == 200
    bench.servers["beta"].behaviour = Behaviour(model="delta")
    answer = admin_client.post(SWITCH, confirmed(bench))
    assert answer.status_code in (409, 503)
    assert "delta" in words(answer)
    assert bench.ai.switching.history() == []


def test_a_mode_that_does_not_exist_is_refused(bench: Bench, admin_client: Browser) -> None:
    answer = admin_client.post(SWITCH, confirmed(bench, mode="upside_down"))
    assert answer.status_code == 422
    assert "The mode must be" in words(answer)
    assert bench.ai.switching.history() == []


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_second_of_two_is_told_about_the_first(
    bench: Bench, admin_client: Browser, headers: dict[str, str]
) -> None:
    fields = confirmed(bench)
    bench.start(C)
    answer = admin_client.post(SWITCH, fields, headers=headers)
    assert answer.status_code == 409
    assert f"A switch to {C} is running" in words(answer)
    assert PROGRESS in answer.text
    assert len(bench.ai.switching.history()) == 1


def test_the_field_is_locked_with_the_reason_while_a_switch_is_open(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.run_to("embeddings")
    page = admin_client.get(AI)
    assert page.status_code == 200
    assert "while the switch to beta runs (Embeddings, 0 of 8 documents)" in words(page)
    assert page.text.count("<fieldset disabled>") == 2


def test_a_failed_switch_locks_the_field_with_its_error_and_what_to_do(bench: Bench, admin_client: Browser) -> None:
    fail_one(bench)
    page = admin_client.get(AI)
    assert page.status_code == 200
    assert "has stopped in Embeddings. Documents that could not be embedded and need a decision: 1" in words(page)
    assert "Resume or stop it first." in words(page)
    assert "<fieldset disabled>" in page.text


# --- the progress --------------------------------------------------------------------------------------------------


def test_without_any_switch_the_progress_leads_to_the_models(admin_client: Browser) -> None:
    assert admin_client.get(PROGRESS).headers["Location"] == AI
    assert admin_client.get(PART, headers=HTMX).headers["HX-Redirect"] == AI


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_the_part_is_polled_through_every_phase_until_the_switch_has_ended(
    bench: Bench, admin_client: Browser, mode: str
) -> None:
    bench.start(mode=mode)
    for phase in ("preflight", "embeddings", "indexes", "verify", "activate"):
        bench.run_to(phase)
        part = admin_client.get(PART, headers=HTMX)
        assert part.status_code == 200
        assert "<html" not in part.text
        assert 'hx-trigger="every 2s"' in part.text
        assert re.search(rf'id="phase-{phase}" class="phase is-current" aria-current="step"', part.text)
        assert ("The meaning search is off" in part.text) == (mode == "in_place")
    bench.settle()
    part = admin_client.get(PART, headers=HTMX)
    assert part.status_code == 200
    assert "hx-trigger" not in part.text
    assert "Activated: the search answers from beta" in part.text
    assert f"{HISTORY}/{bench.last.id}" in part.text
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "hx-trigger" not in page.text.split('id="switch"')[1].split("</div>")[0]


def test_what_a_switch_waits_for_is_said(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.run_to("embeddings")
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "none listens to the queue embeddings" in words(page)


def test_resume_refuses_a_switch_that_runs_normally(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "resume-form" not in page.text
    answer = admin_client.post(f"{PROGRESS}/resume")
    assert answer.status_code == 409
    assert "The switch is running normally" in words(answer)


def test_an_interrupted_switch_offers_to_resume(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.run_to("embeddings")
    with bench.container.units() as unit:
        unit.session.execute(
            text("update switches set progress_at = progress_at - interval '31 minutes', lease_until = null")
        )
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "Interrupted" in page.text
    assert "Goes on in the phase Embeddings. What is done stays done." in words(page)
    assert admin_client.post(f"{PROGRESS}/resume").status_code == 303
    assert bench.ai.switching.status().status == "running"


def test_a_switch_that_is_resumed_late_goes_on(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.run_to("embeddings")
    with bench.container.units() as unit:
        unit.session.execute(
            text("update switches set progress_at = progress_at - interval '31 minutes', lease_until = null")
        )
    assert admin_client.post(f"{PROGRESS}/resume").status_code == 303
    bench.settle()
    assert bench.serving == B


@pytest.mark.parametrize("action", ["resume", "abandon"])
def test_there_is_nothing_to_resume_or_abandon(admin_client: Browser, action: str) -> None:
    answer = admin_client.post(f"{PROGRESS}/{action}")
    assert answer.status_code == 409
    assert "There is no switch that is running or has failed." in words(answer)


def test_after_activation_abandon_says_to_switch_back(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.settle()
    answer = admin_client.post(f"{PROGRESS}/abandon")
    assert answer.status_code == 409
    assert "Switch back instead." in words(answer)
    assert bench.serving == B


AT_ONCE, GOES_ON, REBUILT = "serves again at once", "goes on serving as it does now", "made room already"


@pytest.mark.parametrize(
    ("mode", "phase", "sentence"),
    [
        *(("side_by_side", phase, GOES_ON) for phase in ("preflight", "embeddings", "indexes", "verify", "activate")),
        *(("in_place", phase, AT_ONCE) for phase in ("preflight", "embeddings")),
        *(("in_place", phase, REBUILT) for phase in ("indexes", "verify", "activate")),
    ],
)
def test_abandon_does_what_its_sentence_said(
    bench: Bench, admin_client: Browser, mode: str, phase: str, sentence: str
) -> None:
    bench.start(mode=mode)
    bench.run_to(phase)
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert sentence in words(page)
    assert "are kept for 7 days" in words(page)
    assert admin_client.post(f"{PROGRESS}/abandon").status_code == 303
    leads_back = bench.ai.switching.status().status == "running"
    assert leads_back == (sentence == REBUILT)
    after = admin_client.get(PROGRESS)
    assert after.status_code == 200
    if leads_back:
        assert "Return to alpha" in words(after)
        assert "abandon-form" not in after.text
        assert "can't be abandoned" in words(after)
        assert admin_client.post(f"{PROGRESS}/abandon").status_code == 409
    else:
        assert "The switch was stopped; alpha goes on serving" in words(after)
    bench.settle()
    assert (bench.serving, bench.suspended) == (A, None)


def test_a_resume_from_indexes_in_place_still_says_that_the_indexes_are_gone(
    bench: Bench, admin_client: Browser
) -> None:
    bench.start(mode="in_place")
    bench.run_to("verify")
    with bench.container.units() as unit:
        unit.session.execute(
            text("update switches set status = 'failed', error_code = 'switch.failed.verify', error_values = '{}'")
        )
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "builds and checks the indexes again" in words(page)
    assert admin_client.post(f"{PROGRESS}/resume").status_code == 303
    assert bench.ai.switching.status().phase == "embeddings"
    assert REBUILT in words(admin_client.get(PROGRESS))
    assert admin_client.post(f"{PROGRESS}/abandon").status_code == 303
    assert bench.ai.switching.status().status == "running"


# --- decisions -----------------------------------------------------------------------------------------------------


def test_a_document_that_fails_is_listed_by_its_number_and_set_aside_with_a_reason(
    bench: Bench, admin_client: Browser
) -> None:
    fail_one(bench)
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "1 document needs a decision" in words(page)
    assert "text of record 3" not in page.text
    assert "hx-trigger" not in page.text.split('id="switch"')[1].split("</div>")[0]
    (failure,) = bench.ai.switching.status().failures
    assert f'name="failure" value="{failure.id}"' in page.text
    chosen = {"failure": str(failure.id), "action": "set_aside"}
    unreasoned = admin_client.post(f"{PROGRESS}/failures", chosen)
    assert unreasoned.status_code == 422
    assert "Say why these documents are set aside." in words(unreasoned)
    answer = admin_client.post(f"{PROGRESS}/failures", {**chosen, "reason": "a <scan>"})
    assert answer.status_code == 303
    decided = admin_client.get(PROGRESS)
    assert "1 document was set aside." in words(decided)
    assert "Every document has its decision now." in words(decided)
    assert admin_client.post(f"{PROGRESS}/resume").status_code == 303
    bench.settle()
    assert bench.serving == B
    summary = admin_client.get(f"{HISTORY}/{bench.last.id}")
    assert summary.status_code == 200
    assert "a &lt;scan&gt; (refused by the server)" in summary.text
    assert "person-en" in summary.text


def test_a_document_is_retried(bench: Bench, admin_client: Browser) -> None:
    fail_one(bench)
    (failure,) = bench.ai.switching.status().failures
    answer = admin_client.post(f"{PROGRESS}/failures", {"failure": str(failure.id), "action": "retry"})
    assert answer.status_code == 303
    assert "1 document is tried again when the switch is resumed." in words(admin_client.get(PROGRESS))
    assert admin_client.post(f"{PROGRESS}/resume").status_code == 303
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"action": "retry"}, "Choose at least one document first."),
        ({"action": "retry", "failure": "x"}, "Choose at least one document first."),
        ({"action": "forget", "failure": "1"}, "none of the allowed values"),
    ],
)
def test_a_decision_about_nothing_changes_nothing(
    bench: Bench, admin_client: Browser, fields: dict[str, str], sentence: str
) -> None:
    fail_one(bench)
    answer = admin_client.post(f"{PROGRESS}/failures", fields)
    assert answer.status_code == 422
    assert sentence in words(answer)
    assert [failure.resolution for failure in bench.ai.switching.status().failures] == [None]


# --- looking back --------------------------------------------------------------------------------------------------


def test_the_summary_holds_the_estimate_against_what_it_took_and_the_way_back(
    bench: Bench, admin_client: Browser
) -> None:
    bench.start()
    bench.settle()
    page = admin_client.get(f"{HISTORY}/{bench.last.id}")
    assert page.status_code == 200
    said = words(page)
    for part in ("Switched to beta", "Documents embedded 8 8 as estimated", "Preflight", "Try a search"):
        assert part in said
    assert "Switching back until then embeds only what has changed." in said
    assert f"{SWITCH}?target={A.replace(':', '%3A')}" in page.text or f"{SWITCH}?target={A}" in page.text
    back = admin_client.get(f"{SWITCH}?target={A}")
    assert back.status_code == 200
    assert "of 8; 8 already done" in words(back)


def test_the_history_lists_every_switch_and_an_open_one_leads_to_its_progress(
    bench: Bench, admin_client: Browser
) -> None:
    empty = admin_client.get(HISTORY)
    assert empty.status_code == 200
    assert "No switch yet" in empty.text
    bench.start()
    bench.ai.switching.abandon(SYSTEM)
    bench.settle()
    bench.start(C)
    page = admin_client.get(HISTORY)
    assert page.status_code == 200
    first, second = bench.ai.switching.history()
    assert f'data-href="{PROGRESS}"' in page.text
    assert f'data-href="{HISTORY}/{second.id}"' in page.text
    assert admin_client.get(f"{HISTORY}/{first.id}").headers["Location"] == PROGRESS
    stopped = admin_client.get(f"{HISTORY}/{second.id}")
    assert stopped.status_code == 200
    assert "The switch to beta was stopped" in words(stopped)
    assert admin_client.get(f"{HISTORY}?page=2").status_code == 200


@pytest.mark.parametrize("path", [f"{HISTORY}/999", f"{HISTORY}/x", f"{HISTORY}/99999999999999999999"])
def test_an_unknown_switch_is_not_found(admin_client: Browser, path: str) -> None:
    assert admin_client.get(path).status_code in (400, 404)


def test_a_refused_start_that_was_reported_can_be_cleared(bench: Bench, admin_client: Browser) -> None:
    bench.servers["beta"].behaviour = Behaviour(model="delta")
    with pytest.raises(ChangeoverError):
        bench.ai.switching.start(SYSTEM, B, report=True)
    page = admin_client.get(PROGRESS)
    assert page.status_code == 200
    assert "delta" in words(page)
    assert "resume-form" not in page.text
    assert "Clears the refused start away. It changed nothing." in words(page)
    assert admin_client.post(f"{PROGRESS}/abandon").status_code == 303
    summary = admin_client.get(f"{HISTORY}/{bench.last.id}")
    assert summary.status_code == 200
    assert "was refused" in words(summary)


# --- the strip on every page ---------------------------------------------------------------------------------------


def test_every_page_says_how_far_the_switch_is(bench: Bench, admin_client: Browser) -> None:
    bench.start()
    bench.run_to("embeddings")
    bench.run_until(lambda: bench.ai.switching.status().done >= 5)
    page = admin_client.get("/queues")
    assert page.status_code == 200
    assert "Switching to beta: 62 %" in words(page)
    assert f'href="{PROGRESS}"' in page.text
    part = admin_client.get(STRIP, headers=HTMX)
    assert part.status_code == 200
    assert part.text.lstrip().startswith('<div id="strip"')
    bench.run_to("indexes")
    assert "100 % embedded, now in the phase Indexes" in words(admin_client.get("/queues"))
    bench.settle()
    assert "Switching" not in words(admin_client.get(STRIP))


def test_the_strip_asks_for_attention_when_a_switch_has_failed(bench: Bench, admin_client: Browser) -> None:
    fail_one(bench)
    page = admin_client.get("/queues")
    assert page.status_code == 200
    assert "The switch to beta has stopped at" in words(page)
    assert "strip-attention" in page.text


def test_the_strip_says_when_vectors_are_off(bench: Bench, admin_client: Browser) -> None:
    with bench.container.units() as unit:
        bench.container.settings.write_system(unit, VECTOR_ENABLED, False)
    page = admin_client.get("/queues")
    assert page.status_code == 200
    assert "turned off in the settings" in words(page)
    models = admin_client.get(AI)
    assert models.status_code == 200
    assert "It was turned off in the settings." in words(models)


def test_without_the_ai_packages_the_page_says_what_is_missing(bench: Bench, admin_client: Browser) -> None:
    bench.container.ai = None
    page = admin_client.get(AI)
    assert page.status_code == 503
    assert "The AI packages are not installed" in page.text
    other = admin_client.get("/queues")
    assert other.status_code == 200
    assert "The AI packages are not installed" in other.text
