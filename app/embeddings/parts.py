"""Builds the parts of this package from what the container hands in; what other subsystems see of it is contracts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.config import Config
from app.core.contracts.checkpoints import Checkpoint
from app.core.contracts.copies import EngineCopies
from app.core.queue import DEFAULT, EMBEDDINGS, INDEX, SWITCH, JobQueue
from app.core.unit import Unit, Units
from app.embeddings import ledger_store
from app.embeddings.catch_up import CatchUp
from app.embeddings.checkpoints import make_checkpoint, staged
from app.embeddings.chunks import EmbeddingChunks
from app.embeddings.client import ModelServers
from app.embeddings.consumers import SERVING, Consumers
from app.embeddings.drill import Drills
from app.embeddings.dry_run import DryRunEnd
from app.embeddings.health import VectorHealth
from app.embeddings.health_views import HealthViews
from app.embeddings.index_chunks import IndexChunks
from app.embeddings.machine import Machine
from app.embeddings.phases.activate import Activate
from app.embeddings.phases.embeddings import Embeddings
from app.embeddings.phases.indexes import Indexes
from app.embeddings.phases.ports import PhaseStep
from app.embeddings.phases.preflight import Preflight
from app.embeddings.phases.verify import Verify
from app.embeddings.profiles import Profile, Profiles
from app.embeddings.switch import SettingsOfSwitch, Switching, Wakes
from app.embeddings.synchroniser import Synchroniser
from app.embeddings.upkeep import Upkeep
from app.embeddings.views import SwitchViews
from app.embeddings.watchdog import Watchdog


@dataclass
class EmbeddingParts:
    """Everything that runs the vectors; jobs, pages and commands reach it through the container."""

    profiles: Profiles
    servers: ModelServers
    switching: Switching
    machine: Machine
    chunks: EmbeddingChunks
    index_chunks: IndexChunks
    consumers: Consumers
    upkeep: Upkeep
    watchdog: Watchdog
    views: SwitchViews
    drills: Drills
    health: VectorHealth
    health_views: HealthViews

    @property
    def catch_up(self) -> CatchUp:
        """What commands wait for that must not end before texts are embedded."""
        return CatchUp(self.consumers.units, self.upkeep, self.consumers, self.consumers.synchroniser.clock)

    @staticmethod
    def take_tick(session: Session) -> bool:
        """Whether this scheduler may do the tick (one at a time)."""
        return ledger_store.take_tick(session)


def make_wakes(workers: int) -> Wakes:
    """Jobs by name. Chunks wake one job for each worker; the slot tells them apart."""

    def step(unit: Unit, switch_id: int) -> None:
        unit.wake("jobs.embeddings_switch.advance", SWITCH, switch_id=switch_id)

    def chunks(unit: Unit, switch_id: int) -> None:
        for slot in range(workers):
            unit.wake("jobs.embeddings.embed_chunk", EMBEDDINGS, switch_id=switch_id, slot=slot)

    def indexes(unit: Unit, switch_id: int) -> None:
        unit.wake("jobs.embeddings_index.index_chunk", INDEX, switch_id=switch_id)

    def consumer(unit: Unit, name: str) -> None:
        if name == SERVING:
            unit.wake("jobs.index_events.apply_serving", DEFAULT)
        else:
            unit.wake("jobs.embeddings.apply_target", EMBEDDINGS)

    def tidy(unit: Unit) -> None:
        unit.wake("jobs.upkeep.tidy", DEFAULT)

    return Wakes(step, chunks, indexes, consumer, tidy)


def _phases(
    config: Config,
    units: Units,
    synchroniser: Synchroniser,
    checkpoint: Checkpoint,
    wakes: Wakes,
    copies: EngineCopies | None,
) -> dict[str, PhaseStep]:
    def wake_after(unit: Unit) -> None:
        wakes.consumer(unit, SERVING)
        wakes.tidy(unit)

    return {
        "preflight": Preflight(
            units,
            synchroniser,
            checkpoint,
            config.ai_embeddings_index_chunk_size,
            config.ai_embeddings_rag_chunk_size,
        ),
        "embeddings": Embeddings(units, wakes.chunks),
        "indexes": Indexes(units, wakes.indexes, checkpoint, copies, config.ai_embeddings_give_up_seconds),
        "verify": Verify(units, wakes.indexes, wakes.consumer, synchroniser),
        "activate": Activate(checkpoint, wake_after, DryRunEnd(units, wakes.tidy)),
    }


def _slots(config: Config) -> Callable[[Profile], int]:
    """How many workers a profile's server serves at once."""

    def slots(profile: Profile) -> int:
        server = config.servers.get(profile.server)
        return min(config.embeddings_workers, server.slots if server else 1)

    return slots


def build_parts(
    config: Config,
    units: Units,
    queue: JobQueue,
    clock: Clock,
    profiles: Profiles,
    servers: ModelServers,
    settings: SettingsOfSwitch,
    copies: EngineCopies | None = None,
) -> EmbeddingParts:
    """Wire the package; ``copies`` is the engine beside PostgreSQL that keeps copies of the vectors."""
    checkpoint = staged(make_checkpoint(config.changeover_crash_at), units.engine, config.changeover_env)
    wakes = make_wakes(config.embeddings_workers)
    synchroniser = Synchroniser(units, servers, clock, checkpoint)
    give_up = config.ai_embeddings_give_up_seconds
    memory = config.ai_embeddings_index_memory_mb
    phases = _phases(config, units, synchroniser, checkpoint, wakes, copies)
    upkeep = Upkeep(units, profiles, servers, synchroniser, checkpoint, memory, copies)
    return EmbeddingParts(
        profiles=profiles,
        servers=servers,
        switching=Switching(
            units,
            clock,
            profiles,
            servers,
            settings,
            wakes,
            checkpoint,
            config.ai_embeddings_interrupted_seconds,
            _slots(config),
        ),
        machine=Machine(units, phases, checkpoint, give_up, wakes.step),
        chunks=EmbeddingChunks(units, synchroniser, clock, checkpoint, give_up, wakes.step),
        index_chunks=IndexChunks(units, checkpoint, memory, wakes.step, copies, give_up),
        consumers=Consumers(units, synchroniser, checkpoint),
        upkeep=upkeep,
        watchdog=Watchdog(
            queue,
            clock,
            wakes,
            set_up=lambda unit: unit.wake("jobs.upkeep.set_up", DEFAULT),
            indexes=lambda unit: unit.wake("jobs.embeddings_index.build_missing", INDEX),
        ),
        views=SwitchViews(profiles),
        drills=Drills(units, clock),
        health=VectorHealth(
            units,
            clock,
            servers,
            synchroniser,
            upkeep,
            wake_consumer=lambda unit: wakes.consumer(unit, SERVING),
            wake_index=lambda unit, space_id: unit.wake("jobs.embeddings_index.rebuild", INDEX, space_id=space_id),
        ),
        health_views=HealthViews(),
    )
