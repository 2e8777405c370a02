"""The detail that roles of columns cost, as far as a sample of the rows says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from foreknow.data.microdata import Microdata
from foreknow.methods.protocol import as_written
from foreknow.methods.registry import method_of
from foreknow.planning.costs import given_away, kept_by, sample_of, savings, worth_saying
from foreknow.planning.suggestion.columns import DECIDE, ColumnSuggestion
from foreknow.policy.policy import Policy
from foreknow_judge.errors import InputError

_OF_NUMBERS = {"intervals", "dates", "file"}
_CELLS_TRIED, _LESS, _MUCH = 20_000, 0.01, 0.5


class DetailOfSample:
    """The detail that a first policy keeps of a sample of the rows, by Mondrian."""

    def __init__(self, microdata: Microdata, policy: Policy) -> None:
        self.policy, self._method = policy, method_of(policy.options.method, policy)
        self._measure(microdata)

    def _measure(self, microdata: Microdata) -> None:
        """Set the table, its sample, and the detail that the sample keeps; None if it cannot be."""
        self._microdata, self._sample, self._kept_detail = microdata, None, None
        with suppress(InputError):
            rules = replace(self.policy, schema=microdata.schema)
            self._written = as_written(self._method, microdata, rules)
            self._sample = sample_of(self._written, rules, _CELLS_TRIED)
        if self._sample is not None:
            self._kept_detail = kept_by(self._method, self._sample, self.policy)

    def by_ranges(self, columns: Sequence[ColumnSuggestion]) -> list[ColumnSuggestion]:
        """The columns; those of numbers and dates without their hierarchy where ranges keep more.

        The policy changes alike. The sample is published with all such hierarchies, and without
        them; then a column keeps its hierarchy unless labels of ranges cover fewer values.
        """
        with_hierarchies = self._kept_detail
        candidates = self._may_be_ranges(columns)
        if with_hierarchies is None or not candidates:
            return list(columns)
        before = self._microdata
        self._measure(before.laid(self._hierarchies_without(candidates)))
        with_ranges = self._kept_detail
        if with_ranges is None:  # nothing can be published so: back to the hierarchies
            self._measure(before)
            return list(columns)
        # The average share of a column's values that a label covers: the smaller, the better.
        covered, covered_by_ranges = with_hierarchies.covered, with_ranges.covered
        better = {n for n in candidates if covered_by_ranges[n] <= covered[n] - _LESS}
        hierarchies = self._hierarchies_without(better)
        if better != candidates:  # some keep their hierarchies: publish the sample once more
            self._measure(before.laid(hierarchies))
        new_schema = replace(self.policy.needed_schema, hierarchies=hierarchies)
        self.policy = replace(self.policy, schema=new_schema)
        new_columns: list[ColumnSuggestion] = []
        for column in columns:
            if column.name in better:
                why = (
                    "ranges keep more: on average, a label covers "
                    f"{covered_by_ranges[column.name]:.0%} of the values, and with this hierarchy "
                    f"{covered[column.name]:.0%}"
                )
                left_out = column.hierarchy
                column = replace(column, hierarchy=None, left_out=left_out, left_out_why=why)
            new_columns.append(column)
        return new_columns

    def _may_be_ranges(self, columns: Sequence[ColumnSuggestion]) -> set[str]:
        """Columns of numbers and dates with a hierarchy of such, and no type in the schema."""
        names = set()
        for e in columns:
            if e.hierarchy and {*e.hierarchy} & _OF_NUMBERS:
                names.add(e.name)
        names -= {name for name in names if self.policy.needed_schema.types.get(name) is not None}
        return names - {a.name for a in self._microdata.attributes if _are_texts(a.domain)}

    def _hierarchies_without(self, names: Collection[str]) -> dict[str, Any]:
        """The hierarchies of the policy without those of some columns."""
        hierarchies = self.policy.needed_schema.hierarchies
        return {name: hierarchies[name] for name in hierarchies if name not in names}

    def costs(self) -> Iterator[str]:
        """Yield sentences on columns that give the secret away, or that cost much detail.

        Nothing is said where little is lost.
        """
        kept_detail, sample, schema = self._kept_detail, self._sample, self.policy.needed_schema
        if (
            kept_detail is None
            or sample is None
            or not (kept_detail.lost or kept_detail.loss({}) >= _MUCH)
        ):
            return
        # Columns of which next to nothing is left may tell the secret, and so cost the others much.
        revealing = given_away(self._written, self.policy, kept_detail.lost)
        for column in revealing:
            sentence = column.said(schema.sensitive, self._microdata.n_people)
            yield (
                f"{DECIDE}: {sentence}. If this column says the same as the sensitive one, leave "
                "it out, or make it sensitive, too"
            )
        sampled = ""
        if sample.n_people < self._microdata.n_people:
            sampled = f" (of {sample.n_people:,} rows)"
        revealing_names = [column.column for column in revealing]
        possible = savings(self._method, sample, self.policy, kept_detail, revealing_names)
        for saving in worth_saying(possible, revealing_names):
            sentence = f"{saving}{sampled}"
            if saving.startswith("Without"):
                sentence = f"{DECIDE}: {sentence}. If readers can do without it, leave it out"
            yield sentence


def _are_texts(domain: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in domain)
