"""The foundation: people, settings, records, documentation, searchable texts, vectors and switches."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None

PEOPLE = """
create table roles (
    id bigserial primary key, name text not null unique, permissions text[] not null default '{}');
create table users (
    id bigserial primary key, login text not null unique, display_name text not null, email text, password_hash text,
    locale text not null default 'en', is_active boolean not null default true,
    needs_approval boolean not null default false, session_version integer not null default 1, tenant_id bigint,
    created_at timestamptz not null default clock_timestamp());
create table user_roles (
    user_id bigint not null references users (id) on delete cascade,
    role_id bigint not null references roles (id) on delete cascade, primary key (user_id, role_id));
create table api_tokens (
    id bigserial primary key, user_id bigint not null references users (id) on delete cascade, name text not null,
    token_hash bytea not null unique, scopes text[] not null,
    created_at timestamptz not null default clock_timestamp(), expires_at timestamptz not null,
    revoked_at timestamptz);
create table sign_in_attempts (
    id bigserial primary key, subject bytea not null, at timestamptz not null default clock_timestamp());
create index sign_in_attempts_subject_idx on sign_in_attempts (subject);
create table settings (
    name text primary key, value jsonb not null, updated_by bigint,
    updated_at timestamptz not null default clock_timestamp());
create table processes (
    name text primary key, kind text not null, queue text, pid integer not null, host text not null,
    started_at timestamptz not null default clock_timestamp(), seen_at timestamptz not null default clock_timestamp(),
    job text, last_error text);
"""

RECORDS = """
create table cms_contents (
    id bigserial primary key, key text unique, category text not null default 'news', author text not null default '',
    status text not null default 'draft', valid_from timestamptz, valid_to timestamptz,
    revision bigint not null default 1, created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(), deleted_at timestamptz);
create table cms_content_translations (
    content_id bigint not null references cms_contents (id) on delete cascade, locale text not null,
    title text not null, body text not null, primary key (content_id, locale));
create table sao_tickets (
    id bigserial primary key, number bigint not null unique, external_id text unique, subject text not null,
    description text not null, locale text not null default 'en', status text not null default 'open',
    priority text not null default 'normal', requester text not null default '', assignee text,
    revision bigint not null default 1, created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(), deleted_at timestamptz);
create table documentation_pages (
    id bigserial primary key, corpus text not null, source text not null, revision bigint not null default 1,
    updated_at timestamptz not null default clock_timestamp(),
    constraint documentation_pages_corpus_source_key unique (corpus, source));
create table documentation_texts (
    page_id bigint not null references documentation_pages (id) on delete cascade, locale text not null,
    title text not null, body text not null, front_matter jsonb not null, content_hash bytea not null,
    primary key (page_id, locale));
"""

DOCUMENTS = """
create table search_documents (
    entity text not null, record_id bigint not null, locale text not null, title text not null, body text not null,
    text_hash bytea not null, embeddable boolean not null, cut boolean not null default false, revision bigint not null,
    words tsvector, identifiers text[] not null default '{}',
    updated_at timestamptz not null default clock_timestamp(), primary key (entity, record_id, locale));
create index search_documents_words_idx on search_documents using gin (words);
create index search_documents_identifiers_idx on search_documents using gin (identifiers);
create table index_events (
    id bigserial primary key, xid xid8 not null default pg_current_xact_id(), entity text not null,
    record_id bigint not null, revision bigint not null, created_at timestamptz not null default clock_timestamp());
create index index_events_xid_id_idx on index_events (xid, id);
create table index_cursors (
    consumer text primary key, space_id integer not null, xid xid8 not null, event_id bigint not null,
    system_identifier text not null, lease_token text, lease_until timestamptz, waiting_since timestamptz,
    moved_at timestamptz);
"""

VECTORS = """
create table vector_spaces (
    id serial primary key, model_key text not null, fingerprint text not null unique, dimensions integer not null,
    similarity text not null, declaration jsonb not null, server_identity text not null, canary vector,
    created_at timestamptz not null default clock_timestamp(), retained_until timestamptz);
create table embeddings (
    entity text not null, record_id bigint not null, locale text not null,
    space_id integer not null references vector_spaces (id), n integer not null, "of" integer not null,
    start integer not null, "end" integer not null, text_hash bytea not null, passage_hash bytea not null,
    embedding vector not null, primary key (entity, record_id, locale, space_id, n),
    constraint embeddings_document_fkey foreign key (entity, record_id, locale)
        references search_documents (entity, record_id, locale) on delete cascade);
alter table embeddings alter column embedding set storage plain;
create table serving (
    id integer primary key constraint serving_one_row_check check (id = 1),
    space_id integer not null references vector_spaces (id), model_key text not null, dimensions integer not null,
    similarity text not null, generation text, suspended_reason text,
    since timestamptz not null default clock_timestamp(), epoch bigint not null default 1);
"""

SWITCHES = """
create table switches (
    id bigserial primary key, kind text not null default 'switch', status text not null, phase text not null,
    mode text not null, from_space_id integer references vector_spaces (id),
    to_space_id integer references vector_spaces (id), from_key text not null, to_key text not null,
    started_by text not null, started_at timestamptz not null default clock_timestamp(),
    progress_at timestamptz not null default clock_timestamp(), phase_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz, retain_days integer not null default 7, epoch bigint not null default 1,
    step bigint not null default 0, lease_token text, lease_until timestamptz, rounds integer not null default 0,
    waiting_since timestamptz, error_code text, error_values jsonb, estimate jsonb not null default '{}',
    actuals jsonb not null default '{}');
create unique index switches_one_open_idx on switches ((true)) where status in ('running', 'failed');
create table switch_chunks (
    id bigserial primary key, switch_id bigint not null references switches (id) on delete cascade,
    phase text not null, entity text not null, seq integer not null, from_id bigint, to_id bigint,
    status text not null default 'pending', epoch bigint, attempt integer not null default 0, lease_token text,
    lease_until timestamptz, backend_pid integer, documents integer not null default 0,
    done integer not null default 0, passages integer not null default 0, error text, started_at timestamptz,
    progress_at timestamptz, finished_at timestamptz,
    constraint switch_chunks_place_key unique (switch_id, phase, entity, seq));
create index switch_chunks_switch_id_phase_status_idx on switch_chunks (switch_id, phase, status);
create table switch_failures (
    id bigserial primary key, space_id integer not null references vector_spaces (id) on delete cascade,
    entity text not null, record_id bigint not null, locale text not null, text_hash bytea not null,
    reason text not null, attempts integer not null default 1, resolution text, note text, resolved_by text,
    first_at timestamptz not null default clock_timestamp(), last_at timestamptz not null default clock_timestamp(),
    constraint switch_failures_text_key unique (space_id, entity, record_id, locale, text_hash),
    constraint switch_failures_document_fkey foreign key (entity, record_id, locale)
        references search_documents (entity, record_id, locale) on delete cascade);
create index switch_failures_document_idx on switch_failures (entity, record_id, locale);
"""


def upgrade() -> None:
    op.execute("create extension if not exists vector")
    for part in (PEOPLE, RECORDS, DOCUMENTS, VECTORS, SWITCHES):
        for statement in part.split(";\n"):
            if statement.strip():
                op.execute(statement)
