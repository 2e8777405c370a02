"""Count queries: drawn at random, and answered from a table and from either form of its release."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, FloatArray, IntArray, combine, count_pairs
from foreknow.data.columns.attribute import Attribute
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.counts import GroupCounts
from foreknow.data.digests import printed
from foreknow.data.labels.generalization import KnownLabels, style_of, wording_of
from foreknow.data.labels.labels import text_of
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.utility import given_groups
from foreknow.errors import did_you_mean
from foreknow.features.utility.value_positions import (
    Covers,
    all_positions,
    codes_of_texts,
    covers_of_groups,
    covers_of_texts,
    positions_of,
)
from foreknow.numbers import is_real, whole_number
from foreknow.policy.call_arguments import microdata_of
from foreknow.policy.options import weights_of
from foreknow.policy.policy import Policy
from foreknow.publishing.publish import Publication
from foreknow.wording import people_text
from foreknow.written_releases.members import shown_of
from foreknow.written_releases.written_release import Published, as_opened
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.numbers import read_number
from foreknow_judge.policy.grammar import Form

# What some cells have for some queries, shape (cells, queries).
Factor: TypeAlias = Callable[[slice], NDArray[Any]]

# How many random numbers are drawn at once.
_DRAWN = 1 << 20
# How many cells, and how many queries, are worked on at once: they stay in the cache; and numbers
# of a table that is made for some queries.
_BLOCK, _QUERIES, _MOST_NUMBERS = 1024, 256, 1 << 20


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries that count people by a set of values in each of some columns."""

    attributes: list[Attribute]
    asked_values: list[BoolArray]  # of each attribute, by value and query
    values: BoolArray  # of the sensitive column, by value and query
    predicates: int  # how many attributes each asks about
    selectivity: float
    ranges: bool
    delta: float
    seed: int | None

    def __len__(self) -> int:
        return int(self.values.shape[1])


def draw_queries(
    microdata: Microdata,
    *,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    delta: float = 0.005,
    seed: int | None = 0,
    like: Microdata | None = None,
) -> Queries:
    """Draw queries as in the experiments on Anatomy.

    Each query asks about `predicates` quasi-identifiers, drawn at random, and about the sensitive
    attribute: for ``ceil(|domain| * selectivity ** (1 / (predicates + 1)))`` values of each. They
    are a random run of the domain where it has an order, else a random subset. The domain is
    what occurs in the table. A missing value is never asked for. `delta`, `like`: see
    `query_error`.

    A mask for each attribute (values x queries) says which values a query asks for.
    """
    if not is_real(delta) or not 0 < delta <= 1:
        raise InputError(f"delta is a share of the people, above 0 to 1, not {delta!r}")
    source = microdata if like is None else like
    attribute_of_name = {attribute.name: attribute for attribute in source.attributes}
    names = _asked_names(attributes, list(attribute_of_name))
    n_predicates = len(names) if predicates is None else predicates
    whole_number(queries, "queries", 1)
    whole_number(n_predicates, "predicates", 1)
    if n_predicates > len(names):
        raise InputError(
            f"predicates = {n_predicates}, but there are only {len(names)} attributes to ask about"
        )
    if not is_real(selectivity) or not 0 < selectivity <= 1:
        raise InputError(f"selectivity must be above 0 and at most 1, not {selectivity!r}")
    if seed is not None:
        whole_number(seed, "the seed", 0)
    random = np.random.default_rng(seed)
    # The sensitive value is one predicate more; all together match the share that is asked for.
    share = selectivity ** (1 / (n_predicates + 1))
    # Which attributes each query asks about.
    attribute_order = np.argsort(random.random((queries, len(names))), axis=1)
    is_asked = np.zeros((len(names), queries), dtype=bool)
    is_asked[attribute_order[:, :n_predicates].T, np.arange(queries)] = True
    asked_attributes = [attribute_of_name[name] for name in names]
    asked_values = []
    for attribute, asking_queries in zip(asked_attributes, is_asked, strict=True):
        # A missing value is the first of the domain, and never asked for.
        first_value = int(attribute.domain[0] is None)
        size = len(attribute.domain) - first_value
        if not size:
            raise DataError(f"{attribute.name!r} is missing everywhere; there is nothing to ask")
        in_order = ranges and attribute.order == "ordered"
        draw = _random_runs if in_order else _random_subsets
        values_asked = draw(size, _n_asked_for(share, size), queries, random)
        # Queries that do not ask about the attribute want all its values.
        is_wanted = np.ones((len(attribute.domain), queries), dtype=bool)
        is_wanted[:first_value, asking_queries] = False
        is_wanted[first_value:, asking_queries] = values_asked[:, asking_queries]
        asked_values.append(is_wanted)
    n_values = len(source.values)
    values = _random_subsets(n_values, _n_asked_for(share, n_values), queries, random)
    drawn_queries = Queries(
        attributes=asked_attributes,
        asked_values=asked_values,
        values=values,
        predicates=n_predicates,
        selectivity=float(selectivity),
        ranges=ranges,
        delta=float(delta),
        seed=seed,
    )
    return drawn_queries if like is None else _recoded(drawn_queries, microdata, like)


def _recoded(queries: Queries, microdata: Microdata, like: Microdata) -> Queries:
    """The same queries in the codes of `microdata`, which reads the table by another schema.

    `like` is the table by the schema with which the queries were drawn. Refused if a column that
    they ask about is no quasi-identifier now.
    """
    attribute_of = {attribute.name: attribute for attribute in microdata.attributes}
    asked_names = [attribute.name for attribute in queries.attributes]
    if unknown_names := [name for name in asked_names if name not in attribute_of]:
        common = [attribute.name for attribute in like.attributes if attribute.name in attribute_of]
        raise InputError(
            f"queries about {unknown_names[0]!r} cannot be asked where it is no quasi-identifier; "
            f"ask both releases about attributes = {common}"
        )
    if like.schema.sensitive != microdata.schema.sensitive:
        raise InputError(
            f"queries about {like.schema.sensitive!r} cannot be asked of a release that hides "
            f"{microdata.schema.sensitive!r}"
        )
    attributes, asked_values = [attribute_of[name] for name in asked_names], []
    for attribute, is_wanted in zip(queries.attributes, queries.asked_values, strict=True):
        domain = attribute_of[attribute.name].domain
        asked_values.append(_reordered(is_wanted, attribute.domain, domain, attribute.name))
    column = like.schema.sensitive
    values = _reordered(queries.values, like.values, microdata.values, column)
    return replace(queries, attributes=attributes, asked_values=asked_values, values=values)


def _reordered(
    is_wanted: BoolArray, values_before: Sequence[Any], values: Sequence[Any], name: str
) -> BoolArray:
    """A mask (values x queries) over `values_before`, in the order of `values` of a column `name`.

    Values are matched by how they print. Refused if one list has values that the other lacks.
    """
    texts_before = [None if value is None else text_of(value) for value in values_before]
    texts = [None if value is None else text_of(value) for value in values]
    position = {text: i for i, text in enumerate(texts_before)}
    if {*texts} != {*position}:
        raise InputError(
            f"the two policies read other values in {name!r}; give its type in both: "
            "types in [schema]"
        )
    return is_wanted[[position[text] for text in texts]]


def _asked_names(attributes: Sequence[str] | None, allowed: list[str]) -> list[str]:
    """The quasi-identifiers that are asked about; all that are allowed if none are named."""
    if attributes is None:
        return allowed
    if isinstance(attributes, str) or not attributes:
        raise InputError("attributes must be a list of at least one quasi-identifier")
    names = list(attributes)
    for name in names:
        if name not in allowed:
            hint = did_you_mean(str(name), allowed)
            raise InputError(f"attributes: {name!r} is no quasi-identifier{hint}")
    if len(set(names)) < len(names):
        raise InputError("attributes: a quasi-identifier is named twice")
    return names


def _n_asked_for(share: float, size: int) -> int:
    """How many of `size` values are asked for: the smallest number that is at least this share."""
    # A product such as 10 * 0.3 must not be rounded up for its last bit.
    return min(size, max(1, math.ceil(size * share - 1e-9)))


def _random_runs(size: int, width: int, queries: int, random: np.random.Generator) -> BoolArray:
    """A mask (values x queries): for each query a random run of `width` neighbouring values."""
    start = random.integers(size - width + 1, size=queries)
    position = np.arange(size)[:, None]
    return (start <= position) & (position < start + width)


def _random_subsets(size: int, width: int, queries: int, random: np.random.Generator) -> BoolArray:
    """A mask (values x queries): for each query a random subset of `width` values."""
    is_chosen = np.zeros((size, queries), dtype=bool)
    # As many queries at once as there may be random numbers in memory.
    step = max(1, _DRAWN // size)
    for start in range(0, queries, step):
        block = np.arange(start, min(start + step, queries))
        # The values with the smallest of random numbers.
        numbers = random.random((len(block), size))
        values_asked = np.argpartition(numbers, width - 1, axis=1)[:, :width]
        is_chosen[values_asked.T, block] = True
    return is_chosen


@dataclass(frozen=True, eq=False)
class Boxes:
    """A generalized release: what the groups cover, and how often each has each value."""

    covers: list[Covers]  # one per attribute that is asked about
    counts: GroupCounts  # its values are those of the queries, by the same codes
    weights: FloatArray | None = None  # of each group, if it shows those of a survey

    def answers(self, queries: Queries) -> FloatArray:
        """The answer to each query, if everybody is equally likely to be anywhere in their box.

        A box is what a group's labels cover. A cell is a group with one of its values; its people
        count by the share of the box that the query asks for, attribute by attribute.
        """
        counts = self.counts
        codes = [*(cover.of_group[counts.cell_groups] for cover in self.covers), counts.codes]

        def factors(chosen: slice) -> list[Factor]:
            """For some queries: the share of each attribute, and 0 or 1 for the sensitive value."""
            pairs = zip(self.covers, queries.asked_values, strict=True)
            shares = [cover.shares(is_wanted[:, chosen]) for cover, is_wanted in pairs]
            return _looked_up([*shares, queries.values[:, chosen]], codes)

        amounts: NDArray[Any] = counts.counts
        if self.weights is not None:
            amounts = amounts * self.weights[counts.cell_groups]
        return _weighted_sums(factors, amounts, len(queries), max(map(len, self.covers)))


@dataclass(frozen=True, eq=False)
class Buckets:
    """A bucketized release: who is in each group, and how often each has each value."""

    of_cell: IntArray  # the group of each cell; in order
    codes: list[IntArray]  # of each attribute that is asked about: the value of each cell
    people: IntArray  # of each cell
    counts: GroupCounts  # these two as in `Boxes`
    weights: FloatArray | None = None

    def answers(self, queries: Queries) -> FloatArray:
        """The answers if everybody in a group is equally likely to have each value of its bag."""

        def factors(chosen: slice) -> list[Factor]:
            attribute_factors = _looked_up(
                [wanted_values[:, chosen] for wanted_values in queries.asked_values], self.codes
            )
            wanted_values = queries.values[:, chosen].astype(float)
            return [
                *attribute_factors,
                lambda block: self._shares(self.of_cell[block], wanted_values),
            ]

        amounts: NDArray[Any] = self.people
        if self.weights is not None:
            amounts = amounts * self.weights[self.of_cell]
        return _weighted_sums(factors, amounts, len(queries))

    def _shares(self, groups: IntArray, wanted_values: FloatArray) -> FloatArray:
        """How many occurrences of the wanted values there are per person, by group and query.

        `groups` are in order; `wanted_values` has a row for each value and a column for each query.

        A group's bag is its values with their counts.
        """
        # Only the groups from the first to the last of the block.
        counts, first, end = self.counts, int(groups[0]), int(groups[-1]) + 1
        offsets = counts.offsets[first : end + 1]
        cells = slice(int(offsets[0]), int(offsets[-1]))
        occurrences = wanted_values[counts.codes[cells]]
        # Summed over the values of each group; groups without any have no cells to sum.
        occurrences *= counts.counts[cells, None]
        shares = np.zeros((end - first, wanted_values.shape[1]))
        has_cells = np.diff(offsets) > 0
        if has_cells.any():
            shares[has_cells] = np.add.reduceat(
                occurrences, offsets[:-1][has_cells] - offsets[0], axis=0
            )
        shares /= counts.sizes[first:end, None]
        return shares[groups - first]


def true_answers(
    microdata: Microdata, queries: Queries, weight_of_person: FloatArray | None = None
) -> FloatArray:
    """The true answer to each query: people, or values if people may have several.

    With the survey weight of each person, people count by their weights.
    """
    # Equal people are counted together: a cell is a combination of all the values asked about.
    holdings = microdata.holdings
    columns = [attribute.codes[holdings.people] for attribute in queries.attributes]
    asked_values = [*queries.asked_values, queries.values]
    cell, first = combine([*columns, holdings.values], list(map(len, asked_values)))
    codes = [column[first] for column in (*columns, holdings.values)]

    def factors(chosen: slice) -> list[Factor]:
        # People of a cell count if all their values are asked for: all factors are 0 or 1.
        return _looked_up([is_wanted[:, chosen] for is_wanted in asked_values], codes)

    weights = None if weight_of_person is None else weight_of_person[holdings.people]
    return _weighted_sums(factors, np.bincount(cell, weights), len(queries))


def _looked_up(tables: Sequence[NDArray[Any]], codes: Sequence[NDArray[Any]]) -> list[Factor]:
    """For each table, a function that gives its rows for the codes of a block of cells."""

    def factor(table: NDArray[Any], code: NDArray[Any]) -> Factor:
        return lambda block: table[code[block]]

    return [factor(table, code) for table, code in zip(tables, codes, strict=True)]


def _weighted_sums(
    factors: Callable[[slice], list[Factor]],
    weights: NDArray[Any],
    n_queries: int,
    most_rows: int = 1,
) -> FloatArray:
    """The answer to each query: the sum over cells of a weight times all factors.

    `factors` makes, for a slice of queries, functions that give a factor for each cell of a block
    and each query. Blocks are small enough for the processor's cache; the largest table that a
    factor is looked up in has `most_rows` rows.
    """
    step = min(_QUERIES, max(1, _MOST_NUMBERS // max(1, most_rows)))
    answers = []
    for first in range(0, n_queries, step):
        # The last factor is not multiplied into the products of the others in place: it may be of
        # another type.
        *first_factors, last = factors(slice(first, first + step))
        total: Any = 0.0
        for start in range(0, len(weights), _BLOCK):
            block = slice(start, start + _BLOCK)
            products = first_factors[0](block)
            for factor in first_factors[1:]:
                products *= factor(block)
            total = total + weights[block].astype(float) @ (products * last(block))
        answers.append(total)
    return np.concatenate(answers)


def shown_by_groups(
    microdata: Microdata,
    groups: NDArray[Any],
    form: Form,
    attributes: Sequence[Attribute],
    floors: Mapping[str, IntArray],
    styles: Mapping[str, str],
    *,
    weighted: bool = False,
) -> Boxes | Buckets:
    """A reader's view of some attributes: boxes (generalized) or buckets (bucketized).

    `groups` is the group of each row. Both can count answers to queries.

    `floors` is the lowest level of each group's labels by column, `styles` how labels are written.
    If `weighted`, each group shows the mean of its people's survey weights.
    """
    # Groups are numbered from 0, and people who are left out are in none.
    group_numbers, group_of_person = np.unique(given_groups(microdata, groups), return_inverse=True)
    group_of_person = group_of_person.reshape(-1).astype(np.int64)
    weights = None
    if weighted:
        weights = np.bincount(group_of_person, microdata.weights) / np.bincount(group_of_person)
    given = {name: np.asarray(levels)[group_numbers] for name, levels in floors.items()}
    view = VIEWS[form](microdata, group_of_person, attributes, given, styles)
    return replace(view, weights=weights)


def _boxes(
    microdata: Microdata,
    groups: IntArray,
    attributes: Sequence[Attribute],
    floors: Mapping[str, IntArray],
    styles: Mapping[str, str],
) -> Boxes:
    """The view of a reader to whom groups show labels."""
    covers, counts = list[Covers](), microdata.counts(groups)
    for attribute, positions in zip(attributes, all_positions(microdata, attributes), strict=True):
        style = style_of(attribute, styles.get(attribute.name))
        floor = floors.get(attribute.name)
        covers.append(covers_of_groups(attribute, positions, groups, counts.n_groups, style, floor))
    return Boxes(covers, counts)


def _buckets(
    microdata: Microdata, groups: IntArray, attributes: Sequence[Attribute], *_: Any
) -> Buckets:
    """The view of a reader to whom a release shows everybody's exact columns, by group.

    People with equal ones in one group are counted together.
    """
    counts = microdata.counts(groups)
    columns = [attribute.codes for attribute in attributes]
    sizes = [len(attribute.domain) for attribute in attributes]
    point_of_person, first_person = combine(columns, sizes)
    offsets, points, people = count_pairs(
        groups, point_of_person, counts.n_groups, len(first_person)
    )
    group_of_cell = np.repeat(np.arange(counts.n_groups), np.diff(offsets))
    codes = [column[first_person].astype(np.int64)[points] for column in columns]
    return Buckets(group_of_cell, codes, people, counts)


VIEWS: dict[Form, Callable[..., Boxes | Buckets]] = {"generalized": _boxes, "bucketized": _buckets}


@dataclass(frozen=True, eq=False)
class ReleaseReader:
    """A release, and how it is written."""

    release: Release
    styles: Mapping[str, str]
    labels: Mapping[str, KnownLabels] = field(default_factory=dict)  # what is known beside the text
    exact: frozenset[str] = frozenset()  # columns that are known not to be rounded
    weights: Mapping[str, float] = field(default_factory=dict)  # what columns count in the NCP
    beside: Sequence[str] = ()  # columns that are published unchanged, by the certificate

    def shown(self, microdata: Microdata, attributes: Sequence[Attribute]) -> Boxes | Buckets:
        """A reader's view of some attributes: boxes if they are labelled, else buckets.

        Values get the codes of the raw table `microdata`; refused if the release has more people.
        """
        release = self.release
        counts = _same_values(release.counts, microdata)
        if counts.n_people > microdata.n_people:
            raise DataError(
                f"{release.name} has {people_text(counts.n_people)}, {microdata.name} "
                f"only {microdata.n_people}; give the table that the release was made of"
            )
        names = [attribute.name for attribute in attributes]
        weights = self._weights_of_groups(microdata)
        # Columns by which groups are labelled are coarsened; any others are exact for each person.
        if set(names) <= set(release.group_columns):
            return Boxes(self._covers(names, microdata, attributes), counts, weights)
        signatures = release.signatures(names)
        group_of_cell = np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets))
        codes = []
        for i, attribute in enumerate(attributes):
            attribute_codes = codes_of_texts(
                attribute, [signature[i] for signature in signatures.labels]
            )
            codes.append(attribute_codes[signatures.codes])
        return Buckets(group_of_cell, codes, signatures.people, counts, weights)

    def _weights_of_groups(self, microdata: Microdata) -> FloatArray | None:
        """The mean survey weight of each group, as the release shows it; None if it shows none."""
        release, name = self.release, microdata.schema.weights
        is_shown = name in (*release.other, *self.beside)
        if name is None or not is_shown or microdata.schema.several:
            return None
        signatures, sizes = release.signatures([name]), release.counts.sizes
        weights = []  # of the signatures
        for (text,) in signatures.labels:
            number = read_number(text or "")
            if number is None or number <= 0:
                raise DataError(f"{release.name} has the weight {text!r} in {name!r}")
            weights.append(float(number))
        group_of_cell = np.repeat(np.arange(len(sizes)), np.diff(signatures.offsets))
        amounts = np.array(weights)[signatures.codes] * signatures.people
        return np.bincount(group_of_cell, amounts, len(sizes)) / sizes

    def _covers(
        self, names: Sequence[str], microdata: Microdata, attributes: Sequence[Attribute]
    ) -> list[Covers]:
        """The values that each group's label covers, for each of these attributes.

        Labels are texts; how they read depends on the style of the column and on what is known of
        its labels beside the text.
        """
        columns, labels = self.release.group_columns, list(self.release.counts.groups or ())
        # With one column, a label is not in a tuple.
        if len(columns) == 1:
            labels = [label if isinstance(label, tuple) else (label,) for label in labels]
        covers = []
        positions_of_attributes = all_positions(microdata, attributes)
        all_rounded = microdata.rounded(self.styles, self.exact).attributes
        rounded = {attribute.name: attribute for attribute in all_rounded}
        for name, attribute, positions in zip(
            names, attributes, positions_of_attributes, strict=True
        ):
            position = columns.index(name)
            texts: list[Any] = [label[position] for label in labels]  # type: ignore[index]
            style = style_of(attribute, self.styles.get(attribute.name))
            label_meanings = self.labels.get(name)
            # Publishing rounds some columns before it groups them; their labels are of rounded
            # values. Labels of other makers are of values.
            if not attribute.cells:
                as_rounded = rounded[attribute.name]
                cells = as_rounded.cells
                if cells is not None and wording_of(as_rounded, style).read_all(texts) is not None:
                    attribute, positions = as_rounded, positions_of(cells.values, cells.grid)
            meanings = label_meanings.of(attribute) if label_meanings is not None else None
            covers.append(
                covers_of_texts(attribute, positions, texts, style, meanings, microdata.times)
            )
        return covers


def release_and_table(
    release: Any,
    table: Any,
    policy: Policy | Mapping[str, Any] | str | Path | None,
    rules: Mapping[str, Any],
) -> tuple[Any, Microdata]:
    """The release, opened, and its raw table, with the rows that the release shows.

    If no policy is given, a publication's own is used.

    A release may be a path, a publication, a `Release` or a frame. `rules` name roles of columns in
    place of a policy.
    """
    if isinstance(table, Publication) and not isinstance(release, Publication):
        release, table = table, release  # given in the other order
    is_read = isinstance(table, Microdata)
    if (
        not is_read
        and policy is None
        and not any(rules.values())
        and isinstance(release, Publication)
    ):
        policy = release.audit.policy
    microdata = microdata_of(table, policy, rules)
    # A folder, or a file in it, has a certificate that says which rows were published.
    path = file_of(release)
    if path is not None:
        is_opened = path.is_dir() or path.with_name(CERTIFICATE).exists()
        if is_opened:
            microdata = shown_of(path if path.is_dir() else path.parent, microdata)
    elif isinstance(release, Publication):
        is_opened, microdata = True, release.shown(microdata)
    elif isinstance(release, Published):
        is_opened, microdata = True, shown_of(release.folder, microdata)
    else:
        is_opened = isinstance(getattr(release, "release", release), (Release, Microdata))
    # A frame is not opened yet: it is read as a release by the columns of the table.
    if is_opened:
        return release, microdata
    return Release.from_schema(release, microdata.schema), microdata


def release_reader(release: Any, styles: Mapping[str, str] | None = None) -> ReleaseReader:
    """A reader of a release; `styles`, or else its certificate, say how labels are written."""
    release = as_opened(release)
    table = getattr(release, "release", release)
    if not isinstance(table, Release):
        raise InputError(
            f"expected a release, not {type(release).__name__}: what foreknow.publish returns, "
            "the path of the folder that it was written to, or a Release, such as "
            "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)"
        )
    if table is release:
        return ReleaseReader(table, dict(styles or {}))
    certificate = release.certificate
    options = certificate.policy.get("publish", {})
    # What is read back from a file has no meanings beside its texts.
    meanings = release.labels if isinstance(release, Publication) and styles is None else {}
    if styles is None:
        styles = options.get("labels", {})
    # Columns with a grid were rounded to it, and their labels are ranges.
    exact = frozenset(certificate.groups) - set(certificate.grids)
    styles = {**dict.fromkeys(certificate.grids, "range"), **styles}
    weights = weights_of(options.get("weights", {}))
    return ReleaseReader(table, styles, meanings, exact, weights, certificate.beside)


def _same_values(counts: GroupCounts, microdata: Microdata) -> GroupCounts:
    """The counts of a release, with its values numbered as in the table.

    Values are matched by how they print; one that the table lacks is refused.
    """
    # A value may be written as a text or as its own type prints.
    coded_values = [*enumerate(microdata.values)]
    code_of_text = {printed(value): code for code, value in coded_values}
    code_of_text |= {str(value): code for code, value in coded_values}  # wins where both are alike
    codes = np.empty(len(counts.values), dtype=np.int64)
    for code, value in enumerate(counts.values):
        text = str(value) if str(value) in code_of_text else printed(value)
        if text not in code_of_text:
            raise DataError(
                f"{microdata.name} has nobody with the sensitive value {str(value)!r}, which is "
                "in the release; give the table that the release was made from"
            )
        codes[code] = code_of_text[text]
    return GroupCounts.from_pairs(
        counts.cell_groups,
        codes[counts.codes],
        values=microdata.values,
        n_groups=counts.n_groups,
        groups=counts.groups,
        weights=counts.counts,
        sizes=counts.sizes,
        semantics=counts.semantics,
    )
