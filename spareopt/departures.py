"""What an instance states that only the simulator carries."""

from __future__ import annotations

from collections.abc import Iterator

from spareopt import units
from spareopt.checkpoint_plans import CheckpointPlan
from spareopt.failures import TrayFaults, UnitFaults
from spareopt.instance import Instance
from spareopt.wording import share_text


def departures(instance: Instance, plan: CheckpointPlan | None) -> list[str]:
    """The fields, in words, that the exact and the first-order model score as if they were not stated.

    ``plan`` is the checkpoint plan that the job takes, the only one whose standbys count; None where none is chosen.
    Empty where the models carry all that is stated: a lifetime that is exponential by another name is no departure.
    Fields are named by their path, and items of lists by their name, as in overrides.
    """
    failures = instance.failures
    found = list(_of_units("failures.tray", failures.tray))
    if failures.rack is not None:
        found += _of_units("failures.rack", failures.rack)
    for burst in failures.bursts:
        struck = f"{burst.racks:,} {'rack' if burst.racks == 1 else 'racks'}"
        found.append(f"failures.bursts.{burst.name} ({struck}, {share_text(burst.share)} of their trays)")
    if plan is not None and plan.standbys is not None:
        standbys = plan.standbys
        selection = units.show(standbys.selection, units.TIME)
        found.append(f"checkpoint_plans.{plan.name}.standbys ({standbys.warm:,} warm, selection {selection})")
    return found


def _of_units(path: str, faults: UnitFaults) -> Iterator[str]:
    """What the faults of one kind of unit hold beyond a constant rate."""
    lifetime, lemons, burn_in = faults.lifetime, faults.lemons, faults.burn_in
    if lifetime is not None and not lifetime.exponential:
        weibull = lifetime.law == "weibull"
        law = f"Weibull, shape {lifetime.shape:g}" if weibull else f"lognormal, variation {lifetime.variation:g}"
        yield f"{path}.lifetime ({law})"
    if lemons is not None:
        yield f"{path}.lemons ({share_text(lemons.share)} of the units fail {lemons.multiple:g} times as often)"
    if burn_in is not None:
        duration = units.show(burn_in.duration, units.TIME)
        yield f"{path}.burn_in ({burn_in.multiple:g} times as fast in the first {duration})"
    if isinstance(faults, TrayFaults) and (silent := faults.silent) is not None:
        found_after = units.show(silent.found_after, units.TIME)
        yield f"{path}.silent ({share_text(silent.share)} of the faults, found after {found_after})"
