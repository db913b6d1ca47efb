"""Queries of the crash drill. It is one row of `switch_chunks` in the phase ``drill``: pending until somebody died.

No other work locks that row, so a process marks it as done on a connection of its own while its transaction is open.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

PHASE = "drill"


@dataclass(frozen=True)
class Course:
    """How a drill goes. ``seconds`` since the crash; ``held``: leases of the dead that nobody has taken over yet;
    ``moved``: the ledger was written after the crash."""

    crashed: bool
    seconds: float
    held: int
    moved: bool
    status: str


def arm(session: Session, switch_id: int, point: str) -> None:
    """Let whoever passes ``point`` first in this switch die there."""
    session.execute(
        text("insert into switch_chunks (switch_id, phase, entity, seq) values (:id, :phase, :point, 0)"),
        {"id": switch_id, "phase": PHASE, "point": point},
    )


def armed(connection: Connection) -> tuple[int, str] | None:
    """The open drill as (id, point), when nobody has died in it yet."""
    row = connection.execute(
        text(
            """
            select c.id, c.entity from switch_chunks c join switches s on s.id = c.switch_id
            where c.phase = :phase and c.status = 'pending' and s.status = 'running'
            """
        ),
        {"phase": PHASE},
    ).one_or_none()
    return None if row is None else (int(row[0]), str(row[1]))


def fire(connection: Connection, drill_id: int, holder: str) -> bool:
    """Whether the caller is the one to die: true once. ``holder`` is what its leases' tokens begin with."""
    found = connection.execute(
        text(
            """
            update switch_chunks c set status = 'done', finished_at = clock_timestamp(), error = :holder
            from switches s where c.id = :id and c.status = 'pending' and s.id = c.switch_id
              and (s.status = 'running' or (s.status = 'activated' and c.entity = 'activate.committed'))
            returning c.id
            """
        ),
        {"id": drill_id, "holder": holder},
    ).one_or_none()
    return found is not None


def course(session: Session, switch_id: int) -> Course:
    """How far the drill of a switch has come."""
    row = session.execute(
        text(
            """
            with drill as (select * from switch_chunks where switch_id = :id and phase = :phase)
            select d.status = 'done', coalesce(extract(epoch from clock_timestamp() - d.finished_at), 0),
                (select count(*) from (
                    select lease_token from switches where id = :id
                    union all select lease_token from switch_chunks where switch_id = :id
                    union all select lease_token from index_cursors) t
                where starts_with(lease_token, d.error)),
                coalesce(greatest(s.progress_at, s.finished_at, (select max(greatest(c.progress_at, c.finished_at))
                    from switch_chunks c where c.switch_id = :id and c.phase <> :phase)) > d.finished_at, false),
                s.status
            from drill d join switches s on s.id = d.switch_id
            """
        ),
        {"id": switch_id, "phase": PHASE},
    ).one()
    return Course(bool(row[0]), float(row[1]), int(row[2]), bool(row[3]), str(row[4]))


def violations(session: Session, space_id: int) -> dict[str, int]:
    """What may not be there after an activation, counted: lost, doubled, stale, of another length."""
    row = session.execute(
        text(
            """
            with done as (
                select d.entity, d.record_id, d.locale, count(e.n) as present, max(e."of") as wanted
                from search_documents d left join embeddings e on (e.entity, e.record_id, e.locale) =
                    (d.entity, d.record_id, d.locale) and e.space_id = :space and e.text_hash = d.text_hash
                where d.embeddable and not exists (select 1 from index_events i join index_cursors c
                    on c.consumer = 'serving' where (i.entity, i.record_id) = (d.entity, d.record_id)
                    and (i.xid, i.id) > (c.xid, c.event_id))
                group by 1, 2, 3)
            select count(*) filter (where wanted is null or present < wanted),
                count(*) filter (where present > wanted),
                (select count(*) from embeddings e join search_documents d using (entity, record_id, locale)
                    where e.space_id = :space and e.text_hash <> d.text_hash and not exists (
                        select 1 from index_events i join index_cursors c on c.consumer = 'serving'
                        where (i.entity, i.record_id) = (d.entity, d.record_id)
                          and (i.xid, i.id) > (c.xid, c.event_id))),
                (select count(*) from embeddings e join vector_spaces v on v.id = e.space_id
                    where e.space_id = :space and vector_dims(e.embedding) <> v.dimensions)
            from done
            """
        ),
        {"space": space_id},
    ).one()
    return {name: int(value) for name, value in zip(("lost", "doubled", "stale", "mixed"), row, strict=True)}
