"""The pictures of a report: what is drawn, said to those who can't see it, and given as numbers beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from spareopt.binding import Binds
from spareopt.efficient import Frontier
from spareopt.exposure import Tornado
from spareopt.instance import Instance
from spareopt.marginal import MarginalValues
from spareopt.near_result import NearOptimal
from spareopt.plan import Plan
from spareopt.reports.analyses import InScenario
from spareopt.reports.parts import Picture
from spareopt.simulation.result import Simulation
from spareopt.wording import objective_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _figure(draw: Callable[[], Axes | Figure | None]) -> Callable[[], Figure]:
    """The figure of what is drawn."""

    def drawn() -> Figure:
        found: Any = draw()
        assert found is not None, "a picture is only asked for where there is something to draw"
        whole: Figure = getattr(found, "figure", found)
        return whole

    return drawn


def losses_picture(plan: Plan) -> Picture:
    """Where all GPU-hours go."""

    def draw() -> Axes:
        from spareopt.drawings.losses import waterfall  # noqa: PLC0415

        return waterfall(plan.evaluation)

    alt = "Waterfall from all GPU-hours down to the useful ones, loss by loss"
    return Picture("losses", alt, _figure(draw), plan.evaluation.losses_table())


def limits_picture(plan: Plan, binds: Sequence[Binds]) -> Picture:
    """How much of each limit the plan uses, and which of them bind, where that is known."""

    def draw() -> Axes:
        from spareopt.drawings.limits import use  # noqa: PLC0415

        return use(plan.evaluation, binds=binds)

    alt = "A bar for each limit: how much of it the plan uses"
    return Picture("limits", alt, _figure(draw), plan.evaluation.limits_table())


def money_picture(plan: Plan, instance: Instance, data: pd.DataFrame) -> Picture:
    """What the plan costs a year, by what it is paid for."""

    def draw() -> Axes | None:
        from spareopt.drawings.money import split  # noqa: PLC0415

        return split(plan, instance)

    alt = "Bars for what the plan costs per year, by what is paid for"
    return Picture("cost", alt, _figure(draw), data)


def power_picture(plan: Plan, instance: Instance, data: pd.DataFrame) -> Picture:
    """What draws the power."""

    def draw() -> Axes | None:
        from spareopt.drawings.power import split  # noqa: PLC0415

        return split(plan, instance)

    alt = "Bars that build up from working trays to the power of the site"
    return Picture("power", alt, _figure(draw), data)


def marginal_picture(result: MarginalValues) -> Picture:
    """What a step of each limit and input is worth."""

    def draw() -> Axes:
        from spareopt.drawings.marginal import bars  # noqa: PLC0415

        return bars(result)

    alt = "A bar for each limit and input: what one step better brings"
    return Picture("marginal", alt, _figure(draw), result.table())


def ladder_picture(near: NearOptimal) -> Picture:
    """The plans nearly as good, best first."""

    def draw() -> Axes:
        from spareopt.drawings.near import ladder  # noqa: PLC0415

        return ladder(near)

    alt = "A row for each plan nearly as good as the best, by its objective"
    return Picture("near-plans", alt, _figure(draw), near.plans_table())


def grid_picture(near: NearOptimal) -> Picture:
    """The best objective with each pair of I and R."""

    def draw() -> Axes:
        from spareopt.drawings.near import grid  # noqa: PLC0415

        return grid(near)

    alt = "A grid of how far the best plan with each number of spare trays and spare blocks is from the best of all"
    rows: list[dict[str, Any]] = [
        {"zone": row.zone} | row.decisions | {"objective": row.value, "change": row.change, "proven": row.proven}
        for row in near.grid
    ]
    return Picture("spares-grid", alt, _figure(draw), pd.DataFrame(rows))


def frontier_picture(curve: Frontier) -> Picture:
    """The efficient frontier."""

    def draw() -> Axes:
        from spareopt.drawings.frontier import curve as draw_curve  # noqa: PLC0415

        return draw_curve(curve)

    alt = f"The most goodput against {curve.of}, point by point"
    return Picture(f"frontier-{curve.of}", alt, _figure(draw), curve.table())


def tornado_picture(result: Tornado) -> Picture:
    """Each uncertain input at both ends."""

    def draw() -> Axes:
        from spareopt.drawings.tornado import bars  # noqa: PLC0415

        return bars(result)

    alt = "Bars for the objective at both ends of each uncertain input, the largest swing first"
    return Picture("tornado", alt, _figure(draw), result.table())


def scenarios_picture(plan: Plan, nominal: float, rows: Sequence[InScenario]) -> Picture:
    """The objective of each scenario beside the nominal one."""
    c, money = plan.certificate, plan.evaluation.currency
    told: list[tuple[str, float | None, str, str]] = [("nominal", nominal, c.unit, "proven")]
    words = [objective_number(c.objective, nominal, money)]
    for row in rows:
        best = None if row.answer.plan is None else row.answer.plan.certificate
        unit = c.unit if best is None else best.unit
        told.append((row.name, None if best is None else best.value, unit, row.answer.status))
        words.append("" if best is None else objective_number(best.objective, best.value, money))

    def draw() -> Axes:
        from spareopt.drawings.scenarios import Row, bars  # noqa: PLC0415

        return bars([Row(*row, text) for row, text in zip(told, words, strict=True)], objective=c.objective)

    alt = "A bar for the best objective in each scenario beside the nominal one"
    columns = ["scenario", "objective", "unit", "status"]
    return Picture("scenarios", alt, _figure(draw), pd.DataFrame(told, columns=columns))


def quarter_picture(simulation: Simulation) -> Picture | None:
    """The simulated quarter as a fan; None where the simulation holds no course of one."""
    course = simulation.quarter_course
    if not course:
        return None

    def draw() -> Axes:
        from spareopt.drawings.quarter import fan  # noqa: PLC0415

        return fan(simulation)

    alt = "The mean goodput so far over the days of a quarter: the bands that most simulated quarters lie in"
    return Picture("quarter", alt, _figure(draw), pd.DataFrame([dict(point) for point in course]))


def topology_picture(plan: Plan, instance: Instance, data: pd.DataFrame) -> Picture:
    """The cluster, block by block."""

    def draw() -> Axes | Figure:
        from spareopt.drawings.topology import cluster  # noqa: PLC0415

        return cluster(instance, plan.decisions)

    alt = "The cluster drawn block by block: working, spare and stranded blocks, trays of a block, fault domains"
    return Picture("topology", alt, _figure(draw), data)
