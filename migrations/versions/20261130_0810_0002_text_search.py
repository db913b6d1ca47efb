"""Text search: a configuration per locale, which folds accents where the server can, and trigrams where it can.

`unaccent` and `pg_trgm` are features that are looked for, not assumed: a server without them gets configurations that
stem only, and everything still works. Both are trusted extensions, so the owner of the database may create them.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

EXTENSION = """
do $$ begin
    create extension if not exists {name};
exception when feature_not_supported or undefined_file or insufficient_privilege then
    raise notice 'the extension {name} can not be created; going on without it';
end $$
"""

CONFIGURATION = """
do $$ begin
    if not exists (select from pg_ts_config where cfgname = '{name}' and pg_ts_config_is_visible(oid)) then
        create text search configuration {name} (copy = pg_catalog.{language});
    end if;
    if exists (select from pg_ts_dict where dictname = 'unaccent' and pg_ts_dict_is_visible(oid)) then
        alter text search configuration {name}
            alter mapping for word, hword, hword_part with unaccent, pg_catalog.{language}_stem;
    end if;
end $$
"""


def upgrade() -> None:
    for name in ("unaccent", "pg_trgm"):
        op.execute(EXTENSION.format(name=name))
    for name, language in (("changeover_en", "english"), ("changeover_it", "italian")):
        op.execute(CONFIGURATION.format(name=name, language=language))
