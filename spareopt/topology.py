"""The cluster as a directed graph: site, zones, fault domains, racks, blocks, trays; edges say what takes what down.

Identical children are one node with a ``count`` on the edge, so that 100,000 GPUs stay a dozen nodes;
``expand`` gives every unit its own node.  What a fault costs is read from the graph: the GPUs below a node are
its blast radius, the product of counts above it the number of its units, and units times rate its share of the
interruptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import count as counter
from typing import Any, Literal

import networkx as nx

from spareopt.failures import FaultDomain
from spareopt.instance import BlockDesign, Instance, Zone
from spareopt.numerics.availability import unavailability
from spareopt.numerics.redundancy import equivalent_unit

SITE = "site"


@dataclass(frozen=True)
class ZoneLayout:
    """How a zone (or some of a class of identical zones) is built: a block design and a number of racks."""

    zone: str
    count: int
    design: BlockDesign
    racks: int


def build_topology(instance: Instance, layouts: Iterable[ZoneLayout]) -> nx.DiGraph:
    """The graph of a site whose zones are built as stated.

    Nodes carry ``kind`` (site, zone, domain, rack, block, tray), ``fault`` (the fault class, or None),
    ``rate`` (faults of one unit per hour) and, for trays, ``gpus``; edges carry ``count``.
    """
    graph = nx.DiGraph(software_rate=_rate(instance.failures.software))
    graph.add_node(SITE, kind="site", fault=None, rate=0.0)
    domains = instance.failures.domains
    bottom = _chain(graph, SITE, (domain for domain in domains if domain.spans == "site" and domain.units == 1), SITE)
    for domain in domains:
        if domain.units > 1:  # it cuts across the zones, so that nothing hangs below it: no tree
            node = f"{SITE}/{domain.name}"
            graph.add_node(node, **_domain(domain), share=1.0 / domain.units)
            graph.add_edge(SITE, node, count=domain.units)
    for number, layout in enumerate(layouts):
        name = f"{layout.zone} ({layout.design.name}, {layout.racks} racks)"
        if name in graph:
            name = f"{name} {number}"
        graph.add_node(name, kind="zone", fault=None, rate=0.0)
        graph.add_edge(bottom, name, count=layout.count)
        inner = _chain(graph, name, (domain for domain in domains if domain.spans == "zone"), name)
        spans = sorted((d for d in domains if isinstance(d.spans, int)), key=lambda d: (-_span(d), d.name))
        labels = counter(1)
        _add_racks(graph, inner, 1, layout, spans, instance, f"{name}/", labels)
    return graph


def zone_graph(instance: Instance, zone: Zone, design: BlockDesign, racks: int) -> nx.DiGraph:
    """The graph of one zone of a class, alone under its site."""
    return build_topology(instance, [ZoneLayout(zone.name, 1, design, racks)])


def _domain(domain: FaultDomain) -> dict[str, Any]:
    """The attributes of a domain's node; its rate is that of a unit with its feeds, at the domain's own repair time."""
    data: dict[str, Any] = {"kind": "domain", "fault": domain.name, "rate": domain.per_hour}
    if domain.feeds is not None:
        feeds = (domain.feeds.needed, domain.feeds.number)
        data |= {"rate": equivalent_unit(domain.per_hour, domain.repair.mttr, *feeds)[0]}
        data |= {"feed_rate": domain.per_hour, "feeds": feeds}
    return data


def _rate(faults: Any) -> float:
    return 0.0 if faults is None else float(faults.per_hour)


def _span(domain: FaultDomain) -> int:
    assert isinstance(domain.spans, int)
    return domain.spans


def _chain(graph: nx.DiGraph, top: str, domains: Iterable[FaultDomain], prefix: str) -> str:
    """Hang domains of the same blast radius one below the other; the lowest is returned."""
    for domain in domains:
        node = f"{prefix}/{domain.name}"
        graph.add_node(node, **_domain(domain))
        graph.add_edge(top, node, count=1)
        top = node
    return top


def _add_racks(
    graph: nx.DiGraph,
    parent: str,
    copies: int,
    layout: ZoneLayout,
    spans: list[FaultDomain],
    instance: Instance,
    prefix: str,
    labels: Iterator[int],
    racks: int | None = None,
) -> None:
    """Hang ``racks`` racks below ``parent``, grouped by the domains that span several of them, widest first."""
    racks = layout.racks if racks is None else racks
    if spans:
        domain, rest = spans[0], spans[1:]
        full, partial = divmod(racks, _span(domain))
        for size, number in ((_span(domain), full), (partial, 1 if partial else 0)):
            if number:
                node = f"{prefix}{domain.name} of {size} racks #{next(labels)}"
                graph.add_node(node, **_domain(domain))
                graph.add_edge(parent, node, count=number)
                _add_racks(graph, node, number, layout, rest, instance, prefix, labels, size)
        return
    design, tag = layout.design, f" #{next(labels)}"
    rack, block, tray = (f"{prefix}{kind}{tag}" for kind in ("rack", "block", "tray"))
    graph.add_node(rack, kind="rack", fault="rack", rate=design.relative_rack_rate * _rate(instance.failures.rack))
    graph.add_node(block, kind="block", fault=None, rate=0.0)
    tray_rate = design.relative_tray_rate * _rate(instance.failures.tray)
    graph.add_node(tray, kind="tray", fault="tray", rate=tray_rate, gpus=design.gpus_per_tray)
    graph.add_edge(parent, rack, count=racks)
    graph.add_edge(rack, block, count=design.blocks_per_rack)
    graph.add_edge(block, tray, count=design.trays_per_block)


def totals_below(graph: nx.DiGraph, kind: str, value: str | None = None) -> dict[str, int]:
    """For each node, how many units of ``kind`` hang below one unit of it (or the sum of their attribute ``value``)."""
    totals: dict[str, int] = {}
    for node in reversed(list(nx.topological_sort(graph))):
        data = graph.nodes[node]
        own = (data[value] if value else 1) if data["kind"] == kind else 0
        totals[node] = own + sum(edge["count"] * totals[child] for _, child, edge in graph.out_edges(node, data=True))
    return totals


def blast_radius(graph: nx.DiGraph) -> dict[str, int]:
    """GPUs that one unit of each node takes down when it fails."""
    below = totals_below(graph, "tray", "gpus")
    share = {node: data["share"] for node, data in graph.nodes(data=True) if "share" in data}
    return {node: round(share[node] * below[SITE]) if node in share else gpus for node, gpus in below.items()}


def units(graph: nx.DiGraph) -> dict[str, int]:
    """How many units of each node the site has."""
    result: dict[str, int] = {}
    for node in nx.topological_sort(graph):
        above = [(result[parent], edge["count"]) for parent, _, edge in graph.in_edges(node, data=True)]
        result[node] = sum(number * count for number, count in above) if above else 1
    return result


def expand(graph: nx.DiGraph) -> nx.DiGraph:
    """The same site with a node for every single unit; its size is the sum of ``units``."""
    result = nx.DiGraph(**graph.graph)

    def add(node: str, name: str) -> None:
        result.add_node(name, **graph.nodes[node], type=node)
        for _, child, edge in graph.out_edges(node, data=True):
            for i in range(edge["count"]):
                inner = f"{name}>{child.rsplit('/', 1)[-1]}.{i}"
                add(child, inner)
                result.add_edge(name, inner, count=1)

    add(SITE, SITE)
    return result


@dataclass(frozen=True)
class FaultUnit:
    """A kind of unit in one zone that can fail: how many there are, and how many blocks one of them takes down.

    ``rate`` is that of one of its feeds where it has redundant ones (``feeds``: how many are needed, of how many).
    """

    node: str
    fault: str
    rate: float
    units: int
    blocks: int
    feeds: tuple[int, int] = (1, 1)

    def faults(self, mttr: float) -> tuple[float, float]:
        """Faults of a unit per hour while it is up, and P(it is down), for the mean time to repair (a feed of) it."""
        return _faults(self.rate, mttr, self.feeds)


@lru_cache(maxsize=4096)  # it is the same for every number of racks and of spares
def _faults(rate: float, mttr: float, feeds: tuple[int, int]) -> tuple[float, float]:
    rate, mttr = equivalent_unit(rate, mttr, *feeds) if feeds != (1, 1) else (rate, mttr)
    return rate, float(unavailability(rate, mttr))


@dataclass(frozen=True)
class ZoneStructure:
    """What the evaluators need of one zone, read from its graph.

    All fault rates are ``multiplier`` times those stated; ``charge`` and ``ageing`` are those of the instance.
    """

    graph: nx.DiGraph
    zone: str
    multiplier: float = 1.0
    charge: Literal["domain", "block"] = "domain"
    ageing: Literal["always", "working", "computing"] = "always"

    def at(self, multiplier: float) -> ZoneStructure:
        """The structure with all fault rates multiplied."""
        if multiplier == self.multiplier:
            return self
        other = replace(self, multiplier=multiplier)
        for name in ("_units", "_blocks_below", "blocks", "trays_per_block"):  # what it has in common with this one
            other.__dict__[name] = getattr(self, name)
        return other

    @cached_property
    def _units(self) -> dict[str, int]:
        return units(self.graph)

    @cached_property
    def _blocks_below(self) -> dict[str, int]:
        return totals_below(self.graph, "block")

    @cached_property
    def blocks(self) -> int:
        """L, the blocks of the zone, spares included."""
        return self._blocks_below[self.zone]

    @cached_property
    def trays_per_block(self) -> int:
        """K, the trays of a block, spares included."""
        block = next(node for node, data in self.graph.nodes(data=True) if data["kind"] == "block")
        return sum(edge["count"] for _, _, edge in self.graph.out_edges(block, data=True))

    @cached_property
    def tray_rate(self) -> float:
        """Faults of one tray per hour."""
        rate = next(float(d["rate"]) for _, d in self.graph.nodes(data=True) if d["kind"] == "tray")
        return self.multiplier * rate

    @cached_property
    def domains(self) -> tuple[FaultUnit, ...]:
        """The units above trays in the zone that can fail, racks among them."""
        number = self._units
        below = nx.descendants(self.graph, self.zone)
        return tuple(
            FaultUnit(
                node,
                data["fault"],
                self.multiplier * data.get("feed_rate", data["rate"]),
                number[node],
                self._blocks_below[node],
                data.get("feeds", (1, 1)),
            )
            for node, data in self.graph.nodes(data=True)
            if node in below and data["kind"] in ("domain", "rack") and data["rate"] > 0
        )

    @cached_property
    def independent_blocks(self) -> bool:
        """Whether no fault takes down several blocks without taking down all of them."""
        return all(domain.blocks in (1, self.blocks) for domain in self.domains)


def zone_structure(instance: Instance, zone: Zone, design: BlockDesign, racks: int) -> ZoneStructure:
    """The structure of one zone of a class, from its graph."""
    graph = zone_graph(instance, zone, design, racks)
    node = next(node for node, data in graph.nodes(data=True) if data["kind"] == "zone")
    return ZoneStructure(graph, node, 1.0, instance.failures.charge, instance.failures.ageing)


def as_data(graph: nx.DiGraph) -> dict[str, Any]:
    """The graph as plain data: nodes with units and blast radius, edges with counts."""
    radius, number = blast_radius(graph), units(graph)
    return {
        "software_rate_per_h": graph.graph["software_rate"],
        "nodes": [
            {
                "node": node,
                "kind": data["kind"],
                "fault": data["fault"],
                "rate_per_h": data["rate"],
                "units": number[node],
                "blast_radius_gpus": radius[node],
            }
            for node, data in graph.nodes(data=True)
        ],
        "edges": [{"from": u, "to": v, "count": data["count"]} for u, v, data in graph.edges(data=True)],
    }
