"""What ``result.plot`` offers: the pictures of a result as methods that return matplotlib axes.

Nothing of matplotlib is loaded before a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spareopt.errors import Fault, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spareopt.binding import Binds
    from spareopt.efficient import Frontier
    from spareopt.evaluation import Evaluation
    from spareopt.exposure import Tornado
    from spareopt.instance import Instance
    from spareopt.marginal import MarginalValues
    from spareopt.near_result import NearOptimal
    from spareopt.plan import Plan
    from spareopt.simulation.result import Simulation
    from spareopt.sweep_result import Sweep


@dataclass(frozen=True)
class EvaluationPlots:
    """Pictures of an evaluation."""

    _evaluation: Evaluation

    def losses(self, axes: Axes | None = None) -> Axes:
        """Where all GPU-hours go, as a waterfall."""
        from spareopt.drawings.losses import waterfall  # noqa: PLC0415 - slow to load

        return waterfall(self._evaluation, axes)

    def limits(self, axes: Axes | None = None, *, binds: Sequence[Binds] = ()) -> Axes:
        """How much of each limit is used; ``binds``: what ``spareopt.what_binds`` says of them."""
        from spareopt.drawings.limits import use  # noqa: PLC0415 - slow to load

        return use(self._evaluation, axes, binds=binds)


@dataclass(frozen=True)
class PlanPlots:
    """Pictures of a plan; some need the instance that it was made from."""

    _plan: Plan

    def losses(self, axes: Axes | None = None) -> Axes:
        """Where all GPU-hours go, as a waterfall."""
        return EvaluationPlots(self._plan.evaluation).losses(axes)

    def limits(self, axes: Axes | None = None, *, binds: Sequence[Binds] = ()) -> Axes:
        """How much of each limit is used; ``binds``: what ``spareopt.what_binds`` says of them."""
        return EvaluationPlots(self._plan.evaluation).limits(axes, binds=binds)

    def topology(self, instance: Instance, axes: Axes | None = None) -> Axes:
        """The cluster with its spare blocks and trays, and what takes what down."""
        from spareopt.drawings.topology import cluster  # noqa: PLC0415 - slow to load

        return cluster(instance, self._plan.decisions, axes, evaluation=self._plan.evaluation)

    def money(self, instance: Instance, axes: Axes | None = None) -> Axes:
        """The cost per year by what it is paid for.  Raises InputError where the cost is not known."""
        from spareopt.drawings.money import split  # noqa: PLC0415 - slow to load

        return _known(split(self._plan, instance, axes), instance, "cost_per_year", "state rack_price of every design")

    def power(self, instance: Instance, axes: Axes | None = None) -> Axes:
        """The power by what draws it.  Raises InputError where it is not known."""
        from spareopt.drawings.power import split  # noqa: PLC0415 - slow to load

        return _known(split(self._plan, instance, axes), instance, "it_power_kw", "state power of every design")


@dataclass(frozen=True)
class FrontierPlots:
    """The picture of an efficient frontier."""

    _frontier: Frontier

    def curve(self, axes: Axes | None = None) -> Axes:
        """Goodput against the resource, point by point."""
        from spareopt.drawings.frontier import curve  # noqa: PLC0415 - slow to load

        return curve(self._frontier, axes)


@dataclass(frozen=True)
class TornadoPlots:
    """The picture of a tornado."""

    _tornado: Tornado

    def bars(self, most: int | None = 10, axes: Axes | None = None) -> Axes:
        """Both plans at both ends of the ``most`` inputs of largest swing; None: of all."""
        from spareopt.drawings.tornado import bars  # noqa: PLC0415 - slow to load

        return bars(self._tornado, most, axes)


@dataclass(frozen=True)
class MarginalPlots:
    """The picture of marginal values."""

    _values: MarginalValues

    def bars(self, axes: Axes | None = None) -> Axes:
        """What a step of each limit and input is worth."""
        from spareopt.drawings.marginal import bars  # noqa: PLC0415 - slow to load

        return bars(self._values, axes)


@dataclass(frozen=True)
class NearPlots:
    """Pictures of the plans that are nearly as good as the best."""

    _near: NearOptimal

    def ladder(self, axes: Axes | None = None) -> Axes:
        """The best plans, and how far each is behind."""
        from spareopt.drawings.near import ladder  # noqa: PLC0415 - slow to load

        return ladder(self._near, axes)

    def grid(self, zone: str | None = None, axes: Axes | None = None) -> Axes:
        """How far the best plan with each I and R of a zone class (the first when left out) is behind."""
        from spareopt.drawings.near import grid  # noqa: PLC0415 - slow to load

        return grid(self._near, zone, axes)


@dataclass(frozen=True)
class SimulationPlots:
    """Pictures of a simulation."""

    _simulation: Simulation

    def fan(self, axes: Axes | None = None) -> Axes:
        """The simulated quarter: the goodput so far by day, how it spreads, and the exact mean."""
        from spareopt.drawings.quarter import fan  # noqa: PLC0415 - slow to load

        return fan(self._simulation, axes=axes)

    def losses(self, axes: Axes | None = None) -> Axes:
        """Where all GPU-hours went, as a waterfall."""
        return EvaluationPlots(self._simulation.evaluation).losses(axes)


@dataclass(frozen=True)
class SweepPlots:
    """Pictures of a sweep."""

    _sweep: Sweep

    def lines(self, axes: Axes | None = None) -> Axes:
        """The objective and the spare blocks along the only axis.  Raises ValueError where there are several."""
        from spareopt.drawings.sweep import lines  # noqa: PLC0415 - slow to load

        return lines(self._sweep, axes)

    def heat(self, axes: Axes | None = None) -> Axes:
        """The objective over two axes.  Raises ValueError where there are not two."""
        from spareopt.drawings.sweep import heat  # noqa: PLC0415 - slow to load

        return heat(self._sweep, axes)


def _known(drawn: Axes | None, instance: Instance, field: str, fix: str) -> Axes:
    if drawn is None:
        raise InputError(instance.name, [Fault(field, f"is not known, so there is nothing to draw; {fix}")])
    return drawn


PLOTS = {
    "Evaluation": EvaluationPlots,
    "Frontier": FrontierPlots,
    "MarginalValues": MarginalPlots,
    "NearOptimal": NearPlots,
    "Plan": PlanPlots,
    "Simulation": SimulationPlots,
    "Sweep": SweepPlots,
    "Tornado": TornadoPlots,
}
"""The pictures of a result, by the name of its class: the modules of all results need not be loaded for one."""


def plots_of(result: Any) -> Any:
    """The pictures of a result, as ``result.plot`` offers them."""
    return PLOTS[type(result).__name__](result)
