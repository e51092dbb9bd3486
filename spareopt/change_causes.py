"""The causes that can be told apart between two instances, and the instance in which some of them have happened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from spareopt.candidates import check_model
from spareopt.errors import InputError
from spareopt.input_changes import CAUSES, Difference
from spareopt.instance import Instance
from spareopt.reading import read_instance
from spareopt.schemes import Model

Group = tuple[str, ...]


@dataclass(frozen=True)
class Separated:
    """Groups of causes any of which may happen without the others, and why causes were put together."""

    before: Instance
    after: Instance
    differences: Sequence[Difference]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    def at(self, which: int) -> Instance:
        """The instance in which the groups of a bit mask have happened, and the others have not."""
        causes = {cause for i, group in enumerate(self.groups) if which >> i & 1 for cause in group}
        return between(self.before, self.after, self.differences, causes)


def separate(before: Instance, after: Instance, differences: Sequence[Difference], model: Model) -> Separated:
    """The causes of the differences, put together where an instance with one but not the other is not valid."""
    present = [cause for cause in CAUSES if any(d.change.cause == cause for d in differences)]
    invalid: dict[frozenset[str], str] = {}
    for number in range(1, len(present)):
        for some in combinations(present, number):
            try:
                check_model(between(before, after, differences, some), model)
            except InputError as error:
                invalid[frozenset(some)] = str(error.faults[0])
    groups: list[Group] = [(cause,) for cause in present]
    reasons: list[tuple[Group, str]] = []
    while bad := _reached(invalid, groups):
        one, other = min(combinations(groups, 2), key=lambda pair: len(_reached(invalid, _joined(groups, *pair))))
        groups = _joined(groups, one, other)
        solved = [message for causes, message in bad.items() if causes not in _reached(invalid, groups)]
        reasons.append((one + other, (solved or list(bad.values()))[0]))
    notes = []
    for group in groups:
        if known := dict.fromkeys(reason for joined, reason in reasons if set(joined) <= set(group)):
            notes.append(f"{group_words(group)}: parted, they are no valid instance ({'; '.join(known)})")
    return Separated(before, after, differences, tuple(groups), tuple(notes))


def _reached(invalid: Mapping[frozenset[str], str], groups: Sequence[Group]) -> dict[frozenset[str], str]:
    """The invalid sets of causes that are made of whole groups."""
    return {
        causes: message
        for causes, message in invalid.items()
        if all(set(group) <= causes or causes.isdisjoint(group) for group in groups)
    }


def _joined(groups: Sequence[Group], one: Group, other: Group) -> list[Group]:
    """The groups with two of them made one, in the place of the first."""
    return [group + other if group == one else group for group in groups if group != other]


def group_words(group: Group) -> str:
    """A group of causes in words."""
    words = [CAUSES[cause] for cause in CAUSES if cause in group]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]} together"


def between(before: Instance, after: Instance, differences: Sequence[Difference], causes: Collection[str]) -> Instance:
    """The first instance with the differences of some causes put in place.  Raises InputError where it is not valid.

    With all causes it is the second instance itself.
    """
    if {d.change.cause for d in differences if d.change.cause in CAUSES} <= set(causes):
        return after
    chosen = [d for d in differences if d.change.cause in causes]
    if not chosen:
        return before
    data = before.resolved()
    for difference in chosen:
        for path, value in difference.puts:
            _put(data, path, value)
    return read_instance(data)


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Put a value where a path leads in plain instance data; None takes out what stands there."""
    node: Any = data
    for key in path[:-1]:
        node = next(item for item in node if item["name"] == key) if isinstance(node, list) else node[key]
    last = path[-1]
    if isinstance(node, list):
        place = next((i for i, item in enumerate(node) if item["name"] == last), None)
        if place is not None:
            del node[place]
        if value is not None:
            node.insert(len(node) if place is None else place, value)
    elif value is None:
        node.pop(last, None)
    else:
        node[last] = value
