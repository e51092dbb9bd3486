"""The topology graph against counts done by hand and against the graph with every unit spelled out."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spareopt.decisions import Decisions, ZoneChoice
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.reading import read_instance
from spareopt.topology import (
    ZoneLayout,
    as_data,
    blast_radius,
    build_topology,
    expand,
    totals_below,
    units,
    zone_structure,
)


def instance(racks: int = 6, blocks_per_rack: int = 1, spans: tuple[Any, ...] = (), count: int = 2) -> Instance:
    """A site whose domains span what is asked, in the order given; every fault class has its own rate."""
    return read_instance(
        {
            "schema_version": 1,
            "name": "small",
            "zones": [{"name": "hall", "count": count, "racks": racks}],
            "designs": [
                {
                    "name": "node",
                    "trays_per_block": 3,
                    "gpus_per_tray": 4,
                    "blocks_per_rack": blocks_per_rack,
                    "intra_block_spares": [0, 1],
                    "inter_block_spares": 0,
                }
            ],
            "failures": {
                "tray": {"rate": "1e-3 per h"},
                "rack": {"rate": "1e-4 per h"},
                "software": {"rate": "0.01 per h"},
                "domains": [
                    {"name": f"domain {i}", "spans": s, "rate": f"{i + 2}e-5 per h", "repair": {"hands_on": "5 h"}}
                    for i, s in enumerate(spans)
                ],
            },
            "repair_plans": [{"name": "r", "tray": {"hands_on": "10 h"}, "rack": {"hands_on": "20 h"}}],
            "checkpoint_plans": [
                {"name": "c", "period": "1 h", "save": "1 min", "detection": "0 s", "restart": "6 min"}
            ],
        }
    )


def graph_of(site: Instance, racks: int | None = None) -> nx.DiGraph:
    zone, design = site.zones[0], site.designs[0]
    return build_topology(site, [ZoneLayout(zone.name, zone.count, design, racks or zone.racks[0])])


def by_fault(graph: nx.DiGraph, values: dict[str, int], fault: str) -> list[int]:
    return sorted(values[node] for node, data in graph.nodes(data=True) if data["fault"] == fault)


def node_of(graph: nx.DiGraph, kind: str) -> list[str]:
    return [node for node, data in graph.nodes(data=True) if data["kind"] == kind]


def test_counts_of_a_nested_site_by_hand() -> None:
    """Proves units and blast radius of domains of 2 racks, 4 racks, zone and site, with racks left over.

    2 zones of 7 racks of 2 blocks of 3 trays of 4 GPUs: 24 GPUs a rack, 168 a zone, 336 in all.  Domains of 4: one of
    4 racks and one of 3 in a zone; domains of 2: two in the first, one of 2 and one of 1 in the second.
    If it broke, a fault would take down too much or too little, and Λ would count units that do not exist.
    """
    graph = graph_of(instance(racks=7, blocks_per_rack=2, spans=("2 racks", "4 racks", "zone", "site")))
    number, radius = units(graph), blast_radius(graph)
    assert by_fault(graph, number, "domain 0") == [2, 2, 4]  # one of 1 rack, one of 2 in the partial group, two of 2
    assert by_fault(graph, radius, "domain 0") == [24, 48, 48]
    assert by_fault(graph, number, "domain 1") == [2, 2]
    assert by_fault(graph, radius, "domain 1") == [72, 96]
    assert (by_fault(graph, number, "domain 2"), by_fault(graph, radius, "domain 2")) == ([2], [168])
    assert (by_fault(graph, number, "domain 3"), by_fault(graph, radius, "domain 3")) == ([1], [336])
    assert sum(number[node] for node in node_of(graph, "rack")) == 14
    assert sum(number[node] for node in node_of(graph, "block")) == 28
    assert sum(number[node] for node in node_of(graph, "tray")) == 84
    assert {radius[node] for node in node_of(graph, "rack")} == {24}
    assert {radius[node] for node in node_of(graph, "block")} == {12}
    assert {radius[node] for node in node_of(graph, "tray")} == {4}
    assert radius["site"] == 336 and number["site"] == 1
    assert totals_below(graph, "rack")["site"] == 14
    assert totals_below(graph, "tray")["site"] == 84


def test_nested_domains_hang_in_the_right_order() -> None:
    """Proves the chain site > site domain > zone > zone domain > 4 racks > 2 racks > rack > block > tray, as a tree.

    The domains are stated in the opposite order.  If it broke, a narrow domain would take down a wide one.
    """
    graph = graph_of(instance(racks=8, spans=("2 racks", "4 racks", "zone", "site")))
    assert nx.is_arborescence(graph)
    (tray,) = node_of(graph, "tray")
    path = nx.shortest_path(graph, "site", tray)
    kinds = [(graph.nodes[node]["kind"], graph.nodes[node]["fault"]) for node in path]
    assert kinds == [
        ("site", None),
        ("domain", "domain 3"),
        ("zone", None),
        ("domain", "domain 2"),
        ("domain", "domain 1"),
        ("domain", "domain 0"),
        ("rack", "rack"),
        ("block", None),
        ("tray", "tray"),
    ]
    assert [graph.edges[edge]["count"] for edge in itertools.pairwise(path)] == [1, 2, 1, 2, 2, 2, 1, 3]


def test_two_domains_of_one_blast_radius() -> None:
    """Proves that domains that span the same racks (cooling and a power feed) hang one below the other.

    If it broke, one of the two would be lost or would cover other racks.
    """
    graph = graph_of(instance(racks=5, spans=("2 racks", "2 racks", "zone", "zone")))
    assert nx.is_arborescence(graph)
    number = units(graph)
    assert by_fault(graph, number, "domain 0") == by_fault(graph, number, "domain 1") == [2, 4]
    assert by_fault(graph, number, "domain 2") == by_fault(graph, number, "domain 3") == [2]


def test_a_domain_wider_than_the_zone() -> None:
    """Proves that a domain of more racks than a zone has takes down that zone, and no other.

    If it broke, such a domain would vanish or couple zones.
    """
    site = instance(racks=3, spans=("8 racks",))
    graph = graph_of(site)
    assert (by_fault(graph, units(graph), "domain 0"), by_fault(graph, blast_radius(graph), "domain 0")) == ([2], [36])
    assert zone_structure(site, site.zones[0], site.designs[0], 3).independent_blocks


@st.composite
def sites(draw: st.DrawFn) -> Instance:
    widths = draw(st.sampled_from([(), (2,), (3,), (2, 4), (2, 6), (3, 3, 6), (1, 2, 8)]))
    spans = [f"{width} racks" for width in widths]
    spans += draw(st.sampled_from([[], ["zone"], ["site"], ["zone", "site", "zone"]]))
    spans = draw(st.permutations(spans))
    return instance(draw(st.integers(1, 17)), draw(st.integers(1, 3)), tuple(spans), draw(st.integers(1, 3)))


@settings(max_examples=60, deadline=None)
@given(sites())
def test_every_unit_spelled_out(site: Instance) -> None:
    """Proves that the graph with a node per unit has sum(units) nodes, the same totals and radii, and is a tree.

    If it broke, the compact graph would not be the site that it stands for.
    """
    graph = graph_of(site)
    whole = expand(graph)
    number = units(graph)
    assert len(whole) == sum(number.values())
    assert nx.is_arborescence(whole)
    assert set(units(whole).values()) == {1}
    seen: dict[str, int] = {}
    radius, radius_whole = blast_radius(graph), blast_radius(whole)
    for node, data in whole.nodes(data=True):
        seen[data["type"]] = seen.get(data["type"], 0) + 1
        assert radius_whole[node] == radius[data["type"]]
        assert {key: data[key] for key in ("kind", "fault", "rate")} == {
            key: graph.nodes[data["type"]][key] for key in ("kind", "fault", "rate")
        }
    assert seen == number
    for kind in ("rack", "block", "tray", "domain"):
        assert totals_below(whole, kind)["site"] == totals_below(graph, kind)["site"]
    assert whole.graph == graph.graph


@settings(max_examples=60, deadline=None)
@given(sites())
def test_domains_cover_their_racks(site: Instance) -> None:
    """Proves that the domains of each span hold every rack of a zone exactly once, ⌈racks/span⌉ of them.

    If it broke, some racks would be free of a domain or under two of its units.
    """
    zone, design = site.zones[0], site.designs[0]
    racks = zone.racks[0]
    structure = zone_structure(site, zone, design, racks)
    assert (structure.blocks, structure.trays_per_block) == (racks * design.blocks_per_rack, 3)
    assert structure.tray_rate == pytest.approx(1e-3)
    for domain in site.failures.domains:
        mine = [unit for unit in structure.domains if unit.fault == domain.name]
        if domain.spans == "site":
            assert not mine
            continue
        width = racks if domain.spans == "zone" else int(domain.spans)
        assert sum(unit.units for unit in mine) == -(-racks // width)
        assert sum(unit.units * unit.blocks for unit in mine) == structure.blocks
        assert max(unit.blocks for unit in mine) == min(width, racks) * design.blocks_per_rack
        assert [unit.rate for unit in mine] == [domain.per_hour] * len(mine)
    shared = [unit for unit in structure.domains if 1 < unit.blocks < structure.blocks]
    assert structure.independent_blocks is (not shared)


def decide(site: Instance, intra: int, inter: int) -> Decisions:
    zone = site.zones[0]
    choice = ZoneChoice(
        zone=zone.name, count=zone.count, design=site.designs[0].name, racks=zone.racks[0],
        intra_block_spares=intra, inter_block_spares=inter, repair_plan="r",
    )  # fmt: skip
    return Decisions(zones=(choice,), checkpoint_plan="c")


@settings(max_examples=40, deadline=None)
@given(sites(), st.integers(0, 2))
def test_rate_without_spare_blocks_is_read_from_the_graph(site: Instance, intra: int) -> None:
    """Proves Λ, with no spare blocks, as the sum over all nodes of units × rate, trays in use only, plus software.

    If it broke, the evaluator would charge other units than the graph shows.
    """
    graph = graph_of(site)
    number = units(graph)
    rate = graph.graph["software_rate"]
    for node, data in graph.nodes(data=True):
        rate += number[node] * data["rate"] * ((3 - intra) / 3 if data["kind"] == "tray" else 1)
    result = evaluate(site, decide(site, intra, 0))
    assert result.interruption_rate_per_h == pytest.approx(rate, rel=1e-12)
    assert result.gpus == blast_radius(graph)["site"]


def test_rate_with_spare_blocks_is_within_what_the_graph_allows() -> None:
    """Proves Λ between the trays in use alone and those plus every domain; racks of one block give exactly (L−R)/L.

    If it broke, spares would interrupt the job, or working racks would not.
    """
    site = instance(racks=8, blocks_per_rack=1, spans=("zone", "site"), count=1)
    rate = evaluate(site, decide(site, 1, 3)).interruption_rate_per_h
    assert rate == pytest.approx(0.01 + 2e-5 + 3e-5 + 5 * (2 * 1e-3 + 1e-4), rel=1e-12)
    site = instance(racks=8, blocks_per_rack=2, spans=("2 racks", "site"), count=1)
    rate = evaluate(site, decide(site, 1, 3)).interruption_rate_per_h
    trays = 0.01 + 3e-5 + 13 * 2 * 1e-3
    # 13 blocks of 16 touch 7 of the 8 racks at least, and all 4 domains of 4 blocks
    assert trays + 7 * 1e-4 + 4 * 2e-5 <= rate * (1 + 1e-12) and rate <= trays + 8 * 1e-4 + 4 * 2e-5


@pytest.mark.parametrize("name", ["h100-100k", "meta-2026", "gb200-4x256", "tpu-like"])
def test_large_sites_stay_small_graphs(name: str) -> None:
    """Proves that a site of 100,000 GPUs is fewer than 30 nodes, domains of all kinds included, with exact totals.

    If it broke, evaluating thousands of candidates would walk millions of nodes.
    """
    spans = ("4 racks", "32 racks", "zone", "site")
    domains = [
        {"name": f"domain {i}", "spans": span, "mtbf": "1e5 h", "repair": {"hands_on": "5 h"}}
        for i, span in enumerate(spans)
    ]
    site = read_instance(name, overrides={"failures.domains": domains})
    zone, design = site.zones[0], site.designs[0]
    racks = zone.racks[0]
    graph = graph_of(site)
    assert len(graph) < 30
    gpus = zone.count * racks * design.blocks_per_rack * design.trays_per_block * design.gpus_per_tray
    assert blast_radius(graph)["site"] == gpus
    number = units(graph)
    assert sum(by_fault(graph, number, "domain 0")) == zone.count * -(-racks // 4)
    assert sum(by_fault(graph, number, "domain 1")) == zone.count * -(-racks // 32)
    assert len(as_data(graph)["nodes"]) == len(graph)
    if name == "h100-100k":
        assert gpus == 100_000


def test_zones_of_two_kinds() -> None:
    """Proves that zones of other designs and sizes stand side by side, also two parts of one class built alike.

    If it broke, mixed plans would lose zones.
    """
    site = instance(racks=4, spans=("2 racks",))
    design = site.designs[0]
    graph = build_topology(
        site, [ZoneLayout("hall", 1, design, 4), ZoneLayout("hall", 2, design, 3), ZoneLayout("hall", 1, design, 4)]
    )
    assert len(node_of(graph, "zone")) == 3
    assert blast_radius(graph)["site"] == (4 + 2 * 3 + 4) * 12
    assert np.sum(by_fault(graph, units(graph), "domain 0")) == 2 + 2 * 2 + 2


def test_plain_data_of_a_graph() -> None:
    """Proves the exported graph: a row per node with its units and blast radius, an edge per pair with its count.

    If it broke, what ``spareopt`` shows of the topology would differ from what it evaluates.
    """
    graph = graph_of(instance(racks=3, spans=("zone",)))
    data = as_data(graph)
    assert data["software_rate_per_h"] == pytest.approx(0.01)
    rows = {row["kind"]: row for row in data["nodes"]}
    assert (rows["tray"]["units"], rows["tray"]["blast_radius_gpus"], rows["tray"]["rate_per_h"]) == (18, 4, 1e-3)
    assert (rows["domain"]["units"], rows["domain"]["blast_radius_gpus"]) == (2, 36)
    assert sorted(edge["count"] for edge in data["edges"]) == [1, 1, 2, 3, 3]
