"""What is where in the slow reference: units up or down, blocks usable or not, in a slot or idle, trays at work."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spareopt.simulation.system import System

NONE = -1


class Layout:
    """The state of a site's units, blocks and slots; at first all are up and the first blocks of a zone in its slots.

    ``choose`` gives the next number, uniform in (0, 1), for the choice of a spare.
    """

    def __init__(self, system: System, choose: Callable[[], float]) -> None:
        self.system, self.choose = system, choose
        self.zones, self.blocks, self.trays = len(system.working), len(system.block_zone), int(system.block_tray[-1])
        self.units = len(system.unit_class)
        domains = range(len(system.domain_needed))
        self.block_of = [block for block in range(self.blocks) for _ in self.trays_of(block)]
        self.domain_of_unit = [d for d in domains for _ in range(*system.domain_unit[d : d + 2])]
        self.blocks_of_domain = [
            sorted(
                block
                for part in range(*system.domain_range[d : d + 2])
                for block in range(system.range_start[part], system.range_stop[part])
            )
            for d in domains
        ]
        self.domains_of_block = [
            [d for d in domains if block in self.blocks_of_domain[d]] for block in range(self.blocks)
        ]

        self.down = [False] * self.units
        self.trays_down = [0] * self.blocks
        self.units_up = [int(n) for n in np.diff(system.domain_unit)]
        self.serviced = [False] * self.blocks  # out of service for its repair
        self.usable = [True] * self.blocks
        self.fewest = self.blocks  # usable at once since the ledger last asked
        self.at_work = [False] * self.trays
        for block in range(self.blocks):
            for tray in self.trays_of(block)[: self.places(block)]:
                self.at_work[tray] = True

        self.slots: list[list[int]] = []  # the block in each slot of a zone
        self.slot_of = [NONE] * self.blocks
        self.holes: list[list[int]] = [[] for _ in range(self.zones)]  # the newest last
        self.idle: list[list[int]] = []
        for zone in range(self.zones):
            blocks = list(range(*system.zone_block[zone : zone + 2]))
            working = int(system.working[zone])
            self.slots.append(blocks[:working])
            self.idle.append(blocks[working:])
            for slot, block in enumerate(self.slots[zone]):
                self.slot_of[block] = slot
        self.standbys = system.warm >= 0
        self.warm = [min(max(0, system.warm), len(idle)) for idle in self.idle]
        self.ready = list(self.warm)  # idle blocks that stand by
        self.waits = [False] * self.zones  # for all its standbys

    def trays_of(self, block: int) -> range:
        """The trays of a block."""
        return range(int(self.system.block_tray[block]), int(self.system.block_tray[block + 1]))

    def places(self, block: int) -> int:
        """How many trays of a block work."""
        return len(self.trays_of(block)) - int(self.system.spare_trays[self.system.block_zone[block]])

    def blocks_below(self, unit: int) -> list[int]:
        """The blocks that a tray or the domain of a feed takes down, in ascending order."""
        if unit < self.trays:
            return [self.block_of[unit]]
        return self.blocks_of_domain[self.domain_of_unit[unit - self.trays]]

    def zone_of(self, unit: int) -> int:
        """The zone of a tray, or of the first block of a domain's unit."""
        return int(self.system.block_zone[self.blocks_below(unit)[0]])

    def in_use(self, unit: int) -> bool:
        """Whether a tray is at work in a block in a slot, or a domain holds such a block."""
        if unit < self.trays and not self.at_work[unit]:
            return False
        return any(self.slot_of[block] != NONE for block in self.blocks_below(unit))

    def struck(self, unit: int) -> tuple[bool, int]:
        """Whether a unit that goes down takes something from the job, and from which replica group."""
        if unit >= self.trays:
            domain = self.domain_of_unit[unit - self.trays]
            if self.units_up[domain] != self.system.domain_needed[domain]:
                return False, NONE
        if not self.in_use(unit):
            return False, NONE
        return True, self.group_of(next(block for block in self.blocks_below(unit) if self.slot_of[block] != NONE))

    def go_down(self, unit: int) -> None:
        """A unit is down; the next idle tray of its block, in cyclic order, takes the place of one at work."""
        self.down[unit] = True
        if unit >= self.trays:
            self.units_up[self.domain_of_unit[unit - self.trays]] -= 1
        else:
            block = self.block_of[unit]
            self.trays_down[block] += 1
            if self.at_work[unit]:
                self.at_work[unit] = False
                trays = list(self.trays_of(block))
                after = trays.index(unit) + 1
                others = [t for t in trays[after:] + trays[:after] if not self.down[t] and not self.at_work[t]]
                for tray in others[:1]:
                    self.at_work[tray] = True
        self.update(self.blocks_below(unit))

    def go_up(self, unit: int) -> None:
        """A unit is up again; a tray is at work if too few are."""
        self.down[unit] = False
        if unit >= self.trays:
            self.units_up[self.domain_of_unit[unit - self.trays]] += 1
        else:
            block = self.block_of[unit]
            self.trays_down[block] -= 1
            self.at_work[unit] = sum(self.at_work[tray] for tray in self.trays_of(block)) < self.places(block)
        self.update(self.blocks_below(unit))

    def update(self, blocks: list[int]) -> None:
        """Take blocks, in ascending order, out of use or back, then fill holes zone by zone."""
        zones = set()
        for block in blocks:
            usable = self._is_usable(block)
            if usable == self.usable[block]:
                continue
            zone, slot = int(self.system.block_zone[block]), self.slot_of[block]
            zones.add(zone)
            self.usable[block] = usable
            if usable:
                self.idle[zone].append(block)
                self.ready[zone] = min(self.warm[zone], self.ready[zone] + 1)
            elif slot != NONE:
                self.slot_of[block], self.slots[zone][slot] = NONE, NONE
                self.holes[zone].append(slot)
            else:
                self._leave_idle(zone, self.idle[zone].index(block))
                self.ready[zone] = min(self.ready[zone], len(self.idle[zone]))
        self.fewest = min(self.fewest, sum(self.usable))
        if not self.standbys:
            for zone in sorted(zones):
                self.fill(zone)

    def fill(self, zone: int) -> None:
        """Fill the holes of a zone with idle blocks, the newest hole first."""
        while self.holes[zone] and self.idle[zone]:
            block = self._leave_idle(zone, math.floor(self.choose() * len(self.idle[zone])))
            slot = self.holes[zone].pop()
            self.slots[zone][slot], self.slot_of[block] = block, slot

    def _is_usable(self, block: int) -> bool:
        domains_up = all(self.units_up[d] >= self.system.domain_needed[d] for d in self.domains_of_block[block])
        enough = self.trays_down[block] <= self.system.spare_trays[self.system.block_zone[block]]
        return domains_up and enough and not self.serviced[block]

    def _leave_idle(self, zone: int, place: int) -> int:
        """Take a block out of a zone's idle ones; the last one takes its place in the list."""
        idle = self.idle[zone]
        block, last = idle[place], idle.pop()
        if block != last:
            idle[place] = last
        return block

    def group_of(self, block: int) -> int:
        """The replica group of a block in a slot: slots (those filled, where groups shrink) are dealt in equal runs."""
        zone, slot, each = int(self.system.block_zone[block]), self.slot_of[block], self.system.groups_per_zone
        if self.system.shrink:
            slot = sum(other != NONE for other in self.slots[zone][:slot])
        return zone * each + slot * each // len(self.slots[zone])

    def placed_groups(self) -> set[int]:
        """The replica groups that have their blocks, where groups shrink."""
        each = self.system.groups_per_zone
        return {
            zone * each + group
            for zone in range(self.zones)
            for group in range((len(self.slots[zone]) - len(self.holes[zone])) * each // len(self.slots[zone]))
        }
