"""The sentence of every error code, in English; `app/translations` holds the Italian ones (gettext, same text).

A sentence says what happened, and what to do. Placeholders are the error's values.
"""

from __future__ import annotations

from collections.abc import Mapping


def N_(text: str) -> str:
    """Mark a sentence for extraction; it is translated where it is shown."""
    return text


SENTENCES: Mapping[str, str] = {
    # configuration
    "configuration.invalid": N_("The configuration can't be used: %(problems)s"),
    # input
    "input.required": N_("This field is needed."),
    "input.unknown_field": N_("There is no field %(field)s here."),
    "input.choice": N_("%(value)s is none of the allowed values: %(allowed)s."),
    "input.type": N_("The value has the wrong form: %(expected)s is expected."),
    "input.too_long": N_("The text is too long: at most %(limit)s characters."),
    "input.invalid": N_("Some of the input is not right; the fields say what."),
    "input.malformed": N_("What was sent can't be read."),
    "input.wrong": N_("The value is not one that fits here."),
    "input.repeated": N_("%(field)s may be given once only."),
    "input.json": N_("The body must be a JSON object."),
    "input.read_only": N_("%(field)s can't be changed here."),
    "input.range": N_("A whole number from %(least)s to %(most)s is expected."),
    "input.too_deep": N_("Groups may stand at most %(limit)s deep inside each other."),
    "input.too_many": N_("Too many at once: at most %(limit)s are allowed."),
    "input.cursor": N_("The cursor belongs to another list: ask for the first page with this filter and order."),
    "input.too_far": N_("Only the first %(limit)s rows can be reached by page number; use the cursor."),
    # access
    "access.sign_in": N_("Sign in first."),
    "access.bad_credentials": N_("User name or password is wrong."),
    "access.token_invalid": N_("The token is unknown; create a new one."),
    "access.token_revoked": N_("The token was revoked on %(date)s; create a new one."),
    "access.token_expired": N_("The token expired on %(date)s; create a new one."),
    "access.user_disabled": N_("This account is disabled; ask an administrator."),
    "access.forbidden": N_("You may not do this: the permission %(permission)s is missing."),
    "access.scope": N_("The token lacks the scope %(scope)s."),
    "access.csrf": N_("The form is out of date or came from another site. Load the page again and send it once more."),
    "access.too_many_requests": N_("Too many requests; go on in %(retry_after)s seconds."),
    "access.throttled": N_("Too many attempts; try again in %(retry_after)s seconds."),
    "access.login_form": N_(
        "A user name starts with a letter or digit and holds only small letters, digits, dot, dash, _ and @ "
        "(64 at most)."
    ),
    "access.login_taken": N_("There is already a user named %(login)s."),
    "access.password_short": N_("The password is too short: at least %(shortest)s characters."),
    "access.user_unknown": N_("There is no user named %(login)s."),
    "access.token_unknown": N_("There is no such token of yours."),
    "access.token_mints": N_("Tokens can't make tokens. Sign in with a browser for that, or use the command line."),
    "access.token_acts": N_("A token can't do this. Sign in with a browser for that."),
    "access.guest": N_("A guest account only reads."),
    "access.guest_administers": N_("A guest can't be an administrator."),
    "access.impersonating": N_(
        "You are viewing the console as somebody else. Stop viewing first; then do it as yourself."
    ),
    "access.not_viewed_as": N_("You can't view the console as yourself or as another administrator."),
    "access.view_ended": N_(
        "You are yourself again: viewing as the other person has ended. Nothing was changed; look at the page again."
    ),
    "access.last_administrator": N_(
        "This is the last administrator who can sign in. Give somebody else the role first. Nothing was changed."
    ),
    "access.above": N_("This person may do more than you; ask an administrator."),
    "access.gives_more": N_("You can't give or take permissions that you don't have in full yourself."),
    "access.needs_approval_here": N_("Your changes need approval; people and roles are changed by those whose don't."),
    "access.condition_json": N_("This is no JSON; look at line %(line)s."),
    "access.password_differs": N_("The two new passwords differ."),
    "access.email_form": N_("This is no e-mail address."),
    "access.password_wrong": N_("This is not your present password."),
    "access.role_unknown": N_("There is no such role."),
    "access.role_taken": N_("There is already a role named %(name)s."),
    "access.role_name_form": N_(
        "The name of a role starts with a small letter and holds only small letters, digits, dash and _ (40 at most)."
    ),
    "access.role_of_system": N_("%(name)s is a role of the system and can't be removed."),
    "access.administrator_fixed": N_("An administrator may do everything; that can't be changed."),
    "access.permission_unknown": N_("There is no permission %(name)s."),
    "access.rule_without_permission": N_(
        "The role does not have the permission %(permission)s that the rule is about."
    ),
    "access.needs_approval": N_("Your changes need approval, which this form can't ask for yet."),
    # repeated requests
    "idempotency.key": N_("A key of 1 to 255 printable ASCII characters is expected."),
    "idempotency.other_body": N_(
        "This was sent before with other content. Send it with a new key, or load the form again."
    ),
    "idempotency.running": N_("The same request is still being worked on; send it again in a moment."),
    # records
    "record.not_found": N_("There is no such record, or you may not see it."),
    "record.unknown_entity": N_("There is no kind of record named %(entity)s."),
    "record.stale": N_("Somebody changed this record meanwhile: you edited revision %(sent)s, it is now %(current)s."),
    "record.revision_needed": N_(
        "Say which revision of the record this change was made on: in the body, or by the header If-Match."
    ),
    "record.out_of_reach": N_(
        "With these values the record would be none that your role reaches any more. Nothing was changed."
    ),
    "record.deleted": N_("This record was deleted; restore it first."),
    "record.read_only": N_("Records of %(entity)s are made from files and can't be changed here."),
    "bulk.too_many": N_("This is about more than %(limit)s records; narrow it down."),
    "bulk.unrestricted": N_("Name the records, or at least one condition."),
    "bulk.ids_or_filter": N_("Name the records or give a filter, not both."),
    "bulk.other_preview": N_("This is not what was previewed. Look at the preview again."),
    "bulk.expired": N_("The preview is older than ten minutes. Look at it again."),
    "bulk.conflict": N_("Of the previewed records %(count)s have changed meanwhile. Nothing was changed; look again."),
    "page.not_found": N_("There is no such page."),
    "page.method": N_("This address can't be used that way."),
    "page.too_large": N_("What was sent is too large."),
    "page.unexpected": N_(
        "Something went wrong on our side. Nothing more was changed; the reference id finds it in the logs."
    ),
    "page.database_away": N_("The database does not answer. Nothing was changed; try again in a moment."),
    # approvals
    "approval.not_found": N_("There is no such change, or you may not see it."),
    "approval.own": N_("You made this change yourself; somebody else has to vote on it."),
    "approval.not_own": N_("Only the person who made this change can edit or withdraw it."),
    "approval.token": N_("Tokens can't vote. Sign in with a browser for that."),
    "approval.guest": N_("Guests can't vote."),
    "approval.impersonator": N_("Nobody can vote in another person's name. Return to your own account first."),
    "approval.hidden": N_("You may not read everything that this change touches, so you can't approve it."),
    "approval.expired": N_("This change has expired; nothing of it was written."),
    "approval.resolved": N_("This change waits for votes no more: it is %(status)s."),
    "approval.edited": N_("The author has edited this change since you looked. Read it again, then vote."),
    "approval.no_values": N_("This change holds no values that could be edited; withdraw it instead."),
    "approval.changes_nothing": N_("With these values nothing would change; withdraw the change instead."),
    "approval.author_gone": N_("The account of the person who made this change is disabled."),
    "approval.record_gone": N_("The record is not there any more."),
    "approval.moved": N_("What it changes was changed by somebody else meanwhile: %(fields)s."),
    # settings
    "setting.unknown": N_("There is no setting named %(name)s."),
    "setting.managed": N_("%(name)s is written by the program and can't be edited."),
    "setting.locked": N_("%(name)s can't be changed now: %(reason)s"),
    # model servers (reasons of ModelServerFailed)
    "server.unreachable": N_("The model server %(server)s can't be reached."),
    "server.timeout": N_("The model server %(server)s did not answer in time."),
    "server.status": N_("The model server %(server)s answered with status %(status)s."),
    "server.too_large": N_("The model server %(server)s refused the size of the request (status %(status)s)."),
    "server.overloaded": N_("The model server %(server)s is overloaded (status %(status)s)."),
    "server.malformed": N_("The model server %(server)s answered something that can't be read."),
    "server.count": N_("The model server %(server)s returned %(got)s vectors for %(sent)s texts."),
    "server.index": N_("The model server %(server)s returned repeated, missing or unknown positions."),
    "server.dimensions": N_("The model server %(server)s returned vectors of %(got)s numbers instead of %(expected)s."),
    "server.not_finite": N_("The model server %(server)s returned a vector with values that are no numbers."),
    "server.zero": N_("The model server %(server)s returned a vector of zeros."),
    "server.norm": N_("The model server %(server)s returned a vector of length %(norm)s where 1 is declared."),
    "server.model": N_("The model server %(server)s answers as %(got)s, but the profile needs %(expected)s."),
    "server.score": N_("The model server %(server)s returned a score that is no number."),
    "server.score_count": N_("The model server %(server)s returned %(got)s scores for %(sent)s texts."),
    "rerank.scores": N_("The second ranking gave %(got)s usable scores for %(sent)s texts."),
    "rerank.other_model": N_("The reranking server answers as %(answered)s, but AI_RERANK_MODEL is %(declared)s."),
    "rerank.wrong_way": N_("The reranking server puts a text that is off the question above its answer."),
    "rerank.no_text": N_("The hits have no text that a second ranking could read."),
    "ai.absent": N_("The AI packages are not installed; search answers by words."),
    # profiles and the start of a switch (seed-facts 2.5, in this order)
    "profile.unknown": N_("There is no embedding model named %(profile)s. Known: %(known)s."),
    "switch.already_active": N_("%(profile)s serves search already; nothing to switch."),
    "switch.being_started": N_("Another switch is being started right now; look at its progress."),
    "switch.not_idle": N_(
        "A switch to %(target)s is %(status)s in phase %(phase)s. Follow it, resume it or abandon it first."
    ),
    "switch.not_configured": N_("%(profile)s has no server: set %(variable)s and restart."),
    "switch.probe_failed": N_("%(profile)s could not be probed: %(reason)s"),
    "switch.dimensions": N_(
        "%(profile)s declares %(declared)s dimensions, but its server returns %(measured)s. Correct the profile."
    ),
    "switch.too_many_dimensions": N_(
        "%(profile)s has %(dimensions)s dimensions; the vector index takes at most %(limit)s."
    ),
    "switch.similarity": N_("%(profile)s declares the similarity %(similarity)s; this engine takes %(accepted)s."),
    "switch.names_no_model": N_("The server of %(profile)s does not say which model it runs."),
    "switch.other_model": N_("The server of %(profile)s runs %(measured)s, but the profile declares %(declared)s."),
    "switch.not_normalised": N_(
        "%(profile)s declares vectors of length 1, but its server returns a length of %(norm)s."
    ),
    "switch.changed_since_preview": N_("The serving model has changed since you looked. Read the new figures first."),
    "switch.nothing_running": N_("There is no switch that is running or has failed."),
    "switch.runs_normally": N_("The switch is running normally; resume acts on one that stands still or has failed."),
    "switch.return_cannot_stop": N_(
        "The way back is being rebuilt and can't be abandoned; it ends with %(target)s serving."
    ),
    "switch.already_activated": N_("%(target)s serves search already. Switch back instead."),
    "switch.choose_documents": N_("Choose at least one document first."),
    "switch.mode": N_("The mode must be side_by_side or in_place."),
    "switch.drill_production": N_("A crash drill is refused where CHANGEOVER_ENV is production."),
    "switch.drill_unattended": N_(
        "A crash drill needs a living process for everything, or the switch could not go on. Missing: %(missing)s."
    ),
    "switch.drill_point": N_("There is no point %(point)s to crash at. Known: %(known)s."),
    "switch.dry_run_mode": N_("A dry run changes nothing that serves, so it goes side by side only."),
    # why a switch failed
    "switch.failed.server_away": N_("The server of %(profile)s has been away for %(since)s seconds."),
    "switch.failed.server_changed": N_("The server of %(profile)s now answers from another model: %(detail)s"),
    "switch.failed.decisions": N_(
        "Documents that could not be embedded and need a decision: %(count)s. Retry them or set them aside."
    ),
    "switch.failed.rounds": N_("After %(rounds)s rounds %(count)s documents are still missing: %(examples)s"),
    "switch.failed.engine_away": N_("Elasticsearch has been away for %(since)s seconds (%(detail)s)."),
    "switch.failed.index": N_("The index of %(entity)s could not be built: %(detail)s"),
    "switch.failed.verify": N_("The check of %(entity)s did not hold: %(detail)s"),
    "switch.failed.disk": N_("There is not enough room: %(needed)s bytes are needed and %(free)s are free."),
    "switch.failed.stalled": N_("Nothing moved for %(seconds)s seconds. Is a worker running for the queue %(queue)s?"),
    "switch.failed.unexpected": N_(
        "The work failed several times for an unexpected reason (%(kind)s); the logs of the workers say more."
    ),
    # vectors
    "vectors.none_serving": N_("No embedding model serves search yet."),
    "vectors.no_server": N_("The server of %(profile)s is not configured."),
    "prune.serving": N_("%(profile)s serves search and can't be pruned."),
    "prune.switch_running": N_("A switch is running or has failed; prune when it has ended."),
    "prune.unknown": N_("There are no rows of %(profile)s."),
    # vector health and failed jobs
    "health.unknown_space": N_("There is no vector space %(space)s."),
    "health.switch_runs": N_(
        "A switch to %(target)s is running: it fills and checks these vectors itself. Repair when it has stopped."
    ),
    "health.resume_switch": N_("The switch to %(target)s has stopped: resume it, and it embeds what is missing."),
    "health.kept": N_(
        "These vectors are kept for the way back and are not renewed; a switch to %(profile)s embeds what they lack."
    ),
    "health.no_index_needed": N_("No search reads the vectors of %(profile)s now, so they need no index."),
    "health.indexes_by_switch": N_("A switch in place has taken the indexes away and rebuilds what is needed itself."),
    "health.sample_first": N_("Compare a sample first. Nothing differs, or nothing was compared yet."),
    "health.server_waits": N_("The server of %(profile)s is busy or away. Nothing was compared; try again later."),
    "job.queue_away": N_("The queue does not answer. The job stays on the list; send it again when it is back."),
    "job.unknown": N_("There is no such failed job; it may have been forgotten meanwhile."),
    # search
    "search.fields_hidden": N_(
        "%(entity)s can't be searched by you: results show its title and texts, and one of these fields is hidden from"
        " you."
    ),
    "search.intent_unreadable": N_("The language model's answer does not say what the question means."),
    "search.plan_unreadable": N_("The language model's answer is no plan for a search."),
    "engine.absent": N_("Elasticsearch has no address: set ELASTICSEARCH_URL."),
    "engine.away": N_("Elasticsearch can't be reached or does not answer in time (%(kind)s)."),
    "engine.busy": N_("Elasticsearch is too busy to take what is sent to it (%(kind)s)."),
    "engine.blocked": N_("Elasticsearch takes no writes: its disk is full or its index is blocked (%(kind)s)."),
    "engine.refused": N_("Elasticsearch refused a request with status %(status)s (%(kind)s)."),
    "engine.not_built": N_("Elasticsearch has no index that is kept up to date (%(kind)s). Build it first."),
    "engine.incomplete": N_("The new index of %(entity)s holds %(got)s records instead of %(expected)s."),
    "engine.switch_open": N_("A switch of the embedding model is open: its indexes are built by it. Wait for its end."),
    "engine.reindex_first": N_("Elasticsearch is not ready: build its index first with flask search reindex."),
    # import
    "import.not_json": N_("The line is not a JSON object."),
    "import.no_title": N_("The line has neither a title nor a text."),
    "import.no_id": N_("The line has no id."),
    "import.not_utf8": N_("The line is not valid UTF-8."),
    "import.line_too_long": N_("The line is longer than %(limit)s bytes."),
    "import.unknown_shape": N_("The line has none of the shapes that can be imported."),
    "import.repeated_key": N_("The id stands in an earlier line already."),
    "import.number_taken": N_("%(reference)s is the number of another ticket."),
    "import.deleted": N_("The record with this id was deleted here; restore it first."),
    # documentation
    "documentation.unknown_audience": N_(
        "%(file)s declares the audience %(audience)s; it must be user, developer or shared. Nothing was indexed."
    ),
    "documentation.unreadable": N_("The file can't be opened."),
    "documentation.not_utf8": N_("The file is not valid UTF-8."),
    "documentation.control_characters": N_("The file holds control characters, so it is no text."),
    "documentation.link_loop": N_("The link leads back to itself or to a folder above it."),
    "documentation.open_fence": N_("The code block that begins in line %(line)s never ends."),
    "documentation.same_source": N_("The file %(file)s gives the same source already."),
    "documentation.too_much_text": N_(
        "The file holds more than %(limit)s characters of text. Divide it into several files."
    ),
    "documentation.no_text": N_("The file holds no text."),
    "documentation.not_extracted": N_("The file can't be read as %(kind)s."),
    "documentation.extraction_killed": N_(
        "Reading the file took more than %(seconds)s s or %(megabytes)s MB and was ended."
    ),
    "documentation.splitter": N_("The splitter needs %(field)s: %(expected)s."),
    "documentation.collection_name": N_(
        "%(name)s is no name for a collection: it takes a to z, digits, hyphens and underscores, and not the names of "
        "the handbook's corpora."
    ),
    "documentation.no_collection": N_("There is no collection %(name)s."),
    "documentation.mixed_models": N_(
        "The documentation was embedded with %(other)s in part, and %(serving)s serves: both together give answers "
        "that mean nothing. Index it anew, or switch back."
    ),
    "documentation.too_long": N_("The file is longer than %(limit)s bytes. Divide it into several files."),
    "documentation.front_matter": N_("The front matter can't be read as YAML."),
    "documentation.field": N_("The front matter needs %(field)s: %(expected)s."),
    "documentation.no_title": N_("The page has neither a title nor a first heading."),
    "documentation.erase_what": N_("Say whose questions to erase, or which question."),
    "documentation.query_table": N_(
        "The table documentation_queries has another form, see its columns %(columns)s; --force makes it anew and "
        "loses the questions in it."
    ),
    "documentation.query_index": N_(
        "The index %(index)s has another form, see its fields %(fields)s; --force makes it anew and loses the "
        "questions in it."
    ),
    "documentation.not_installed": N_("The documentation is switched off in this installation."),
    "documentation.unavailable": N_(
        "The documentation can't answer now: a page breaks the rules of who may read it. Tell an administrator."
    ),
    "documentation.dataset": N_("The dataset can't be read: %(where)s %(expected)s."),
    "documentation.suite": N_("The suite can't be read: %(where)s %(expected)s."),
    "documentation.baseline": N_("The file is no run that was saved."),
    "documentation.assigned": N_("%(value)s is no METRIC=NUMBER from 0 to 1; the metrics are %(allowed)s."),
    "documentation.source_name": N_(
        "%(source)s can't be the name of a source: up to eight parts divided by /, none that begins with a dot."
    ),
    "documentation.source_kind": N_(
        "%(source)s is no kind of file that is read: Markdown, text, HTML, PDF and docx are, by their endings."
    ),
    "documentation.costly": N_(
        "Embedding this takes about %(tokens)s tokens, more than %(limit)s; send it with force to do it all the same."
    ),
    "evaluation.no_vectors": N_("The passages can't be searched by meaning now (%(reason)s), so nothing was measured."),
    "evaluation.run_unknown": N_("There is no evaluation run %(run)s."),
    "evaluation.no_run_before": N_("There is no run before %(run)s to compare it with."),
}


def sentence(code: str, values: Mapping[str, object], translate: object = None) -> str:
    """The sentence of ``code`` with its values; an unknown code is shown as itself, so that nothing is hidden."""
    template = SENTENCES.get(code, code)
    if callable(translate):
        template = str(translate(template))
    shown = {name: _shown(value, translate) for name, value in values.items()}
    try:
        return template % shown if values else template.replace("%%", "%")
    except (KeyError, TypeError, ValueError):
        return template


def _shown(value: object, translate: object) -> object:
    """An error as a value is its own sentence, in the same language."""
    code, values = getattr(value, "code", None), getattr(value, "values", None)
    return sentence(code, values, translate) if isinstance(code, str) and isinstance(values, Mapping) else value
