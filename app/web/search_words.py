"""What the search page calls things: ways of searching, and every reason why an answer is less than was asked for."""

from __future__ import annotations

from collections.abc import Mapping

from flask_babel import gettext

from app.core.messages import N_

MODE_LABELS: Mapping[str, str] = {
    "auto": N_("Best available"),
    "basic": N_("Words only"),
    "orchestrated": N_("Words and meaning"),
}
COST_LABELS: Mapping[str, str] = {"fast": N_("Fast"), "balanced": N_("Balanced"), "deep": N_("Deep")}
MATCHING_LABELS: Mapping[str, str] = {
    "auto": N_("Any word, best first"),
    "strict": N_("All words"),
    "balanced": N_("Most words"),
    "tolerant": N_("About half of the words"),
}
ENGINES: Mapping[str, str] = {"postgres": "PostgreSQL", "elasticsearch": "Elasticsearch"}
DEGRADED: Mapping[str, str] = {
    "mode_unavailable": N_("Answered by words only: no embedding model is installed."),
    "search_orchestration_disabled": N_("Answered by words only: searching with more effort is off in the settings."),
    "deep_unavailable": N_("Answered with less effort: no language model is set up for the deep search."),
    "rate_limited": N_("Answered fast: too many deep searches in this minute."),
    "serving_changed": N_("Answered by words only: the embedding model was just being replaced. Search again."),
    "intent_unavailable": N_("The language model did not say what is meant: the words were taken as typed."),
    "intent_timeout": N_("The language model was too slow to say what is meant: the words were taken as typed."),
    "planner_unavailable": N_("The language model made no plan: the usual one was followed."),
    "planner_timeout": N_("The language model was too slow with its plan: the usual one was followed."),
    "embedder_unavailable": N_("Answered by words only: the server of the embedding model does not answer."),
    "embedder_timeout": N_("Answered by words only: the server of the embedding model was too slow."),
    "vectors_unavailable": N_("Answered by words only: the meaning search is not available."),
    "vector_timeout": N_("Answered by words only: the meaning search did not answer in time."),
    "vector_failed": N_("Answered by words only: the meaning search failed. Search again."),
    "words_timeout": N_("Answered without the words: looking for them took too long. Use fewer or rarer words."),
    "words_failed": N_("Answered without the words: the database refused to look for them. Search again."),
    "engine_unavailable": N_("Answered by PostgreSQL: Elasticsearch does not answer."),
    "engine_timeout": N_("Answered by PostgreSQL: Elasticsearch was too slow."),
    "reranker_failed": N_("Not ordered a second time: the second ranking failed."),
    "reranker_timeout": N_("Not ordered a second time: the second ranking was too slow."),
}
DISABLED: Mapping[str, str] = {
    "disabled": N_("Answered by words only: the meaning search is switched off in the settings."),
    "suspended": N_("Answered by words only: the meaning search is suspended."),
    "switching": N_("Answered by words only: the meaning search is rebuilding for another model."),
    "dimension_mismatch": N_("Answered by words only: the stored vectors do not fit the model in use."),
    "no_vectors": N_("Answered by words only: no text has been embedded with the model in use yet."),
}
NOTES: Mapping[str, str] = {
    "no_terms": N_("The question has no word that can be looked for."),
    "title_only": N_("The question has only very common words; titles that contain it were looked for."),
    "beyond_window": N_("There are no more results than the pages before. Narrow the search with a filter."),
}
EMPTY: Mapping[str, str] = {
    "no_terms": N_("the question has no word that can be looked for"),
    "title_only": N_("the question has only very common words"),
    "no_term": N_("no text has any of the words"),
    "demands": N_("no text has what is required by +, - or quotes"),
    "matching": N_("no text has as many of the words as are asked for"),
    "locale_filter": N_("no record with these words has a text in this language"),
    "entity_filter": N_("the words stand in records of another kind only"),
    "only_filter": N_("the words stand in records with other values only"),
    "filters": N_("no record that you may see has vectors within the filters"),
    "not_asked": N_("it was not asked for"),
    "no_time": N_("there was no time to find out why"),
}
"""Why a leg found nothing, as the end of a sentence."""
REASONS: Mapping[str, str] = {
    "not_searchable": N_("It is not searchable: a draft, outside its dates, or without a text."),
    "entity_filter": N_("The search looks at records of another kind only."),
    "only_filter": N_("The search looks at records with other values only."),
    "locale_filter": N_("It has no text in the chosen language."),
    "no_words": N_("The question has no word that can be looked for."),
    "no_term": N_("None of the words stands in it."),
    "demands": N_("It does not have what is required by +, - or quotes."),
    "matching": N_("It has too few of the words for this way of matching."),
    "window": N_("It has words of the question, but 200 others fit better."),
    "no_time": N_("There was no time to find out why. Look for it again."),
}
"""Why a record is not there."""


LEFT_OUT: Mapping[str, str] = {
    "corrections": N_("There was no time to look for other spellings."),
    "facets": N_("There was no time to count the values to narrow by."),
    "explain": N_("There was no time to count all that is told here."),
}
"""What an answer does without, told where it is explained."""


def sentence(code: str) -> str:
    """Why a leg is empty or an answer degraded; a code without a sentence stands for itself."""
    for sentences in (EMPTY, DISABLED, DEGRADED, NOTES):
        if code in sentences:
            return str(gettext(sentences[code]))
    return code
