"""Draw how much of each limit a plan uses, and which limits bind."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from spareopt.binding import TOUCHED, Binds
from spareopt.drawings.sheet import RED, bar, column, entitle, label_rows, nothing, on, rows_height, wrapped
from spareopt.evaluation import Evaluation
from spareopt.limits import LimitSlack
from spareopt.pictures import BLUE, GREY, ORANGE
from spareopt.score_text import SENSES, limit_name, limit_number
from spareopt.wording import counted, listed

MOST_SHOWN = 1.25
"""Shares of a limit that are shown in full; a limit broken by more has its number only."""


def use(evaluation: Evaluation, axes: Axes | None = None, *, binds: Sequence[Binds] = ()) -> Axes:
    """A bar for each limit: the share of it that is used (of a least value: how much of what there is it asks for).

    ``binds``: what ``spareopt.what_binds`` says of them; without it a limit of which nothing is left is "used up".
    """
    limits = evaluation.limits
    if not limits:
        with on(axes, 0.9) as ax:
            nothing(ax, "The instance sets no limits.")
            entitle(ax, finding(evaluation, binds))
        return ax
    known = {row.limit: row.status for row in binds}
    labels = [f"{limit_words(row)}\n{_amounts(row, evaluation.currency)}" for row in limits]
    labels = ["\n".join(wrapped(line, 150.0) for line in label.split("\n")) for label in labels]
    states = [_state(limit, known.get(limit.limit)) for limit in limits]
    used = [_used(limit) for limit in limits]
    texts = ["\n".join(filter(None, [share, wrapped(state, 62.0)])) for share, state in zip(used, states, strict=True)]
    with on(axes, rows_height([*labels, *texts], rows=len(limits))) as ax:
        for row, (limit, state) in enumerate(zip(limits, states, strict=True)):
            share, tight = used_share(limit), state not in ("", "does not bind")
            colour, hatch = (RED, "xxxx") if limit.violated else (ORANGE, "////") if tight else (BLUE, None)
            bar(
                ax, row, 100 * min(share or 0.0, MOST_SHOWN), colour=colour, hatch=hatch,
                says="; ".join(filter(None, [labels[row].replace("\n", ", "), used[row], state])),
            )  # fmt: skip
        label_rows(ax, labels)
        column(ax, texts, size=8.0)
        ax.axvline(100, color=GREY, lw=1.0)
        most = max([used_share(limit) or 0.0 for limit in limits])
        ax.set_xlim(0, 100 * max(1.02, min(most * 1.02, MOST_SHOWN)))
        ax.set_xlabel("share of the limit that is used, %")
        entitle(ax, finding(evaluation, binds))
    return ax


def used_share(limit: LimitSlack) -> float | None:
    """The share of a limit that a plan uses: 1 where nothing is left, more where it is broken; None of a limit of 0.

    Of a least value, the bound over the value; of a probability, the unavailability over the one that is allowed.
    """
    if limit.limit == "placement_group":
        return None
    if limit.limit.startswith(("availability", "guarantee")):
        allowed = 1.0 - limit.bound
        return (allowed - limit.slack) / allowed if allowed > 0 else None
    part, whole = (limit.value, limit.bound) if limit.sense == "<=" else (limit.bound, limit.value)
    return part / whole if whole else None


def limit_words(limit: LimitSlack) -> str:
    """The name of a limit, with its sense where a quantity may have both."""
    ends = {"working_gpus.minimum": "fewest working GPUs", "working_gpus.maximum": "most working GPUs"}
    return ends.get(limit.limit, limit_name(limit.limit))


def finding(evaluation: Evaluation, binds: Sequence[Binds] = ()) -> str:
    """Which limits bind, or how near the nearest one is."""
    limits = evaluation.limits
    if not limits:
        return "The instance sets no limits"
    broken = [limit for limit in limits if limit.violated]
    if broken:
        return f"The plan BREAKS {counted(len(broken), 'limit')}: {_names(broken)}"
    known = {row.limit: row.status for row in binds}
    if known:
        tight = [row for row in limits if known.get(row.limit, "").startswith("binds")]
        if tight:
            return f"What holds the plan back: {listed(map(_used_words, tight))}"
    else:
        tight = [row for row in limits if _state(row, None) == "used up"]
        if tight:
            return f"Used up: {_names(tight)}"
    shares = {limit: share for limit in limits if (share := used_share(limit)) is not None}
    if not shares:
        return "All limits are kept"
    nearest = _used_words(max(shares, key=shares.__getitem__))
    return f"No limit binds; the nearest is {nearest}" if known else f"Nearest to its limit: {nearest}"


def _used_words(limit: LimitSlack) -> str:
    """A limit with how much of it is used, where that can be told."""
    share = used_share(limit)
    return limit_words(limit) if share is None else f"{limit_words(limit)} ({_percent(share)} used)"


def _names(limits: Sequence[LimitSlack]) -> str:
    return listed(map(limit_words, limits))


def _used(limit: LimitSlack) -> str:
    """How much of a limit is used, or that it is kept; nothing where that can't be told."""
    share = used_share(limit)
    return _percent(share) if share is not None else "" if limit.violated else "kept"


def _state(limit: LimitSlack, known: str | None) -> str:
    if limit.violated:
        return "BROKEN"
    if known not in (None, "not known"):
        return str(known)
    if limit.limit == "placement_group":
        return ""
    return "used up" if abs(limit.slack) <= TOUCHED * abs(limit.bound) else ""


def _amounts(limit: LimitSlack, currency: str) -> str:
    if limit.limit == "placement_group":
        return "only whole ones are used" if not limit.violated else f"{limit.value:,.0f} {limit.unit}"
    show = limit_number(limit.unit, currency)
    return f"{show(limit.value)}, {SENSES[limit.sense]} {show(limit.bound)}"


def _percent(share: float) -> str:
    """A share of a limit; not 100 % where something is left of it."""
    if abs(share - 1.0) <= TOUCHED:
        return "100 %"
    texts = (f"{100 * share:.{digits}f}" for digits in range(1, 7))
    return f"{next(text for text in texts if float(text) != 100.0)} %"
