"""What one replication recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ACCOUNTS = ("useful", "saves", "recovery", "lost", "stalls", "planned", "blocked")
"""Where the job's hours go; they sum to the hours recorded."""
LEDGER = (*ACCOUNTS, "usable_block_h", "interruptions", "faults", "episodes", "fewest_usable")
"""Columns of the ledger."""
EPISODE_BINS_PER_OCTAVE, SHORTEST_EPISODE, EPISODE_BINS = 8, 2.0**-10, 256
"""Counts of blocked episodes by length: bin i holds those from SHORTEST_EPISODE * 2^(i/8) h; bin 0 shorter ones."""


class Outcome(NamedTuple):
    """What one replication recorded after its warm-up."""

    ledger: Floats
    """(rows, columns of LEDGER): added up from the end of the warm-up to the end of each bin; the first row is zero.
    ``fewest_usable`` is the smallest number of usable blocks of the site within the bin that ends there."""
    hours: float
    """Hours recorded; fewer than asked where the run ended with the job."""
    unusable_h: Floats
    """Hours with 0, 1, 2, … blocks of the site unusable at once."""
    episodes: Integers
    """Blocked episodes that ended, by length."""
    longest_episode: float
    crew_busy_h: Floats
    """Crew hours on tickets, by group of crews (off duty too, if a ticket waits for the next shift)."""
    crew_tickets: Integers
    crew_wait_h: Floats
    """Hours that tickets waited for a crew, all that got one."""
    part_orders: Integers
    part_wait_h: Floats
    """Hours that trays waited for a part, all that got one."""
    selections: int
    """Host selections."""
    events: int
    """Faults of units and ends of their repairs, warm-up included."""
