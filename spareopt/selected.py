"""The result of a selection: the candidates chosen, the totals under caps, and the certificate."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import PrivateAttr

from spareopt.plan import ProofStatus
from spareopt.record import Frozen, Result

Label = int | str


class SelectionCertificate(Frozen):
    """How good the choice is at least: no choice within the caps has a product above ``bound``.

    gap = (bound − value) / value.
    """

    status: ProofStatus
    """"limit reached" is of time, or of the precision to which the solver can close the gap asked."""
    value: float
    """The product of the chosen members' values, computed from the table."""
    bound: float
    """No choice within the caps has a greater product."""
    log_value: float
    """The logarithm of the value, which does not underflow."""
    log_bound: float
    """The logarithm of the bound."""
    gap: float
    """Relative."""
    gap_asked: float
    """At which the search could end."""
    structure: str
    """Why the product is the system's value: stated by the caller, or checked on so many choices."""
    choices_excluded: int
    """Choices of the solver that broke a cap by more than rounding, and were cut off."""


class ChosenCandidate(Frozen):
    """A candidate and how many members of its group take it."""

    group: Label
    """The group's label."""
    row: Label
    """The candidate's label in the table's index."""
    count: int
    """Members that take it."""


class CapTotal(Frozen):
    """The total of a column under one limit, and how much is left (negative only within rounding)."""

    column: str
    """The column that is capped."""
    sense: Literal["<=", ">="]
    """Whether it is a most (<=) or a least (>=)."""
    total: float
    """What the choice comes to."""
    bound: float
    """The cap."""
    slack: float
    """How much is left."""


class SelectionCounts(Frozen):
    """How many candidates there were, and how many could be left out."""

    given: int
    """Rows of the table."""
    dominated: int
    """Another candidate of the group has no lower value and serves every cap as well."""
    outbid: int
    """No choice that uses it can be better than the one found."""


class SelectionProvenance(Frozen):
    """What the choice was made from, so that it can be made again."""

    input_hash: str
    """SHA-256 of the table and its caps."""
    gap: float
    """Asked."""
    time_limit_s: float | None
    """In seconds; None without one."""
    seed: int
    """Of the solver."""
    versions: dict[str, str]
    """Of spareopt, Python, the solver and the libraries."""


class Selected(Result):
    """A choice and its proof.  ``to_json`` gives the same bytes for the same input, versions and seed."""

    schema_version: Literal[1] = 1
    chosen: tuple[ChosenCandidate, ...]
    """By group in the table's order, then by row."""
    totals: tuple[CapTotal, ...]
    """One for each cap."""
    certificate: SelectionCertificate
    """How good the choice is."""
    candidates: SelectionCounts
    """How many there were, and how many were left out."""
    provenance: SelectionProvenance
    """What it was made from."""

    _audit: pd.DataFrame | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Equal results are equal choices, whether made here or read back."""
        return isinstance(other, Selected) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]

    @property
    def audit(self) -> pd.DataFrame | None:
        """What became of each candidate, by the table's index; None for a result that was read back.

        Columns: ``members`` (how many take it), ``dominated_by`` (label of the better candidate, or None) and
        ``outbid``.
        """
        return self._audit

    def rows(self, candidates: pd.DataFrame) -> pd.DataFrame:
        """The chosen rows of the table of candidates, with how many members take each in a first column ``members``."""
        rows = candidates.loc[[item.row for item in self.chosen]].copy()
        rows.insert(0, "members", [item.count for item in self.chosen])
        return rows
