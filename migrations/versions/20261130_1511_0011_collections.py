"""Named collections of documentation, their passages, and the files that were left out."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"

STATEMENTS = (
    # What a document is cut into before it is embedded: a list of [offset in the body, headings].
    "alter table search_documents add column parts jsonb not null default '[]'",
    """
    create table documentation_collections (
        name text constraint documentation_collections_pkey primary key,
        audience text not null,
        splitter text not null,
        max_words integer not null,
        delimiter text not null default '',
        locale text not null,
        roots jsonb not null default '[]',
        created_at timestamptz not null default clock_timestamp(),
        constraint documentation_collections_name_check check (name ~ '^[a-z0-9][a-z0-9_-]{0,59}$'),
        constraint documentation_collections_audience_check check (audience in ('user', 'developer', 'shared'))
    )
    """,
    "alter table documentation_pages add column collection text",
    "update documentation_pages set collection = corpus",
    "alter table documentation_pages alter column collection set not null",
    "create index documentation_pages_collection_idx on documentation_pages (collection)",
    "alter table documentation_texts add column splitter text not null default ''",
    "alter table documentation_texts add column file text not null default ''",
    """
    create table documentation_passages (
        page_id bigint not null,
        locale text not null,
        n integer not null,
        breadcrumb text[] not null,
        body text not null,
        start integer not null,
        "end" integer not null,
        page integer,
        constraint documentation_passages_pkey primary key (page_id, locale, n),
        constraint documentation_passages_text_fkey foreign key (page_id, locale)
            references documentation_texts (page_id, locale) on delete cascade
    )
    """,
    """
    create table documentation_faults (
        collection text not null,
        file text not null,
        locale text not null,
        source text not null,
        code text not null,
        "values" jsonb not null,
        kept boolean not null,
        since timestamptz not null default clock_timestamp(),
        constraint documentation_faults_pkey primary key (collection, file)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
