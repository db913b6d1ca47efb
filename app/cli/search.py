"""``flask search``: which engine searches, building its index, and how it stands."""

from __future__ import annotations

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from app.cli.group import CommandGroup
from app.core.errors import Invalid
from app.core.settings.schema import ENGINES, SEARCH_ENGINE
from app.edge.context import container

group = CommandGroup("search", help="The engines of search.")


@group.command("reindex")
@click.option("--engine", type=click.Choice(ENGINES), default="elasticsearch", show_default=True)
def reindex(engine: str) -> None:
    """Build a new index and let it answer once it is complete. After an interruption it goes on where it stood."""
    if engine == "postgres":
        click.echo("PostgreSQL's words are written with each record; there is nothing to rebuild.")
        return
    parts = container()
    if parts.elasticsearch is None:
        raise Invalid("engine.absent")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(entity: str, done: int, total: int) -> None:
            if entity not in tasks:
                tasks[entity] = bar.add_task(entity)
            bar.update(tasks[entity], completed=done, total=total)

        done = parts.elasticsearch.reindex(progress)
    for index in done.indexes:
        click.echo(f"{index} answers now.")
    for one in done.refused:
        click.echo(f"{one.entity} {one.record_id} was left out: Elasticsearch refuses it ({one.kind}).", err=True)
    with parts.units() as unit:
        chosen = parts.settings.value(unit, SEARCH_ENGINE)
    if chosen != engine:
        click.echo(f"Search still uses {chosen}; change that with flask search use elasticsearch.")
    if done.refused:
        raise SystemExit(1)


@group.command("use")
@click.argument("engine", type=click.Choice(ENGINES))
def use(engine: str) -> None:
    """Let ENGINE search. Elasticsearch is refused while its index is not complete and kept up to date."""
    parts = container()
    if engine == "elasticsearch":
        if parts.elasticsearch is None:
            raise Invalid("engine.absent")
        parts.elasticsearch.ready()
    with parts.units() as unit:
        parts.settings.write_system(unit, SEARCH_ENGINE, engine)
    if engine == "postgres" and parts.elasticsearch is not None:
        parts.elasticsearch.stop_following()
    click.echo(f"Search uses {engine} now.")


@group.command("status")
def status() -> None:
    """The chosen engine, and how Elasticsearch's indexes stand beside PostgreSQL."""
    parts = container()
    with parts.units() as unit:
        click.echo(f"engine: {parts.settings.value(unit, SEARCH_ENGINE)}")
    if parts.elasticsearch is None:
        click.echo("elasticsearch: no address")
        return
    state = parts.elasticsearch.state()
    click.echo(f"elasticsearch: {state.version or 'does not answer'}")
    click.echo(f"events waiting: {'not followed' if state.lag is None else state.lag}")
    for one in state.entities:
        built = f", building {one.building} ({one.copied} copied)" if one.building else ""
        index = f"{one.indexed} in {one.index}" if one.index else "no index"
        click.echo(f"{one.entity}: {one.searchable} searchable, {index}{built}")
