"""``flask data``: records from JSON Lines, and the demo's data. No permission is asked: who may run this may do all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from app.cli.group import CommandGroup
from app.container import Container
from app.core.access.actor import ADMINISTRATOR, EDITOR, READER
from app.core.access.models import User
from app.core.access.passwords import verify_password
from app.core.contracts.actor import SYSTEM
from app.core.crud.importing import BATCH, Importer, Tally
from app.core.crud.lines import Source
from app.core.errors import ConfigurationError
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.core.unit import Unit
from app.edge.context import container
from app.local import demo

group = CommandGroup("data", help="Records from files, and the demo's data.")

ADMIN = "admin"


@group.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--entity", "name", type=click.Choice(["cms.contents", "sao.tickets"]), required=True)
@click.option("--locale", type=click.Choice(list(LOCALES)), default=DEFAULT_LOCALE, show_default=True,
              help="The language of lines that don't say theirs.")  # fmt: skip
@click.option("--source", default=None, help="Scopes ids that are unique in their corpus only; default: the folder.")
@click.option("--dry-run", is_flag=True, help="Check every line, write nothing.")
@click.option("--batch", type=click.IntRange(1, 5000), default=BATCH, show_default=True, help="Lines per transaction.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Read so many lines at most.")
def import_lines(
    file: Path, name: str, locale: str, source: str | None, dry_run: bool, batch: int, limit: int | None
) -> None:
    """Load JSON Lines. The same file again changes nothing; exit code 1 when lines were refused."""
    tally = load_file(container(), file, name, locale=locale, source=source, dry_run=dry_run, batch=batch, limit=limit)
    if tally.refused_lines:
        raise click.exceptions.Exit(1)


@group.command("demo")
def demo_data() -> None:
    """The demo's people, contents, tickets and handbook; what is there already stays as it is."""
    parts = container()
    _people(parts)
    for name, path in demo.seed_files().items():
        with parts.units() as unit:
            empty = parts.records.is_empty(unit, name)
        if empty:
            load_file(parts, path, name)
        else:
            click.echo(f"{name}: there are records already, nothing was loaded.")
    _handbook(parts)


def load_file(
    parts: Container,
    file: Path,
    name: str,
    *,
    locale: str = DEFAULT_LOCALE,
    source: str | None = None,
    dry_run: bool = False,
    batch: int = BATCH,
    limit: int | None = None,
) -> Tally:
    """Import one file with its progress and its report on the terminal."""
    scope = source or (file.stem if file.stem != "corpus" else file.resolve().parent.name)
    importer = Importer(parts.registry, parts.bulk, parts.units)
    started = parts.clock.monotonic()
    with file.open("rb") as stream, _progress(file) as progress:
        tally = importer.run(
            stream, SYSTEM, name, Source(scope, locale), batch=batch, limit=limit, dry_run=dry_run, progress=progress
        )
    _report(file, name, tally, dry_run, parts.clock.monotonic() - started)
    return tally


@contextmanager
def _progress(file: Path) -> Iterator[Callable[[int, Tally], None]]:
    """A bar on a terminal; elsewhere one line for every tenth of the file."""
    size = max(file.stat().st_size, 1)
    if sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
                   TimeRemainingColumn())  # fmt: skip
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(file.name, total=size)
            yield lambda end, tally: bar.update(task, completed=end)
        return
    told = 0

    def tell(end: int, tally: Tally) -> None:
        nonlocal told
        if end * 10 // size > told:
            told = end * 10 // size
            click.echo(f"{file.name}: {tally.read} lines read ({end * 100 // size} %)", err=True)

    yield tell


def _report(file: Path, name: str, tally: Tally, dry_run: bool, seconds: float) -> None:
    rate = f", {tally.read / seconds:.0f} lines/s" if seconds > 0 else ""
    click.echo(f"{file.name} → {name}{' (dry run, nothing was written)' if dry_run else ''}")
    click.echo(f"  read       {tally.read} in {seconds:.1f} s{rate}")
    for kind in ("created", "updated", "unchanged"):
        click.echo(f"  {kind:<10} {tally.counts[kind]}")
    if tally.counts["cut"]:
        click.echo(f"  shortened  {tally.counts['cut']} (longer than can be stored)")
    click.echo(f"  refused    {tally.refused_lines}")
    for reason in tally.refused.values():
        lines = ", ".join(str(line) for line in reason.lines) + (", …" if reason.count > len(reason.lines) else "")
        where = f"{reason.error.path}: " if reason.error.path else ""
        click.echo(f"    {reason.count} × {where}{reason.error} (line {lines})")


def _people(parts: Container) -> None:
    """Roles, the administrator, and everybody whom the seed names (they have no password: nobody signs in as them)."""
    with parts.units() as unit:
        parts.access.ensure_roles(unit)
        known = {user.login: user for user in parts.access.everybody(unit)}
        _admin(parts, unit, known.get(ADMIN))
        for person in demo.seed_people():
            if person.login not in known:
                role = EDITOR if person.is_editor else READER
                parts.access.create_user(unit, person.login, None, [role], person.display_name, person.locale)
                click.echo(f"{person.login}: added as {role}")


def _admin(parts: Container, unit: Unit, admin: User | None) -> None:
    """The administrator; a password set in the environment is theirs from now on."""
    password = demo.admin_password(parts.config)
    if admin is None:
        parts.access.create_user(unit, ADMIN, password, [ADMINISTRATOR], "Administrator")
        click.echo(f"{ADMIN}: added" + ("" if password else "; give a password with `flask users password admin`"))
    elif parts.config.changeover_admin_password and password and not verify_password(admin.password_hash, password):
        parts.access.set_password(unit, ADMIN, password)
        click.echo(f"{ADMIN}: has the password of CHANGEOVER_ADMIN_PASSWORD now")


def _handbook(parts: Container) -> None:
    """Bring the documentation to what the files say. Files with a fault are named and left out."""
    if parts.documentation is None:
        click.echo("handbook: the documentation is not installed")
        return
    try:
        report = parts.documentation.index(parts.units)
    except ConfigurationError as error:
        click.echo(f"handbook: {error}")
        return
    click.echo(
        f"handbook: {report.created} created, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.removed} removed"
    )
    for fault in report.faults:
        click.echo(f"  left out {fault.file}: {fault.error}")
