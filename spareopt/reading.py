"""Read an instance from a shipped name, a file or plain data, and report every fault with its line and field."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spareopt.consistency import consistency_faults
from spareopt.errors import Fault, InputError
from spareopt.faults import line_of, validation_faults
from spareopt.instance import SCHEMA_VERSION, Instance
from spareopt.overlays.applying import Layers
from spareopt.overlays.expectations import held_twice, unmet
from spareopt.overlays.overlay import Overlay
from spareopt.overlays.sources import read_overlay
from spareopt.overrides import OverrideError
from spareopt.yaml_source import Lines, load_yaml, value_text


def read_instance(
    source: str | Path | Mapping[str, Any],
    *,
    overlays: Iterable[str | Path | Overlay] = (),
    scenarios: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Instance:
    """Read, override and check an instance.

    ``source`` is a shipped name (see ``spareopt instances``), a path, or plain data.  The overlays (files, or as read)
    are applied first, in order, then the scenarios named, then ``overrides`` (dotted path: value).  Raises InputError
    with every fault found, among them what of an overlay would have no effect: what a later change replaces, and
    designs that no zone may take.
    """
    return _read(source, overlays, tuple(scenarios), dict(overrides or {}))


def _read(
    source: str | Path | Mapping[str, Any],
    overlays: Iterable[str | Path | Overlay],
    scenarios: tuple[str, ...],
    overrides: dict[str, Any],
    *,
    effective: bool = True,
) -> Instance:
    """Read an instance; ``effective``: refuse overlays of which something would have no effect."""
    if isinstance(source, Mapping):
        label, data = str(source.get("name", "instance")), copy.deepcopy(dict(source))
        lines: Lines = {}
    else:
        path = locate(source)
        label = str(source)
        data, lines = load_yaml(path, label)
    read = [overlay if isinstance(overlay, Overlay) else read_overlay(overlay) for overlay in overlays]
    return _build(label, data, lines, read, scenarios, overrides, effective=effective)


def check_scenarios(source: str | Path, overlays: Iterable[str | Path | Overlay] = ()) -> list[Fault]:
    """The faults of an instance's scenarios, each applied alone; none when all can be solved.

    That a scenario replaces what an overlay states is no fault until both are asked for.
    """
    faults, laid = [], tuple(overlays)
    for name in read_instance(source, overlays=laid).scenarios:
        try:
            _read(source, laid, (name,), {}, effective=False)
        except InputError as error:
            faults += [replace(fault, field=f"scenarios.{name}: {fault.field}") for fault in error.faults]
    return faults


def scenarios_without_effect(source: str | Path, overlays: Iterable[str | Path | Overlay] = ()) -> tuple[str, ...]:
    """The scenarios that change nothing: what they state is what the instance has.  Raises InputError."""
    laid = tuple(overlays)
    nominal = read_instance(source, overlays=laid)
    plain = nominal.resolved()
    changed = {name: _read(source, laid, (name,), {}, effective=False) for name in nominal.scenarios}
    return tuple(name for name, instance in changed.items() if instance.resolved() == plain)


def locate(source: str | Path) -> Path:
    """The file of a shipped name or a path; a file, but not a folder, wins over a shipped name.  Raises InputError."""
    from spareopt import instances  # noqa: PLC0415

    path = Path(source)
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL
        text = f"{str(source)[:40]!r}..." if len(str(source)) > 40 else repr(str(source))
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(text, [Fault("", f"can't be a file name: {reason}")]) from None
    if is_file:
        return path
    names = instances.names()
    if str(source) in names:  # a folder of that name is a plan's, as -o makes it, and no instance
        shipped: Path = instances.path(str(source))
        return shipped
    if is_folder:
        label = str(source) or "''"
        raise InputError(label, [Fault("", "is a folder; expected an instance file such as my-cluster.yaml")])
    close = difflib.get_close_matches(str(source), names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InputError(
        str(source), [Fault("", f"no such file or shipped instance; {hint}shipped are {', '.join(names)}")]
    )


def _build(
    label: str,
    data: dict[str, Any],
    lines: Lines,
    overlays: list[Overlay],
    scenarios: tuple[str, ...],
    overrides: dict[str, Any],
    *,
    effective: bool = True,
) -> Instance:
    version = data.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        found = "is missing" if version is None else f"is {version!r}"
        raise InputError(
            label,
            [
                Fault(
                    "schema_version",
                    f"{found}; expected {SCHEMA_VERSION}, the version this spareopt reads",
                    lines.get(("schema_version",)),
                )
            ],
        )
    original = copy.deepcopy(data)
    if faults := _expectation_faults(label, data, lines, overlays, scenarios):
        raise _refusal(label, faults)
    layers = Layers()
    for overlay in overlays:
        layers.apply(data, overlay)
    if layers.faults:
        raise _refusal(label, layers.faults)
    applied = []
    for path, value, text, place in _all_overrides(label, data, scenarios, overrides):
        try:
            lost = layers.override(data, path, value, _who(text))
        except OverrideError as error:
            fault = Fault(error.fault.field, error.fault.message, lines.get(place))
            fault = layers.fault_at(place, data, fault.field, fault.message) or fault
            raise _refusal(f"{label} ({text})", [fault]) from None
        if lost and effective:
            raise _refusal(label, lost)
        applied.append(text)
    if overlays or applied:
        label = f"{label} (with {'; '.join([*(f'overlay {overlay.name}' for overlay in overlays), *applied])})"
    currency = data.get("currency", "USD")
    try:
        result = Instance.model_validate(data, context={"currency": currency if isinstance(currency, str) else "USD"})
    except ValidationError as error:
        faults = validation_faults(error, data, original, lines)
        raise _refusal(label, [_in_its_file(fault, layers, data, not applied) for fault in faults]) from None
    except RecursionError:
        raise InputError(label, [Fault("", "is nested too deep")]) from None
    faults = [
        Fault(fault.field, fault.message, line_of(tuple(fault.field.split(".")), data, original, lines))
        for fault in consistency_faults(result)
    ]
    if faults:
        raise _refusal(label, [_in_its_file(fault, layers, data, not applied) for fault in faults])
    if effective and (faults := layers.not_offered(result)):
        raise _refusal(label, faults)
    result._applied = (*layers.applied, *applied)
    return result


def _expectation_faults(
    label: str, data: dict[str, Any], lines: Lines, overlays: list[Overlay], scenarios: tuple[str, ...]
) -> list[Fault]:
    """What overlays were made for that the instance, as its file states it, or the scenarios asked for do not meet."""
    faults = [fault for overlay in overlays for fault in held_twice(overlay, scenarios)]
    if any(overlay.expects for overlay in overlays):
        base = _build(label, copy.deepcopy(data), lines, [], (), {})
        faults += [fault for overlay in overlays for fault in unmet(base, overlay)]
    return faults


def _in_its_file(fault: Fault, layers: Layers, data: dict[str, Any], last: bool) -> Fault:
    return layers.fault_at(fault.field.split("."), data, fault.field, fault.message, last=last) or fault


def _refusal(label: str, faults: list[Fault]) -> InputError:
    """An error under the name of the one file in which all faults stand, or else of the instance."""
    files = {fault.file for fault in faults}
    file = files.pop() if len(files) == 1 else None
    return InputError(file or label, faults)


def _all_overrides(
    label: str, data: dict[str, Any], scenarios: tuple[str, ...], overrides: dict[str, Any]
) -> Iterable[tuple[str, Any, str, tuple[str, ...]]]:
    """Path, value, description and place of every override, in the order to apply them."""
    known = data.get("scenarios")
    known = known if isinstance(known, dict) else {}
    for name in scenarios:
        scenario = known.get(name)
        if not isinstance(scenario, dict) or not isinstance(scenario.get("overrides"), dict):
            names = ", ".join(map(str, known)) or "none"
            close = difflib.get_close_matches(str(name), map(str, known), 1)
            hint = f"did you mean {close[0]!r}? " if close and close[0] != name else ""
            raise InputError(label, [Fault("scenarios", f"no scenario {name!r}; {hint}the instance has {names}")])
        for path, value in scenario["overrides"].items():
            place = ("scenarios", name, "overrides", path)
            yield str(path), copy.deepcopy(value), f"scenario {name}: {path}={value_text(value)}", place
    for path, value in overrides.items():
        yield path, copy.deepcopy(value), f"{path}={value_text(value)}", ("",)


def _who(text: str) -> str:
    """Who overrides, from the description of an override: a scenario by its name, or the override itself."""
    scenario, colon, _ = text.partition(": ")
    return scenario if colon and scenario.startswith("scenario ") else "the override"
