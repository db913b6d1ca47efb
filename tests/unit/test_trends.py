"""The geometry of the trend plots."""

from __future__ import annotations

from app.web.trends import BOTTOM, HEIGHT, LEFT, MOST_POINTS, RIGHT, TOP, WIDTH, trend


def test_points_go_from_the_oldest_to_the_newest_inside_the_box() -> None:
    plot = trend([(1, 0.5), (2, 0.75), (5, 1.0)], floor=0.7)
    assert plot is not None
    assert [dot.run for dot in plot.dots] == [1, 2, 5]
    xs, ys = [dot.x for dot in plot.dots], [dot.y for dot in plot.dots]
    assert xs == sorted(xs)
    assert xs[0] >= LEFT
    assert xs[-1] <= WIDTH - RIGHT
    assert ys == sorted(ys, reverse=True)  # a higher value stands higher
    assert min(ys) >= TOP
    assert max(ys) <= HEIGHT - BOTTOM
    assert [dot.low for dot in plot.dots] == [True, False, False]
    assert plot.floor is not None
    assert ys[1] < plot.floor < ys[0]
    assert (plot.first, plot.last, plot.lowest) == (0.5, 1.0, 0.5)


def test_one_run_and_equal_values_have_a_scale() -> None:
    for points in ([(1, 1.0)], [(1, 0.0)], [(1, 0.4), (2, 0.4)]):
        plot = trend(points)
        assert plot is not None
        assert len({tick.y for tick in plot.ticks}) == 3
    assert trend([]) is None


def test_only_the_latest_runs_are_drawn() -> None:
    plot = trend([(n, 0.5) for n in range(MOST_POINTS + 7)])
    assert plot is not None
    assert (len(plot.dots), plot.dots[0].run) == (MOST_POINTS, 7)
