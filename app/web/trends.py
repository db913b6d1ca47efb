"""The geometry of a small trend plot, made on the server: a line of values from 0 to 1 over runs, and its floor. Pure.

Coordinates are those of the plot's own box (`WIDTH` × `HEIGHT`); the template draws them as SVG attributes, so that the
strict content policy holds and a page without scripts shows the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 168
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 10, 22
MOST_POINTS = 60


@dataclass(frozen=True)
class Dot:
    """One run. ``low``: below the floor, drawn as a square rather than as a circle."""

    x: float
    y: float
    value: float
    run: int
    low: bool


@dataclass(frozen=True)
class Tick:
    """A line of the grid and the value that it stands for."""

    y: float
    value: float


@dataclass(frozen=True)
class Trend:
    """A plot. ``line`` is the ``points`` of a polyline; ``floor`` the height of the floor, None without one."""

    line: str
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    floor: float | None
    first: float
    last: float
    lowest: float
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    base: int = HEIGHT - BOTTOM


def trend(points: Sequence[tuple[int, float]], floor: float | None = None) -> Trend | None:
    """The plot of (run, value), oldest first; at most the latest `MOST_POINTS`. None without a value."""
    shown = list(points)[-MOST_POINTS:]
    if not shown:
        return None
    values = [value for _, value in shown]
    low, high = _bounds([*values, *((floor,) if floor is not None else ())])

    def height(value: float) -> float:
        return round(TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    step = (WIDTH - LEFT - RIGHT - 16) / max(len(shown) - 1, 1)
    start = LEFT + 8 if len(shown) > 1 else (LEFT + WIDTH - RIGHT) / 2
    dots = tuple(
        Dot(round(start + n * step, 1), height(value), value, run, floor is not None and value < floor)
        for n, (run, value) in enumerate(shown)
    )
    return Trend(
        line=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        dots=dots,
        ticks=tuple(Tick(height(value), round(value, 2)) for value in (low, (low + high) / 2, high)),
        floor=None if floor is None else height(floor),
        first=values[0],
        last=values[-1],
        lowest=min(values),
    )


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Tenths around the values with some room below; 0 and 1 are the ends where they are rates."""
    low = math.floor(min(values) * 10 - 0.5) / 10
    high = math.ceil(max(values) * 10 - 1e-9) / 10
    if min(values) >= 0:
        low = max(low, 0.0)
    return (low, high) if high > low else (low - 0.1, high + 0.1)
