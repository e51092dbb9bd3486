"""Draw where all GPU-hours go: from all of them down to the useful ones, loss by loss."""

from __future__ import annotations

from matplotlib.axes import Axes

from spareopt.drawings.sheet import bar, column, entitle, label_rows, on, rows_height, wrapped
from spareopt.evaluation import Evaluation
from spareopt.pictures import BLUE, GREEN, GREY, ORANGE
from spareopt.score_text import LOSS_NAMES, OPTIONAL_LOSSES
from spareopt.wording import hundredths, listed

SUBJECTS = {
    "blocked": "blocked time takes",
    "lost_work": "lost work takes",
    "group_stalls": "stalls by other groups' faults take",
}
IDLE = ("intra_block_spares", "inter_block_spares", "stranded_blocks")


def waterfall(evaluation: Evaluation, axes: Axes | None = None) -> Axes:
    """A bar for all GPU-hours, for each loss what it takes of those left, and the useful rest; in per cent and GPUs.

    Losses of which there is none are named below.
    """
    losses = evaluation.losses
    kinds = [name for name in LOSS_NAMES if name != "useful"]
    lost = [name for name in kinds if losses[name] > 0]
    none = [LOSS_NAMES[name].partition(" (")[0] for name in kinds if losses[name] == 0 and name not in OPTIONAL_LOSSES]
    names = ["all GPU-hours", *(LOSS_NAMES[name] for name in lost), LOSS_NAMES["useful"]]
    labels = [wrapped(name, 118.0) for name in names]
    with on(axes, rows_height(labels, least=0.3)) as ax:
        shares = [1.0, *(losses[name] for name in lost), losses["useful"]]
        left = 1.0
        texts = []
        for row, (name, words, share) in enumerate(zip(["all", *lost, "useful"], names, shares, strict=True)):
            loss = name in lost
            left -= share if loss else 0.0
            colour = GREY if name == "all" else GREEN if name == "useful" else ORANGE if name in IDLE else BLUE
            texts.append(f"{hundredths(share)}\n{share * evaluation.gpus:,.0f} GPUs")
            says = f"{words}: {hundredths(share)} of all GPU-hours, {share * evaluation.gpus:,.1f} GPUs"
            bar(
                ax, row, 100 * share, left=100 * left if loss else 0.0, colour=colour,
                hatch="////" if name in IDLE else None, says=says,
            )  # fmt: skip
            if row + 1 < len(names):
                ax.plot([100 * left] * 2, [row - 0.31, row + 1.31], color=GREY, lw=0.6, zorder=0.5)
        label_rows(ax, labels)
        column(ax, texts, size=8.0)
        ax.set_xlim(0, 100)
        without = f"\n{wrapped(f'no loss to {listed(none)}', 230.0, 8.0)}" if none else ""
        ax.set_xlabel(f"share of all GPU-hours, %{without}")
        entitle(ax, finding(evaluation))
    return ax


def finding(evaluation: Evaluation) -> str:
    """The useful share, and what takes most of the rest."""
    lost = {name: share for name, share in evaluation.losses.items() if name != "useful"}
    worst = max(lost, key=lost.__getitem__)
    useful = f"{100 * evaluation.losses['useful']:.1f} % of GPU-hours are useful"
    if lost[worst] < 5e-4:
        return useful
    subject = SUBJECTS.get(worst, f"{LOSS_NAMES[worst]} take")
    return f"{useful}; {subject} {100 * lost[worst]:.1f} %"
