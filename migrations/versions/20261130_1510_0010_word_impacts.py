"""BM25 in PostgreSQL: what each word weighs in a document, and how many documents have each word.

The weights are made by a trigger, so that they follow the words whoever writes them: this release, the one before it
while both run, or a copy of rows. Documents that stand there already have none until the walk of
`search/engines/postgres_statistics.py` fills them in; they are ranked roughly until then.
"""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0008"

TABLES = """
alter table search_documents add column impacts sparsevec(268435456), add column mean_length real;
alter table search_documents alter column impacts set storage main;
create table word_statistics (
    entity text not null, locale text not null, documents bigint not null default 0, mean_length real,
    counting bigint not null default 0, counting_length bigint not null default 0, primary key (entity, locale));
create table word_walks (
    entity text primary key, position bigint, events bigint not null default -1,
    begun_events bigint not null default -1, finished_at timestamptz);
create table word_stems (
    word text collate "C" not null, entity text not null, locale text not null, documents integer not null default 0,
    counting integer not null default 0, primary key (word, entity, locale)) with (fillfactor = 70);
create table word_forms (
    word text collate "C" not null, entity text not null, locale text not null, documents integer not null default 0,
    counting integer not null default 0, primary key (word, entity, locale)) with (fillfactor = 70);
create index word_stems_entity_idx on word_stems (entity);
create index word_forms_entity_idx on word_forms (entity)
"""

PLACE = """
create function word_place(lexeme text) returns integer language sql immutable strict parallel safe
return 1 + ('x' || left(md5(lexeme), 7))::bit(28)::integer
"""
IMPACTS = """
create function word_impacts(words tsvector, mean real) returns sparsevec
language sql immutable strict parallel safe
begin atomic
    select cast('{' || coalesce(string_agg(i.place || ':' || i.impact, ','), '') || '}/268435456' as sparsevec)
    from (
        select word_place(w.lexeme) as place,
            cast(max(w.often * 2.2 / (w.often + 1.2 * (0.25 + 0.75 * w.length / mean))) as real) as impact
        from (
            select u.lexeme,
                coalesce(cardinality(u.positions), 1) + case when 'A' = any (u.weights) then 0.5 else 0 end as often,
                sum(coalesce(cardinality(u.positions), 1)) over () as length
            from unnest(words) as u (lexeme, positions, weights)
        ) as w
        group by 1 order by 2 desc limit 16000
    ) as i;
end
"""
TRIGGER_FUNCTION = """
create function search_documents_impacts() returns trigger language plpgsql set search_path from current as $$
begin
    new.mean_length := coalesce((select s.mean_length from word_statistics s
        where s.entity = new.entity and s.locale = new.locale), 100);
    new.impacts := word_impacts(new.words, new.mean_length);
    return new;
end $$
"""
TRIGGERS = """
create trigger search_documents_impacts_made before insert on search_documents
    for each row when (new.words is not null) execute function search_documents_impacts();
create trigger search_documents_impacts_remade before update of words on search_documents
    for each row when (new.words is distinct from old.words) execute function search_documents_impacts()
"""


def upgrade() -> None:
    for statement in TABLES.split(";\n"):
        op.execute(statement)
    for statement in (PLACE, IMPACTS, TRIGGER_FUNCTION):
        op.execute(statement)
    for statement in TRIGGERS.split(";\n"):
        op.execute(statement)
