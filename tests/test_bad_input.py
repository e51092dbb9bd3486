"""Every way to write an instance wrong is refused with one message that says where, what and what was expected."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spareopt.errors import InputError
from spareopt.reading import load_yaml, read_instance

BASE = """\
schema_version: 1
name: small
zones:
  - name: main
    count: 2
    racks: {from: 8, to: 12}
designs:
  - name: rack-18
    trays_per_block: 18
    gpus_per_tray: 4
    intra_block_spares: {from: 0, to: 3}
    inter_block_spares: [0, 1, 2]
    rack_price: 3.9 M$
    power:
      gpu_full_limit: 1200 W
      gpu_limits: [1000 W, 1200 W]
      tray_other: 1.867 kW
      tray_idle: 1 kW
      rack_rest: 3.6 kW
failures:
  tray: {mtbf: 20000 h}
  rack:
    rate: 1e-4 per h
    lifetime: {law: weibull, shape: 0.7}
    lemons: {share: 0.02, multiple: 10}
    burn_in: {duration: 30 days, multiple: 3}
  software: {rate: 0.5 per day}
  domains:
    - {name: cooling, spans: 4 racks, mtbf: 50000 h, repair: {hands_on: 8 h}}
    - {name: feed, spans: zone, mtbf: 80000 h, repair: {hands_on: 4 h}}
  bursts:
    - {name: surge, rate: 2 per year, racks: 4, share: 0.5}
    - {name: spike, mtbf: 5000 h, racks: 1, share: 1}
repair_plans:
  - name: slow
    tray: {hands_on: 2 h, off_crew: 100 h}
    rack: {hands_on: 5 h}
    yearly_cost: 0.1 M$ per year
  - name: fast
    tray: {hands_on: 2 h}
    rack: {hands_on: 5 h}
    domains: {cooling: {hands_on: 6 h}}
    yearly_cost: 0.5 M$ per year
checkpoint_plans:
  - name: given
    period: 10 min
    save: 10 s
    detection: 60 s
    restart: 5 min
  - name: best
    period: best
    save: 10 s
    detection: 60 s
    restart: 5 min
    standbys: {warm: 2, selection: 10 min}
hardware_scale:
  power_table:
    - {limit: 0.5, scale: 0.75}
    - {limit: 1, scale: 1}
llm_scale:
  reference_gpus: 72
  table: {8: 1.0, 72: 1.4}
power:
  rack_limit: 120 kW
  energy_price: 0.066 $ per kWh
economics:
  amortisation: 4 years
limits:
  capital: 100 M$
  working_gpus: {minimum: 1000}
objective:
  kind: goodput
job:
  useful_gpu_hours: 1000000
scenarios:
  cut:
    overrides: {limits.capital: 0.9x}
"""


@dataclass(frozen=True)
class Case:
    """A broken instance: the base with ``old`` replaced by ``new``, and what the message must hold."""

    id: str
    old: str
    new: str
    where: str
    """The field the message must name."""
    expect: tuple[str, ...]
    at: str | None = None
    """Text of the line the message must point to; the first line of ``new`` when left out, none when empty."""
    options: dict[str, Any] = field(default_factory=dict)


MTBF = "mtbf: 20000 h"
RACKS = "racks: {from: 8, to: 12}"
INTRA = "intra_block_spares: {from: 0, to: 3}"
INTER = "inter_block_spares: [0, 1, 2]"
PERIOD = "period: 10 min"
COUNT = "    count: 2"
NAME = "name: small"
DOMAIN = "    - {name: feed, spans: zone, mtbf: 80000 h, repair: {hands_on: 4 h}}"
TABLE = "    - {limit: 0.5, scale: 0.75}"
PRICE = "0.066 $ per kWh"
CUT = "overrides: {limits.capital: 0.9x}"
LAW = "    lifetime: {law: weibull, shape: 0.7}"
LEMONS = "    lemons: {share: 0.02, multiple: 10}"
BURN_IN = "    burn_in: {duration: 30 days, multiple: 3}"
SILENT = "  tray: {mtbf: 20000 h}"
SURGE = "    - {name: surge, rate: 2 per year, racks: 4, share: 0.5}"
STANDBYS = "    standbys: {warm: 2, selection: 10 min}"
BEST = "    period: best\n    save: 10 s\n    detection: 60 s\n    restart: 5 min\n"
GROUPS = "    replicas: {groups_per_zone: 2, stall: 1 min, rejoin: 20 min}\n"
CASES = [
    # quantities
    Case("missing-unit", MTBF, "mtbf: 20000", "failures.tray.mtbf", ("a time with its unit", '"24 h"', "20000")),
    Case("text-without-unit", MTBF, "mtbf: '20000'", "failures.tray.mtbf", ("a time with its unit", "20000")),
    Case("wrong-unit", MTBF, "mtbf: 20000 kW", "failures.tray.mtbf", ("'kW'", "h, d, week, year", "20000 kW")),
    Case("wrong-letter-case", MTBF, "mtbf: 20000 H", "failures.tray.mtbf", ("unit 'H'", "20000 H")),
    Case("negative-mtbf", MTBF, "mtbf: -20000 h", "failures.tray.mtbf", ("above zero", "-20000 h")),
    Case("zero-mtbf", MTBF, "mtbf: 0 h", "failures.tray.mtbf", ("above zero", "0 h")),
    Case("bare-zero-mtbf", MTBF, "mtbf: 0", "failures.tray.mtbf", ("above zero",)),
    Case("nan", MTBF, "mtbf: .nan", "failures.tray.mtbf", ("a finite number", "nan")),
    Case("nan-with-unit", MTBF, "mtbf: nan h", "failures.tray.mtbf", ("expected a time", "nan h")),
    Case("infinite", MTBF, "mtbf: -.INF", "failures.tray.mtbf", ("a finite number", "-inf")),
    Case("overflow", MTBF, "mtbf: 1e999 h", "failures.tray.mtbf", ("finite number", "1e999 h")),
    Case("decimal-comma", "restart: 5 min", "restart: 5,5 min", "checkpoint_plans.0.restart", ("decimal point", "5,5")),
    Case("quantity-list", MTBF, "mtbf: [20000 h]", "failures.tray.mtbf", ("expected a time",)),
    Case("quantity-bool", MTBF, "mtbf: true", "failures.tray.mtbf", ("expected a time", "true")),
    Case("empty-quantity", "save: 10 s", "save:", "checkpoint_plans.0.save", ("expected a time", "empty")),
    Case("rate-as-number", "rate: 0.5 per day", "rate: 0.5", "failures.software.rate", ("a rate", "per day", "0.5")),
    Case("negative-save", "save: 10 s", "save: -10 s", "checkpoint_plans.0.save", ("at least zero", "-10 s")),
    Case("wrong-currency", "3.9 M$", "3.9 M€", "designs.0.rack_price", ("'M€'", "M$", "USD"), at="M€"),
    Case("price-without-currency", "3.9 M$", "3.9 M", "designs.0.rack_price", ("'M'", "M$"), at="3.9 M"),
    Case("price-not-yearly", "0.1 M$ per year", "0.1 M$", "repair_plans.0.yearly_cost", ("per year",), at="0.1 M$"),
    Case("energy-not-per-energy", PRICE, "0.066 $", "power.energy_price", ("$ per kWh",), at="0.066 $"),
    Case("unknown-denominator", PRICE, "1 $ per GPU", "power.energy_price", ("'GPU'", "kWh"), at="per GPU"),
    Case("unknown-currency", NAME, "name: small\ncurrency: XXX", "currency", ("USD", "'XXX'"), at="XXX"),
    Case("currency-list", NAME, "name: small\ncurrency: [USD]", "currency", ("'USD'", "'EUR'"), at="[USD]"),
    # counts and choices
    Case("all-trays-spare", INTRA, "intra_block_spares: 18", "designs.0.intra_block_spares", ("trays_per_block (18)",)),
    Case("all-blocks-spare", INTER, "inter_block_spares: [12]", "designs.0.inter_block_spares", ("has blocks (12)",)),
    Case("range-backwards", INTRA, "intra_block_spares: {from: 3, to: 0}", "intra_block_spares", ("from <= to",)),
    Case("range-step-zero", RACKS, "racks: {from: 8, to: 12, step: 0}", "zones.0.racks", ("step >= 1",)),
    Case("range-huge", RACKS, "racks: {from: 8, to: 2000000000}", "zones.0.racks", ("10,000 choices", "larger step")),
    Case("range-keys", RACKS, "racks: {from: 8, to: 12, by: 1}", "zones.0.racks", ("from, to and step",)),
    Case("range-float", RACKS, "racks: {from: 8, to: 12.0}", "zones.0.racks", ("whole number in 'to'",)),
    Case("choices-float", INTRA, "intra_block_spares: 1.5", "intra_block_spares", ("a whole number", "1.5")),
    Case("choices-bool", INTRA, "intra_block_spares: true", "intra_block_spares", ("a whole number", "true")),
    Case("choices-none", INTRA, "intra_block_spares: []", "intra_block_spares", ("at least one choice",)),
    Case("choices-negative", INTRA, "intra_block_spares: -1", "intra_block_spares", ("at least 0", "-1")),
    Case("no-racks", RACKS, "racks: 0", "zones.0.racks", ("at least 1 rack", "0")),
    Case("count-float", COUNT, "    count: 2.0", "zones.0.count", ("a whole number", "2.0")),
    Case("count-bool", COUNT, "    count: true", "zones.0.count", ("a whole number", "true")),
    Case("count-text", COUNT, "    count: '2'", "zones.0.count", ("a whole number", "'2'")),
    Case("count-zero", COUNT, "    count: 0", "zones.0.count", ("at least 1", "0")),
    Case("count-nan", COUNT, "    count: .nan", "zones.0.count", ("a whole number", "nan")),
    Case("count-huge", COUNT, "    count: 0x" + "f" * 6000, "zones.0.count", ("smaller whole number",)),
    Case("speed-nan", COUNT, "    relative_speed: .nan", "zones.0.relative_speed", ("finite", "nan")),
    Case("speed-text", COUNT, "    relative_speed: fast", "zones.0.relative_speed", ("a number", "'fast'")),
    Case("availability", "  capital: 100 M$", "  availability: 1.5", "limits.availability", ("less than 1", "1.5")),
    Case("job-negative", "gpu_hours: 1000000", "gpu_hours: -1", "job.useful_gpu_hours", ("more than 0", "-1")),
    # names
    Case("name-number", NAME, "name: 2026", "name", ("a string", "2026")),
    Case("name-empty", NAME, "name: ''", "name", ("letters, digits", "''")),
    Case("name-long", NAME, "name: " + "x" * 81, "name", ("at most 80 characters", "xxx...")),
    Case(
        "repeated-plan", "  - name: fast", "  - name: slow", "repair_plans.1.name", ("'slow' is already used",), at=""
    ),
    Case("repeated-domain", "name: feed", "name: cooling", "failures.domains.1.name", ("already used",), at="80000"),
    Case("reserved-domain", "name: feed", "name: rack", "failures.domains.1.name", ("'rack' is taken",), at="80000"),
    Case("unknown-design", COUNT, "    designs: [rack-19]", "zones.0.designs", ("'rack-19'", "rack-18")),
    Case("no-design", COUNT, "    designs: []", "zones.0.designs", ("at least one design",)),
    Case("unknown-domain", "{cooling: {", "{colling: {", "domains.colling", ("unknown", "cooling, feed"), at="colling"),
    Case("misspelt-field", COUNT, "    cuont: 2", "zones.0.cuont", ("unknown field", "did you mean 'count'?")),
    Case(
        "unlike-any-field",
        COUNT,
        "    zzzzzz: 2",
        "zones.0.zzzzzz",
        ("unknown field", "expected one of count, designs"),
    ),
    Case(
        "misplaced-field",
        COUNT,
        "    placement_group: 2",
        "zones.0.placement_group",
        ("expected one of count, designs, guarantee, name",),
    ),
    # structure
    Case(
        "both-mtbf-and-rate", "{mtbf: 20000 h}", "{mtbf: 2 h, rate: 1 per d}", "failures.tray", ("exactly one",), "2 h"
    ),
    Case("neither-mtbf-nor-rate", "{mtbf: 20000 h}", "{}", "failures.tray", ("exactly one of mtbf",), "tray: {}"),
    Case("value-for-fields", "{mtbf: 20000 h}", "20000 h", "failures.tray", ("fields (key: value)",), "tray: 20000 h"),
    Case(
        "nothing-for-fields", "{mtbf: 20000 h}", "", "failures.tray", ("fields (key: value)", "nothing"), "  tray: \n"
    ),
    Case("fields-for-list", "  - name: main", "    name: main", "zones", ("expected a list",), at="zones:"),
    Case("missing-field", "    save: 10 s\n", "", "checkpoint_plans.0.save", ("required, but missing",), "name: given"),
    Case(
        "no-zones", "zones:\n", "zones: []\nzonez:\n", "", ("at least one item", "did you mean 'zones'"), at="zones: []"
    ),
    Case("scenarios-list", "  cut:\n    " + CUT, "  - cut", "scenarios", ("fields (key: value)",), at="scenarios:"),
    Case("scenario-value", CUT, "overrides: 5", "scenarios.cut.overrides", ("fields (key: value)", "5")),
    # what fits each field but not the whole
    Case("lacks-rack", "    rack: {hands_on: 5 h}\n", "", "repair_plans.0", ("'slow' lacks rack",), at="name: slow"),
    Case(
        "crossing", DOMAIN, DOMAIN.replace("zone", "6 racks"), "failures.domains", ("4 and 6 racks cross",), "domains:"
    ),
    Case("bad-span", "spans: zone", "spans: hall", "failures.domains.1.spans", ('"8 racks"', "'hall'"), at="hall"),
    Case(
        "site-domain-in-plan",
        "spans: 4 racks",
        "spans: site",
        "repair_plans.1.domains.cooling",
        ("state its repair time in failures.domains",),
        at="domains: {cooling",
    ),
    Case("cap-without-price", "    rack_price: 3.9 M$\n", "", "limits.capital", ("rack-18",), at="  capital:"),
    Case(
        "cost-without-target", "kind: goodput", "kind: cost", "objective", ("goodput_target: required",), "objective:"
    ),
    Case("target-without-cost", "kind: goodput", "goodput_target: 5", "objective.goodput_target", ("kind: cost",)),
    Case("unknown-objective", "kind: goodput", "kind: best", "objective.kind", ("'goodput_per_dollar'", "'best'")),
    Case(
        "min-above-max",
        "{minimum: 1000}",
        "{minimum: 9, maximum: 1}",
        "working_gpus",
        ("minimum <= maximum",),
        "{minimum: 9",
    ),
    Case("limit-above-full", "[1000 W, 1200 W]", "[1300 W]", "designs.0.power.gpu_limits", ("1.2 kW",), at="[1300 W]"),
    Case(
        "table-short-of-1", "{limit: 1, scale: 1}", "{limit: 0.9, scale: 1}", "power_table", ("limit 1",), "  power_t"
    ),
    Case("table-beyond-1", TABLE, "    - {limit: 1.5, scale: 1}", "power_table.0.limit", ("at most 1", "1.5")),
    Case("table-unordered", TABLE, TABLE + "\n" + TABLE, "power_table", ("increasing limits",), at="power_table:"),
    Case(
        "two-scales",
        "  power_table:",
        "  fixed_gain_with_spares: 1.1\n  power_table:",
        "hardware_scale",
        ("one of",),
        "",
    ),
    Case(
        "outside-llm-table", "72: 1.4", "64: 1.4", "llm_scale.reference_gpus", ("within the table",), "reference_gpus"
    ),
    Case("llm-table-gap", "{8: 1.0,", "{61: 1.0,", "intra_block_spares", ("60 working GPUs", "61 to 72"), at=INTRA),
    Case(
        "free-save", "period: best\n    save: 10 s", "period: best\n    save: 0 s", "checkpoint_plans.1", ("save",), ""
    ),
    Case("period-word", PERIOD, "period: sometimes", "checkpoint_plans.0.period", ('"best"', "'sometimes'")),
    Case("period-unit", PERIOD, "period: 250", "checkpoint_plans.0.period", ("a time with its unit", "250")),
    Case("period-negative", PERIOD, "period: -5 min", "checkpoint_plans.0.period", ("above zero", "-5 min")),
    Case("period-nan", PERIOD, "period: .nan", "checkpoint_plans.0.period", ("a finite number", "nan")),
    # what only the simulator carries
    *(
        Case(name, line, line.replace(old, new), field, expect)
        for name, line, old, new, field, expect in (
            ("law-unknown", LAW, "weibull", "gamma", "failures.rack.lifetime.law", ("'lognormal'", "'gamma'")),
            ("law-missing", LAW, "law: weibull, ", "", "failures.rack.lifetime.law", ("required, but missing",)),
            (
                "shape-missing",
                LAW,
                ", shape: 0.7",
                "",
                "failures.rack.lifetime.shape",
                ("required with law: weibull", "0.7"),
            ),
            (
                "shape-of-another-law",
                LAW,
                "weibull",
                "exponential",
                "failures.rack.lifetime.shape",
                ("only used with law: weibull, not exponential; take it out", "got 0.7"),
            ),
            ("shape-small", LAW, "0.7", "0.1", "failures.rack.lifetime.shape", ("at least 0.2", "got 0.1")),
            ("shape-large", LAW, "0.7", "21", "failures.rack.lifetime.shape", ("at most 20", "got 21")),
            (
                "variation-missing",
                LAW,
                "weibull, shape: 0.7",
                "lognormal",
                "failures.rack.lifetime.variation",
                ("required with law: lognormal", "1.5"),
            ),
            (
                "variation-of-another-law",
                LAW,
                "}",
                ", variation: 2}",
                "failures.rack.lifetime.variation",
                ("only used with law: lognormal, not weibull; take it out", "got 2"),
            ),
            (
                "variation-none",
                LAW,
                "weibull, shape: 0.7",
                "lognormal, variation: 0",
                "failures.rack.lifetime.variation",
                ("more than 0", "got 0"),
            ),
            (
                "variation-large",
                LAW,
                "weibull, shape: 0.7",
                "lognormal, variation: 11",
                "failures.rack.lifetime.variation",
                ("at most 10", "got 11"),
            ),
            ("no-lemons", LEMONS, "0.02", "0", "failures.rack.lemons.share", ("more than 0", "got 0")),
            ("all-lemons", LEMONS, "0.02", "1", "failures.rack.lemons.share", ("less than 1", "got 1")),
            ("lemons-alike", LEMONS, ": 10", ": 1", "failures.rack.lemons.multiple", ("more than 1", "got 1")),
            ("lemons-extreme", LEMONS, ": 10", ": 1001", "failures.rack.lemons.multiple", ("at most 1000", "1001")),
            ("lemons-share-missing", LEMONS, "share: 0.02, ", "", "failures.rack.lemons.share", ("required",)),
            ("burn-in-none", BURN_IN, "30 days", "0", "failures.rack.burn_in.duration", ("above zero", "got 0")),
            ("burn-in-unit", BURN_IN, "30 days", "30", "failures.rack.burn_in.duration", ("with its unit", "30")),
            ("burn-in-slower", BURN_IN, ": 3}", ": 0.5}", "failures.rack.burn_in.multiple", ("more than 1", "0.5")),
            ("burn-in-extreme", BURN_IN, ": 3}", ": 2e3}", "failures.rack.burn_in.multiple", ("at most 1000", "2000")),
            (
                "never-silent",
                SILENT,
                "h}",
                "h, silent: {share: 0, found_after: 2 h}}",
                "failures.tray.silent.share",
                ("more than 0", "got 0"),
            ),
            (
                "too-silent",
                SILENT,
                "h}",
                "h, silent: {share: 5, found_after: 2 h}}",
                "failures.tray.silent.share",
                ("at most 1", "got 5"),
            ),
            (
                "found-at-once",
                SILENT,
                "h}",
                "h, silent: {share: 1, found_after: 0 h}}",
                "failures.tray.silent.found_after",
                ("above zero", "0 h"),
            ),
            ("never-found", SILENT, "h}", "h, silent: {share: 1}}", "failures.tray.silent.found_after", ("required",)),
            (
                "burst-beyond-zone",
                SURGE,
                "racks: 4",
                "racks: 9",
                "failures.bursts.0.racks",
                ("at most the fewest racks of a zone (8), got 9",),
            ),
            ("burst-of-no-rack", SURGE, "racks: 4", "racks: 0", "failures.bursts.0.racks", ("at least 1", "got 0")),
            ("burst-of-no-tray", SURGE, "0.5", "0", "failures.bursts.0.share", ("more than 0", "got 0")),
            ("burst-of-more", SURGE, "0.5", "1.1", "failures.bursts.0.share", ("at most 1", "got 1.1")),
            ("burst-without-rate", SURGE, "rate: 2 per year, ", "", "failures.bursts.0", ("exactly one of mtbf",)),
            ("burst-without-name", SURGE, "name: surge, ", "", "failures.bursts.0.name", ("required",)),
            (
                "warm-beyond-spares",
                STANDBYS,
                "warm: 2",
                "warm: 3",
                "checkpoint_plans.1.standbys.warm",
                ("at most the largest inter_block_spares of a design (2), got 3",),
            ),
            ("warm-negative", STANDBYS, "2", "-1", "checkpoint_plans.1.standbys.warm", ("at least 0", "got -1")),
            ("warm-share", STANDBYS, "2", "0.5", "checkpoint_plans.1.standbys.warm", ("a whole number", "got 0.5")),
            ("warm-missing", STANDBYS, "warm: 2, ", "", "checkpoint_plans.1.standbys.warm", ("required",)),
            ("selection-unit", STANDBYS, "10 min", "10", "checkpoint_plans.1.standbys.selection", ("unit", "10")),
            (
                "selection-missing",
                STANDBYS,
                ", selection: 10 min",
                "",
                "checkpoint_plans.1.standbys.selection",
                ("required",),
            ),
        )
    ),
    Case("repeated-burst", "name: spike", "name: surge", "failures.bursts.1.name", ("already used",), at="5000 h"),
    Case(
        "tray-of-law",
        "{mtbf: 20000 h}",
        "{mtbf: 20000 h, lifetime: weibull}",
        "failures.tray.lifetime",
        ("fields (key: value)", "'weibull'"),
        at="tray: {mtbf",
    ),
    Case(
        "law-of-software",
        "{rate: 0.5 per day}",
        "{rate: 0.5 per day, lifetime: {law: exponential}}",
        "failures.software.lifetime",
        ("unknown field", "expected one of mtbf, rate"),
        at="software:",
    ),
    Case(
        "law-of-domain",
        "mtbf: 80000 h,",
        "mtbf: 80000 h, silent: {share: 1, found_after: 1 h},",
        "failures.domains.1.silent",
        ("unknown field",),
        at="80000 h",
    ),
    Case(
        "standbys-of-groups",
        BEST,
        GROUPS,
        "checkpoint_plans.1.standbys",
        ("not used with replicas", "take it out"),
        at="standbys:",
    ),
    # the schema version
    Case("version-missing", "schema_version: 1\n", "", "schema_version", ("is missing", "expected 1"), at=""),
    Case("version-newer", "schema_version: 1", "schema_version: 2", "schema_version", ("is 2", "expected 1")),
    Case("version-text", "schema_version: 1", "schema_version: '1'", "schema_version", ("is '1'", "expected 1")),
    Case("version-float", "schema_version: 1", "schema_version: 1.0", "schema_version", ("is 1.0", "expected 1")),
    Case("version-bool", "schema_version: 1", "schema_version: true", "schema_version", ("expected 1",)),
    # YAML
    Case(
        "repeated-key", COUNT, "    count: 2\n    count: 3", "zones.0.count", ("twice", "first in line 5"), "count: 3"
    ),
    Case("tab", NAME, "\tname: small", "", ("use spaces, not tabs",)),
    Case("open-quote", NAME, 'name: "small', "", ("close the quote that is opened here",)),
    Case("open-bracket", RACKS, "racks: [8, 9", "", ("close the { or [ that is opened here",)),
    Case("bad-indent", RACKS, "   racks: 9", "", ("check the indentation",)),
    Case("two-colons", NAME, "name: a: b", "", ("put text that holds ': ' in quotes",)),
    Case("no-colon", NAME, "name small", "", ("expected `key: value`",)),
    Case("at-sign", NAME, "name: @small", "", ("put the text in quotes",)),
    Case("unknown-alias", NAME, "name: *small", "", ("undefined alias 'small'",)),
    Case("merge-key", NAME, "<<: {a: 1}\nname: small", "", ("merge keys (<<) are not supported",)),
    Case("complex-key", NAME, "? [a]\n: 1\nname: small", "", ("expected a plain key",)),
    Case("null-key", NAME, "name: small\n~: 2", "", ("the name of a field", "nothing"), at="~: 2"),
    Case("number-key", NAME, "name: small\n7: 2", "7", ("the name of a field",), at="7: 2"),
    Case("python-tag", NAME, "name: !!python/object:os.system x", "name", ("is not supported",)),
    Case("two-documents", NAME, "name: small\n---", "", ("keep one document",), at="---"),
    Case("control-character", NAME, "name: small\x07", "", ("U+0007",)),
    Case("recursive-alias", RACKS, "racks: &r [*r, *r, *r]", "zones.0.racks", ("*r stands inside what it names",)),
    Case("alias-of-parent", "zones:\n", "zones: &z\n  - *z\n", "zones", ("*z stands inside what it names",), at=""),
    Case("deep", NAME, "description: " + "[" * 60 + "]" * 60, "", ("nested more than 50 deep",)),
    Case("very-deep", NAME, "description: " + "[" * 1000, "", ("nested too deep", "50 levels"), at=""),
    # scenarios and overrides
    Case("unknown-scenario", "x", "x", "scenarios", ("'cutt'", "did you mean 'cut'?"), "", {"scenarios": ["cutt"]}),
    Case(
        "scenario-unit",
        CUT,
        CUT.replace("0.9x", "9 kW"),
        "limits.capital",
        ("M$", "9 kW", "cut"),
        "",
        {"scenarios": ["cut"]},
    ),
    Case(
        "scenario-path",
        CUT,
        "overrides: {zones.mian.racks: 9}",
        "zones.mian.racks",
        ("no item 'mian'", "did you mean 'main'?"),
        options={"scenarios": ["cut"]},
    ),
]
OVERRIDES = [
    ("unknown-path", "limits.capitl", "5 M$", ("limits.capitl", "did you mean 'capital'?")),
    ("unknown-section", "limitz.capital", "5 M$", ("limitz", "did you mean 'limits'?")),
    ("unknown-path-taken-out", "placement_grp", None, ("placement_grp", "did you mean 'placement_group'?")),
    (
        "misplaced-path-taken-out",
        "limits.placement_group",
        None,
        ("limits.placement_group", "expected one of availability, capital"),
    ),
    ("path-beyond-a-value", "limits.capital.x", "5 M$", ("limits.capital holds a single value",)),
    ("path-empty", "", "5 M$", ("expected a path such as limits.capital",)),
    ("path-to-no-item", "zones.9.racks", 9, ("no item '9'", "expected one of main")),
    ("multiple-of-a-word", "objective.kind", "0.5x", ("a number to multiply", "'goodput'")),
    ("multiple-of-nothing", "limits.floor", "2x", ("a number to multiply", "none there")),
    ("multiple-of-fields", "zones", "2x", ("a number to multiply",)),
    ("multiple-negative", "limits.capital", "-2x", ("above zero", "-2x")),
    ("multiple-infinite", "limits.capital", "1e999x", ("above zero", "1e999x")),
    ("multiple-overflow", "job.useful_gpu_hours", "1e305x", ("no finite number",)),
    ("multiple-of-a-count", "zones.main.count", "1.3x", ("a whole number", "2.6")),
    ("value-without-unit", "limits.capital", 5, ("limits.capital", "with its unit")),
    ("last-zone-taken-out", "zones.main", None, ("zones", "at least one item")),
]


def fault_of(path: Path, **options: Any) -> InputError:
    """The refusal of a file, which must name the file and hold exactly one fault."""
    with pytest.raises(InputError) as caught:
        read_instance(path, **options)
    assert str(caught.value).startswith(str(path))
    assert len(caught.value.faults) == 1, str(caught.value)
    return caught.value


def write(folder: Path, text: str) -> Path:
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, marker: str) -> int:
    return text[: text.index(marker)].count("\n") + 1


def test_base_is_valid(tmp_path: Path) -> None:
    """The text that the cases break is itself accepted, so each refusal is due to the one thing broken."""
    assert read_instance(write(tmp_path, BASE)).name == "small"
    assert read_instance(write(tmp_path, BASE), scenarios=["cut"]).limits.capital == 90e6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_broken_file(case: Case, tmp_path: Path) -> None:
    """A file with one thing broken gives one message with the file, the line, the field and what was expected."""
    assert case.old in BASE
    text = BASE.replace(case.old, case.new, 1)
    path = tmp_path / "small.yaml"
    path.write_text(text, encoding="utf-8")
    if case.id == "no-zones":  # its list is renamed rather than lost, which is a second fault
        with pytest.raises(InputError) as caught:
            read_instance(path)
        error = caught.value
    else:
        error = fault_of(path, **case.options)
    for part in (case.where, *case.expect):
        assert part in str(error)
    if case.at != "":
        marker = case.at if case.at is not None else case.new.split("\n")[0]
        assert error.faults[0].line == line_of(text, marker)


def test_case_names_differ() -> None:
    """No case hides another."""
    names = [case.id for case in CASES] + [name for name, *_ in OVERRIDES]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize(("path", "value", "expect"), [case[1:] for case in OVERRIDES], ids=[c[0] for c in OVERRIDES])
def test_broken_override(path: str, value: object, expect: tuple[str, ...], tmp_path: Path) -> None:
    """An override that leads nowhere, or to a value that does not fit, is refused and named; never ignored."""
    error = fault_of(write(tmp_path, BASE), overrides={path: value})
    for part in expect:
        assert part in str(error)


@pytest.mark.parametrize(
    ("content", "expect"),
    [
        (b"", "is empty; start from `spareopt new"),
        (b"# only a comment\n", "is empty"),
        (b"---\n", "expected fields such as `name:"),
        (b"just words\n", "expected fields such as `name:"),
        (b"- a\n- b\n", "expected fields such as `name:"),
        (b"5\n", "expected fields such as `name:"),
        (bytes(range(256)), "is not text in UTF-8"),
        (b"\x00" * 64, "is it a binary file, or UTF-16?"),
        (BASE.encode("utf-16"), "is not text in UTF-8"),
        (BASE.encode("utf-16-le"), "is it a binary file, or UTF-16?"),
        ("name: Zürich".encode("latin-1"), "is not text in UTF-8 (byte 7)"),
        (b"%YAML 3.0\n---\na: 1\n", "is not YAML"),
        (b"a: 1\n" * 2_000_001, "expected at most 10,000,000"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_not_an_instance_file(content: bytes, expect: str, tmp_path: Path) -> None:
    """What is no instance at all is told from a faulty one."""
    path = tmp_path / "small.yaml"
    path.write_bytes(content)
    assert expect in str(fault_of(path))


@pytest.mark.parametrize(
    ("text", "expect"),
    [
        (
            "failures: {tray: {mtbf: 40,000 h}}",
            'line 1, failures.tray.mtbf: quote it: "40,000 h"; YAML splits at commas',
        ),
        ("limits: {capital: 1,200,000.5 $, floor: 3}", 'limits.capital: quote it: "1,200,000.5 $"; YAML'),
    ],
)
def test_a_number_that_yaml_splits_at_its_comma(text: str, expect: str, tmp_path: Path) -> None:
    """Proves that the comma within a number is named as the cause, once, instead of what it made of the fields."""
    error = fault_of(write(tmp_path, text))
    assert expect in str(error)
    assert len(error.faults) == 1


def test_fields_without_a_value_are_no_split_number(tmp_path: Path) -> None:
    """Proves that only a comma makes a split number: a table whose last size has no value yet is told as such."""
    error = fault_of(write(tmp_path, "llm_scale:\n  table:\n    8: 1\n    128:\n"))
    assert "quote it" not in str(error)


def test_alias_bomb(tmp_path: Path) -> None:
    """Aliases of aliases that stand for nine to the ninth values are refused at once, not expanded."""
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    rows += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    error = fault_of(write(tmp_path, "\n".join(rows)))
    assert "repeat more than 10,000 values" in str(error)


def test_plain_aliases_work(tmp_path: Path) -> None:
    """An anchor used again is no fault: only loops and bombs are."""
    text = BASE.replace("rack: {hands_on: 5 h}", "rack: &r {hands_on: 5 h}", 1).replace(
        "rack: {hands_on: 5 h}", "rack: *r"
    )
    assert read_instance(write(tmp_path, text)) == read_instance(write(tmp_path, BASE))


def test_folder_and_missing_file(tmp_path: Path) -> None:
    """A folder and a name that is no file are refused with what to give instead."""
    assert "is a folder; expected an instance file" in str(fault_of(tmp_path))
    assert "no such file or shipped instance" in str(fault_of(tmp_path / "none.yaml"))
    with pytest.raises(InputError, match="did you mean 'meta-2026'"):
        read_instance("meta-2025")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000], ids=["empty", "nul", "long"])
def test_impossible_file_name(name: str) -> None:
    """A name that no file can have is refused, not an error of the operating system."""
    with pytest.raises(InputError) as caught:
        read_instance(name)
    assert len(str(caught.value)) < 400


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is refused with the system's reason."""

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, BASE)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "can't be read: Permission denied" in str(fault_of(path))


def test_all_faults_at_once(tmp_path: Path) -> None:
    """Five faults in five places are five lines of one message, in one go."""
    text = BASE
    for old, new in (
        (COUNT, "    count: two"),
        (INTRA, "intra_block_spares: 18"),
        (MTBF, "mtbf: 20000"),
        (PERIOD, "period: -1 s"),
        ("kind: goodput", "kind: best"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        read_instance(write(tmp_path, text))
    faults = caught.value.faults
    assert [fault.field for fault in faults] == [
        "zones.0.count",
        "designs.0.intra_block_spares",
        "failures.tray.mtbf",
        "checkpoint_plans.0.period",
        "objective.kind",
    ]
    markers = ("count: two", "intra_block_spares: 18", "mtbf: 20000}", "period: -1 s", "kind: best")
    assert [fault.line for fault in faults] == [line_of(text, marker) for marker in markers]
    assert "5 faults" in str(caught.value)
    assert str(caught.value).count("\n") == 5


def test_all_faults_of_the_whole_at_once(tmp_path: Path) -> None:
    """Faults that only the whole instance shows are all reported too."""
    text = (
        BASE.replace("    rack: {hands_on: 5 h}\n", "")
        .replace("    rack_price: 3.9 M$\n", "")
        .replace("name: best\n", "name: given\n")
    )
    with pytest.raises(InputError) as caught:
        read_instance(write(tmp_path, text))
    assert sorted(fault.field for fault in caught.value.faults) == [
        "checkpoint_plans.1.name",
        "limits.capital",
        "repair_plans.0",
        "repair_plans.1",
    ]


NASTY: list[Any] = [
    None, True, -1, 0, 1.5, math.nan, math.inf, 10**400, "", "x", "5", "-1 h", "1e999 h", "nan", "0.5x", "\ud800", "\0",
    [], [[]], [None], {}, {"from": 0, "to": 1}, {1: 2}, {None: None}, b"bytes", "1" * 5000,
]  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every field and item below ``node``."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [place for key, value in items for place in ((*path, key), *places(value, (*path, key)))]


def test_any_value_anywhere(tmp_path: Path) -> None:
    """Whatever stands in whichever field: the instance is read or refused, and nothing else ever happens."""
    data, _ = load_yaml(write(tmp_path, BASE), "base")
    refused = 0
    for place in places(data):
        for value in NASTY:
            broken = copy.deepcopy(data)
            node: Any = broken
            for key in place[:-1]:
                node = node[key]
            node[place[-1]] = value
            try:
                read_instance(broken).input_hash()
            except InputError as error:
                assert error.faults and str(error)
                refused += 1
    assert refused > 1500


def test_any_text(tmp_path: Path) -> None:
    """A file with characters lost, doubled or put in at random is read or refused, and nothing else ever happens."""
    chance = random.Random(2026)
    for _ in range(150):
        text = list(BASE)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 3)] = chance.choice(
                ["", "\t", "\n", ":", "- ", "{", "]", "'", "&a ", "*a ", "0"]
            )
        try:
            read_instance(write(tmp_path, "".join(text)))
        except InputError as error:
            assert error.faults


def test_self_holding_data() -> None:
    """Plain data that holds itself is refused."""
    data: dict[str, Any] = {"schema_version": 1}
    data["zones"] = [data]
    with pytest.raises(InputError):
        read_instance(data)
