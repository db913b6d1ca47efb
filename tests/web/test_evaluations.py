"""The pages of evaluation runs: plots with the same figures in a table, one run, two runs case by case."""

from __future__ import annotations

import re

from apiflask import APIFlask
from flask_babel import force_locale

from app.container import Container
from app.documentation.runs.records import RunRecord
from app.web.evaluations import _reason
from tests.fixtures.clients import Browser, People
from tests.fixtures.runs import keep


def page(client: Browser, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return answer.text


def test_without_a_run_the_page_says_how_one_is_made(admin_client: Browser) -> None:
    assert "<code>flask rag eval</code>" in page(admin_client, "/evaluations")


def test_the_plots_hold_every_run_and_mark_those_below_the_floor(admin_client: Browser, container: Container) -> None:
    for mrr in (0.9, 0.5, 0.8):
        keep(container, ("a", True, ["right.md"]), mrr=mrr, floors={"mrr": 0.6})
    shown = page(admin_client, "/evaluations")
    plot = re.search(r'<svg[^>]*aria-labelledby="trend-mrr".*?</svg>', shown, re.DOTALL)
    assert plot is not None
    assert (plot[0].count("<circle"), plot[0].count("<rect")) == (2, 1)
    assert "from 0.9 to 0.8, lowest 0.5" in plot[0]
    assert "The floor is 0.6." in plot[0]
    rows = re.findall(r"<tbody.*?</tbody>", shown, re.DOTALL)[-1]
    assert rows.count("<tr>") == 3
    assert rows.count("below a floor") == 1


def test_suites_are_chosen_by_address(admin_client: Browser, container: Container) -> None:
    keep(container, ("a", True, []), suite="first")
    keep(container, ("a", True, []), suite="second", collection="manuals")
    assert 'id="trends">second<' in page(admin_client, "/evaluations")
    assert 'id="trends">first<' in page(admin_client, "/evaluations?suite=first&collection=default")
    assert "No run has been kept yet" in page(admin_client, "/evaluations?suite=nowhere")


def test_a_run_shows_what_failed_first_and_why(admin_client: Browser, container: Container) -> None:
    run = keep(container, ("good", True, ["right.md"]), ("bad", False, ["<b>x</b>.md"]), floors={"pass_rate": 0.9})
    shown = page(admin_client, f"/evaluations/{run}")
    assert shown.index("Question bad?") < shown.index("Question good?")
    assert "Expected source not retrieved: right.md" in shown
    assert "&lt;b&gt;x&lt;/b&gt;.md" in shown
    assert admin_client.get("/evaluations/999").status_code == 404


def test_two_runs_side_by_side(admin_client: Browser, container: Container) -> None:
    first = keep(container, ("a", True, ["right.md"]), ("b", True, ["right.md"]))
    assert "There is no earlier run" in page(admin_client, f"/evaluations/{first}/compare")
    second = keep(
        container, ("a", False, ["x.md"]), ("b", True, ["right.md"]), mrr=0.5, model="openai_compatible:other"
    )
    shown = page(admin_client, f"/evaluations/{second}/compare")
    assert f"Run {second} beside run {first}" in shown
    assert "Broke: 1" in shown
    assert "Question a?" in shown
    assert "Question b?" not in shown
    assert "The embedding models differ" in shown
    other = keep(container, ("a", True, []), suite="other")
    assert "not of the same thing" in page(admin_client, f"/evaluations/{other}/compare?before={first}")


def test_who_may_not_see_them(app: APIFlask, people: People, container: Container) -> None:
    run = keep(container, ("a", True, []))
    reader = Browser(app).login_as(people.user("rita", "reader"))
    for path in ("/evaluations", f"/evaluations/{run}", f"/evaluations/{run}/compare"):
        assert reader.get(path).status_code == 403


def test_a_change_that_one_case_would_make_is_told_as_noise(admin_client: Browser, container: Container) -> None:
    cases = [(str(number), True, ["right.md"]) for number in range(10)]
    for mrr in (0.9, 0.8, 0.6):
        last = keep(container, *cases, mrr=mrr)
    shown = page(admin_client, f"/evaluations/{last - 1}/compare")
    assert ("-0.1 <" in shown, "within ±0.1" in shown, "worse<" in shown) == (True, True, False)
    shown = page(admin_client, f"/evaluations/{last}/compare")
    assert ("-0.2<" in shown, "within ±" in shown, "worse<" in shown) == (True, False, True)


def test_the_last_run_stands_beside_the_one_before_on_the_page_of_its_suite(
    admin_client: Browser, container: Container
) -> None:
    keep(container, ("a", True, ["right.md"]), suite="other", mrr=0.1)
    cases = [(str(number), True, ["right.md"]) for number in range(20)]
    first = keep(container, *cases, mrr=0.9)
    assert "beside the one before" not in page(admin_client, "/evaluations")
    second = keep(container, *cases, mrr=0.6)
    table = _table(page(admin_client, "/evaluations"), f"Run {second} beside run {first}")
    mrr = next(row for row in table if "Mean reciprocal rank" in row)
    assert ("-0.3<" in mrr, "worse" in mrr, "within" in mrr) == (True, True, False)
    third = keep(container, *cases, mrr=0.63, model="openai_compatible:other")
    shown = page(admin_client, "/evaluations")
    table = _table(shown, f"Run {third} beside run {second}")
    mrr = next(row for row in table if "Mean reciprocal rank" in row)
    assert ("+0.03" in mrr, "within ±0.05" in mrr) == (True, True)
    assert "openai_compatible:words before, openai_compatible:other now" in shown
    assert "Command line" in shown
    assert f"/evaluations/{third}/compare" in shown
    older = page(admin_client, f"/evaluations?suite=golden&collection=default&before={third}")
    assert "beside the one before" not in older


def _table(shown: str, caption: str) -> list[str]:
    """The rows of the table with that caption."""
    found = re.search(rf"<caption>{caption}</caption>.*?</table>", shown, re.DOTALL)
    assert found is not None
    return re.findall(r"<tr>.*?</tr>", found[0], re.DOTALL)


def test_a_case_lists_what_it_expects_apart_from_what_it_found(admin_client: Browser, container: Container) -> None:
    first = keep(container, ("a", True, ["right.md", "x.md"]))
    second = keep(container, ("a", True, ["y.md", "right.md"]))
    for path in (f"/evaluations/{first}", f"/evaluations/{second}/compare"):
        shown = page(admin_client, path)
        assert 'Expected source: <span class="mono">right.md</span>' in shown
        assert shown.count("Expected source:") == 1


def test_a_figure_in_a_reason_is_written_as_the_language_writes_it(app: APIFlask) -> None:
    for code, written in (("en", "quality 0.25"), ("it", "0,25")):
        with app.test_request_context(), force_locale(code):
            assert written in _reason({"kind": "not_confident", "value": "0.25"})


def test_a_ceiling_is_told_as_one(admin_client: Browser, container: Container) -> None:
    assert container.evaluations is not None
    limits = {"source_hit_at_k": 0.9, "unavailable_rate": 0.0}
    runs: list[tuple[float, list[str]]] = [(0.0, []), (0.25, ["unavailable_rate is 0.2500, above 0.0000"])]
    numbers = []
    for rate, breaches in runs:
        figures = {"source_hit_at_k": 0.95, "unavailable_rate": rate}
        record = RunRecord("dataset", "user", "user", None, "words", None, figures, [], limits, breaches)
        with container.units() as unit:
            numbers.append(container.evaluations.runs.record(unit, record, "command").id)
    for number, verdict in zip(numbers, ("not exceeded", "above"), strict=True):
        rows = _table(page(admin_client, f"/evaluations/{number}"), "Figures")
        hit, away = (next(row for row in rows if name in row) for name in ("Source found", "Unavailable"))
        assert ("at least 0.9" in hit, "reached" in hit) == (True, True)
        assert ("at most 0<" in away, f"{verdict}<" in away, "reached" in away) == (True, True, False)
    shown = page(admin_client, "/evaluations")
    assert (shown.count("above a ceiling"), shown.count("below a floor")) == (1, 0)
