"""The words of answers and reports that a reader outside capacity planning may not know, each in a sentence or two."""

from __future__ import annotations

WORDS: tuple[tuple[str, str], ...] = (
    (
        "baseline GPU",
        "The unit of goodput: the work of one GPU of speed 1 that never stops. The instance states speeds, by block "
        "size, power limit and zone.",
    ),
    (
        "goodput",
        "The useful work of the whole cluster, in baseline GPUs: all GPUs × CETT × what block size and power limit do "
        "to the speed.",
    ),
    (
        "useful GPU-hours",
        "Goodput times hours: what is left of the GPU-hours paid for once spares, stops, checkpoints and lost work are "
        "taken off, counted in baseline GPUs.",
    ),
    (
        "CETT",
        "Cluster effective training time: the share of all GPU-hours, spares included, in which useful work is done.",
    ),
    (
        "availability",
        "The share of the time in which every zone has the blocks that the job needs; the rest is blocked time.",
    ),
    ("zone", "Blocks under one network among which a spare block can stand in for another."),
    ("block", "Trays that share one scale-up network; a whole rack or a part of one."),
    ("tray", "The smallest unit that is swapped when it fails; it holds a few GPUs."),
    ("K", "Trays of a block, spares included."),
    ("I", "Idle trays of each block: the block stays usable while at most so many of its trays are down."),
    ("R", "Idle blocks of each zone: the job runs while at most so many blocks of a zone are out of use."),
    (
        "stranded",
        "Blocks idle beyond the spares that are wanted, because the job takes blocks in groups of a fixed size only.",
    ),
    (
        "repair plan",
        "How failed units are repaired: how fast, by how many crews, with how many trays on the shelf, at what cost.",
    ),
    (
        "checkpoint plan",
        "How the job saves its state and starts again after a fault: how often, how long each save and restart takes.",
    ),
    ("interruption", "A fault of a working device, or of software, that stops the whole job."),
    ("blast radius", "What one fault takes down."),
    ("bound", "What no plan can pass, whatever it decides."),
    ("gap", "How far the plan is from the bound, as a share: what a longer search could gain at most."),
    ("candidate", "One way to build and run a zone that the search may choose."),
)
"""Words and what they mean, as docs/glossary.md lists them, too."""
