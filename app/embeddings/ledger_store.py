"""Queries of the ledger: switches and chunks. Every change of a switch is conditional on its epoch.

A claim is a lease with a token; what a claim does commits ``where epoch = … and step = … and lease_token = …``, so a
worker that was believed dead can do no harm (`product.md`, decision 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql import bindparam

from app.embeddings.leases import SECONDS, Fenced
from app.embeddings.models import Switch, SwitchChunk

TICK_LOCK = 7_201_127
LEASE = f"clock_timestamp() + interval '{SECONDS} seconds'"


@dataclass(frozen=True)
class Claim:
    """The right to take one step of one switch."""

    switch_id: int
    epoch: int
    step: int
    token: str


@dataclass(frozen=True)
class ChunkClaim:
    """The right to work on one chunk."""

    id: int
    switch_id: int
    epoch: int
    token: str
    phase: str
    entity: str
    from_id: int | None
    to_id: int | None
    attempt: int


# --- switches ----------------------------------------------------------------------------------------------------


def open_switch(session: Session) -> Switch | None:
    """The switch that is running or has failed; there is at most one."""
    return session.scalar(
        select(Switch).where(Switch.status.in_(("running", "failed"))).execution_options(populate_existing=True)
    )


def lock_open_switch(session: Session) -> Switch | None:
    """The open switch, locked until the end of the transaction: steps that would commit meanwhile wait."""
    return session.scalar(
        select(Switch)
        .where(Switch.status.in_(("running", "failed")))
        .with_for_update()
        .execution_options(populate_existing=True)
    )


def latest(session: Session) -> Switch | None:
    """The latest switch, whatever became of it."""
    return session.scalar(select(Switch).order_by(Switch.id.desc()).limit(1))


def switch(session: Session, switch_id: int) -> Switch | None:
    """A switch by id, as it stands now."""
    return session.get(Switch, switch_id, populate_existing=True)


def history(session: Session, limit: int = 50) -> Sequence[Switch]:
    """Switches, the latest first."""
    return session.scalars(select(Switch).order_by(Switch.id.desc()).limit(limit)).all()


def claim_step(session: Session, switch_id: int, token: str) -> Claim | None:
    """Take the lease of a running switch, unless somebody holds it."""
    row = session.execute(
        text(
            f"""
            update switches set lease_token = :token, lease_until = {LEASE}
            where id = :id and status = 'running' and (lease_until is null or lease_until < clock_timestamp())
            returning epoch, step
            """
        ),
        {"id": switch_id, "token": token},
    ).one_or_none()
    return None if row is None else Claim(switch_id, row.epoch, row.step, token)


def check_claim(session: Session, claim: Claim) -> None:
    """Before an act that no transaction can take back: raises :class:`Fenced` when the claim no longer holds."""
    held = session.scalar(
        text(
            "select 1 from switches where id = :id and epoch = :epoch and step = :step and lease_token = :token "
            "and status = 'running'"
        ),
        {"id": claim.switch_id, "epoch": claim.epoch, "step": claim.step, "token": claim.token},
    )
    if held is None:
        raise Fenced


def commit_step(session: Session, claim: Claim, values: Mapping[str, Any], *, moved: bool) -> None:
    """Write a step's outcome and give the lease back; raises :class:`Fenced` when the claim no longer holds."""
    columns = dict(values)
    assignments = "".join(f", {name} = :{name}" for name in columns)
    if moved:
        assignments += ", progress_at = clock_timestamp(), step = step + 1, waiting_since = null, troubles = 0"
    statement = text(
        f"""
        update switches set lease_token = null, lease_until = null{assignments}
        where id = :id and epoch = :epoch and step = :step and lease_token = :token and status = 'running'
        """
    )
    json_columns = [name for name in ("error_values", "estimate", "actuals") if name in columns]
    if json_columns:
        statement = statement.bindparams(*(bindparam(name, type_=JSONB) for name in json_columns))
    result: Any = session.execute(
        statement,
        {"id": claim.switch_id, "epoch": claim.epoch, "step": claim.step, "token": claim.token, **columns},
    )
    if result.rowcount == 0:
        raise Fenced


def enter_phase(session: Session, current: Switch, phase: str) -> None:
    """Note when a phase was entered and how long the last one took, for the progress page and the summary."""
    session.execute(
        text(
            """
            update switches set phase_at = clock_timestamp(), actuals = jsonb_set(actuals, '{phases}',
                coalesce(actuals -> 'phases', '{}') || jsonb_build_object(cast(:phase as text),
                    round(coalesce((actuals #>> array['phases', :phase])::numeric, 0)
                        + extract(epoch from clock_timestamp() - phase_at)::numeric, 1)))
            where id = :id
            """
        ),
        {"id": current.id, "phase": current.phase},
    )


def take_tick(session: Session) -> bool:
    """One scheduler at a time does a tick; the lock ends with the transaction."""
    return bool(session.scalar(text(f"select pg_try_advisory_xact_lock({TICK_LOCK})")))


def note_progress(session: Session, switch_id: int) -> None:
    """Progress begins now: a resumed switch is neither interrupted nor stalled for the time before."""
    session.execute(text("update switches set progress_at = clock_timestamp() where id = :id"), {"id": switch_id})


def wait_for_server(session: Session, switch_id: int, epoch: int) -> float:
    """Note that the server is away; returns the seconds for which it has been."""
    seconds = session.scalar(
        text(
            """
            update switches set waiting_since = coalesce(waiting_since, clock_timestamp())
            where id = :id and epoch = :epoch and status = 'running'
            returning extract(epoch from clock_timestamp() - waiting_since)
            """
        ),
        {"id": switch_id, "epoch": epoch},
    )
    if seconds is None:
        raise Fenced
    return float(seconds)


def note_trouble(session: Session, switch_id: int) -> tuple[int, int] | None:
    """Count a job that failed; returns (in a row, epoch) while the switch runs."""
    row = session.execute(
        text(
            "update switches set troubles = troubles + 1 where id = :id and status = 'running' "
            "returning troubles, epoch"
        ),
        {"id": switch_id},
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def trouble_is_over(session: Session, switch_id: int) -> None:
    """Work went well again."""
    session.execute(text("update switches set troubles = 0 where id = :id and troubles > 0"), {"id": switch_id})


def server_is_back(session: Session, switch_id: int) -> None:
    """The server answered again."""
    session.execute(
        text("update switches set waiting_since = null where id = :id and waiting_since is not null"),
        {"id": switch_id},
    )


def fail(session: Session, switch_id: int, epoch: int, code: str, values: Mapping[str, Any]) -> bool:
    """Store a failure from outside a step, if the switch still runs in ``epoch``. The epoch is raised: fenced."""
    statement = text(
        """
        update switches set status = 'failed', error_code = :code, error_values = :values, epoch = epoch + 1,
            lease_token = null, lease_until = null, progress_at = clock_timestamp(), waiting_since = null
        where id = :id and epoch = :epoch and status = 'running'
        """
    ).bindparams(bindparam("values", type_=JSONB))
    result: Any = session.execute(statement, {"id": switch_id, "epoch": epoch, "code": code, "values": dict(values)})
    return bool(result.rowcount)


# --- chunks ------------------------------------------------------------------------------------------------------


def plan_chunks(
    session: Session, switch_id: int, phase: str, entity: str, ranges: Sequence[tuple[int | None, int | None, int]]
) -> None:
    """Store the chunks ``(from, to, documents)`` of one entity; those that stand already go back to pending."""
    for seq, (from_id, to_id, documents) in enumerate(ranges):
        session.execute(
            text(
                """
                insert into switch_chunks (switch_id, phase, entity, seq, from_id, to_id, documents)
                values (:switch, :phase, :entity, :seq, :from_id, :to_id, :documents)
                on conflict on constraint switch_chunks_place_key do update set status = 'pending',
                    lease_token = null, lease_until = null, from_id = excluded.from_id, to_id = excluded.to_id
                """
            ),
            {
                "switch": switch_id,
                "phase": phase,
                "entity": entity,
                "seq": seq,
                "from_id": from_id,
                "to_id": to_id,
                "documents": documents,
            },
        )


def ranges(session: Session, space_id: int, entity: str, size: int) -> list[tuple[int | None, int | None, int]]:
    """Key ranges of ``size`` records; first and last are open, so that every record falls in exactly one."""
    rows = session.execute(
        text(
            """
            with records as (
                select d.record_id,
                    count(*) filter (where d.embeddable and v.present is distinct from v.wanted) as open,
                    (row_number() over (order by d.record_id) - 1) / :size as part
                from search_documents d
                left join lateral (
                    select count(*) as present, max(e."of") as wanted from embeddings e
                    where e.entity = d.entity and e.record_id = d.record_id and e.locale = d.locale
                      and e.space_id = :space and e.text_hash = d.text_hash) v on true
                where d.entity = :entity group by d.record_id)
            select min(record_id), sum(open) from records group by part order by part
            """
        ),
        {"entity": entity, "size": size, "space": space_id},
    ).all()
    starts: list[int | None] = [row[0] for row in rows]
    if not starts:
        return [(None, None, 0)]
    starts[0] = None
    return [(start, end, int(row[1])) for start, end, row in zip(starts, [*starts[1:], None], rows, strict=True)]


def reopen_chunks(session: Session, switch_id: int, phase: str) -> int:
    """Put the chunks of a phase back to pending for another round; returns how many."""
    result: Any = session.execute(
        text(
            "update switch_chunks set status = 'pending', lease_token = null, lease_until = null "
            "where switch_id = :switch and phase = :phase and status <> 'pending'"
        ),
        {"switch": switch_id, "phase": phase},
    )
    return int(result.rowcount)


def reopen_unfinished(session: Session, switch_id: int) -> None:
    """Put chunks that were under way back to pending; done ones stay done."""
    session.execute(
        text(
            "update switch_chunks set status = 'pending', lease_token = null, lease_until = null "
            "where switch_id = :switch and status = 'leased'"
        ),
        {"switch": switch_id},
    )


def drop_chunks(session: Session, switch_id: int, phases: Sequence[str]) -> None:
    """Forget the plan of later phases; they are planned again."""
    session.execute(
        text("delete from switch_chunks where switch_id = :switch and phase = any(:phases)"),
        {"switch": switch_id, "phases": list(phases)},
    )


def claim_chunk(session: Session, switch_id: int, phases: Sequence[str], token: str) -> ChunkClaim | None:
    """Take one pending or overdue chunk of the running switch's phase, or nothing when there is none."""
    row = session.execute(
        text(
            f"""
            with running as (
                select id, epoch, phase from switches where id = :switch and status = 'running' for key share),
            free as (
                select c.id from switch_chunks c join running r on c.switch_id = r.id and c.phase = r.phase
                where c.phase = any(:phases)
                  and (c.status = 'pending' or (c.status = 'leased' and c.lease_until < clock_timestamp()))
                order by c.id limit 1 for update of c skip locked)
            update switch_chunks c set status = 'leased', lease_token = :token, lease_until = {LEASE},
                attempt = attempt + 1, epoch = running.epoch, started_at = coalesce(started_at, clock_timestamp())
            from free, running where c.id = free.id
            returning c.id, c.switch_id, c.epoch, c.phase, c.entity, c.from_id, c.to_id, c.attempt
            """
        ),
        {"switch": switch_id, "phases": list(phases), "token": token},
    ).one_or_none()
    if row is None:
        return None
    return ChunkClaim(
        row.id, row.switch_id, row.epoch, token, row.phase, row.entity, row.from_id, row.to_id, row.attempt
    )


_HELD = """
    with held as (select id from switches where id = :switch and epoch = :epoch and status = 'running' for share)
    update switch_chunks c set done = done + :done, passages = passages + :passages,
        progress_at = clock_timestamp(), {ending}
    from held where c.id = :id and c.switch_id = held.id and c.lease_token = :token and c.epoch = :epoch
"""
_HOLD = text(_HELD.format(ending=f"lease_until = {LEASE}"))
_FINISH = text(
    _HELD.format(
        ending="status = 'done', lease_token = null, lease_until = null, finished_at = clock_timestamp(), error = null"
    )
)


def hold_chunk(
    session: Session, claim: ChunkClaim, *, done: int = 0, passages: int = 0, finished: bool = False
) -> None:
    """In the writing transaction: check that switch and chunk are still ours, and count what this commit writes.

    The shared lock on the switch makes abandon and resume, which raise the epoch, wait for this commit or refuse it.
    """
    result: Any = session.execute(
        _FINISH if finished else _HOLD,
        {
            "id": claim.id,
            "switch": claim.switch_id,
            "token": claim.token,
            "epoch": claim.epoch,
            "done": done,
            "passages": passages,
        },
    )
    if result.rowcount == 0:
        raise Fenced


def release_chunk(session: Session, claim: ChunkClaim, error: str | None = None) -> None:
    """Give a chunk back, for anybody to take."""
    session.execute(
        text(
            "update switch_chunks set status = 'pending', lease_token = null, lease_until = null, error = :error "
            "where id = :id and lease_token = :token"
        ),
        {"id": claim.id, "token": claim.token, "error": error},
    )


def note_backend(session: Session, claim: ChunkClaim, pid: int | None) -> None:
    """Record the backend that builds an index for this chunk, so that a takeover can end it.

    Raises :class:`Fenced` when the switch was abandoned or taken over meanwhile: nothing is built for it any more.
    """
    result: Any = session.execute(
        text(
            "update switch_chunks c set backend_pid = :pid from switches s where c.id = :id and c.lease_token = :token "
            "and s.id = c.switch_id and s.epoch = c.epoch and s.epoch = :epoch and s.status = 'running'"
        ),
        {"id": claim.id, "token": claim.token, "epoch": claim.epoch, "pid": pid},
    )
    if result.rowcount == 0:
        raise Fenced


def backends(session: Session, switch_id: int) -> list[int]:
    """Backends that were recorded for chunks that are not done."""
    rows = session.scalars(
        select(SwitchChunk.backend_pid).where(
            SwitchChunk.switch_id == switch_id, SwitchChunk.backend_pid.is_not(None), SwitchChunk.status != "done"
        )
    )
    return [pid for pid in rows if pid is not None]


def backend_of(session: Session, chunk_id: int) -> int | None:
    """The backend recorded by whoever had this chunk before."""
    return session.scalar(select(SwitchChunk.backend_pid).where(SwitchChunk.id == chunk_id))


@dataclass(frozen=True)
class ChunkTally:
    """Sums over the chunks of one entity in one phase."""

    phase: str
    entity: str
    pending: int
    leased: int
    finished: int
    documents: int
    done: int
    passages: int
    progress_at: datetime | None


def tally(session: Session, switch_id: int) -> list[ChunkTally]:
    """Progress per phase and entity, from the chunk rows alone."""
    rows = session.execute(
        text(
            """
            select phase, entity, count(*) filter (where status = 'pending'), count(*) filter (where status = 'leased'),
                count(*) filter (where status = 'done'), sum(documents),
                sum(case when status = 'done' then greatest(documents, done) else least(documents, done) end),
                sum(passages), max(progress_at)
            from switch_chunks where switch_id = :switch group by phase, entity order by phase, entity
            """
        ),
        {"switch": switch_id},
    )
    return [ChunkTally(*row) for row in rows]


def unfinished(session: Session, switch_id: int, phase: str) -> int:
    """Chunks of a phase that are not done."""
    return int(
        session.scalar(
            text(
                "select count(*) from switch_chunks where switch_id = :switch and phase = :phase and status <> 'done'"
            ),
            {"switch": switch_id, "phase": phase},
        )
        or 0
    )


def step_is_free(session: Session, switch_id: int) -> bool:
    """Whether a running switch's next step is held by nobody."""
    return bool(
        session.scalar(
            text(
                "select 1 from switches where id = :id and status = 'running' "
                "and (lease_until is null or lease_until < clock_timestamp())"
            ),
            {"id": switch_id},
        )
    )


def free_chunks(session: Session, switch_id: int, phase: str) -> int:
    """Chunks of a phase that nobody holds and that are not done."""
    return int(
        session.scalar(
            text(
                "select count(*) from switch_chunks where switch_id = :id and phase = :phase and (status = 'pending' "
                "or (status = 'leased' and lease_until < clock_timestamp()))"
            ),
            {"id": switch_id, "phase": phase},
        )
        or 0
    )


def seconds_without_progress(session: Session, switch_id: int) -> float:
    """Seconds since a step moved, a batch was written or a lease was renewed, on the database's clock."""
    return float(
        session.scalar(
            text(
                f"""
                select extract(epoch from clock_timestamp() - greatest(
                    s.progress_at, s.lease_until - interval '{SECONDS} seconds',
                    (select max(greatest(c.progress_at, c.lease_until - interval '{SECONDS} seconds'))
                        from switch_chunks c where c.switch_id = s.id)))
                from switches s where s.id = :id
                """
            ),
            {"id": switch_id},
        )
        or 0.0
    )
