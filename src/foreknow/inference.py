"""Attribute inference: classifiers that were trained on a release guess what people have.

A second opinion beside what `Learned` estimates, measured as in M. Giomi, F. Boenisch, C. Wehmeyer,
B. Tasnadi, "A unified framework for quantifying privacy risk in synthetic data" (Anonymeter, PETS
2023), and M. Templ, O. Thees, R. Mueller, "RAPID: risk of attribute prediction-induced disclosure
in synthetic microdata" (2026). It is for a report, and never a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.learned.expectation import LEARNING, Expected, Layout
from foreknow.adversaries.priors.signature_groups import FloatArray, SignatureGroups
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.release import Release
from foreknow.data.sights import covered, placed
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.errors import DataError, InputError, UnsupportedError, did_you_mean, hinted
from foreknow.numbers import Number, as_threshold, whole_number
from foreknow.policy.policy import Policy
from foreknow.publishing.members import OwnRelease, groups_of, held_values, table_schema
from foreknow.result import Result

# Groups are dealt out into so many parts; people of one are guessed by what others teach.
FOLDS = 3
# People of a part that are guessed, and learned from, at most.
MOST_GUESSED, MOST_LEARNED = 10_000, 50_000
# Groups that it takes, and people.
LEAST_GROUPS, LEAST_PEOPLE = 2 * FOLDS, 30
# The trees: how many, and how many people a leaf has at least.
_TREES, _LEAF = 50, 20
# A column of more labels than this is known by their order alone.
_MOST_LABELS = 32
# So much of what everybody has is mixed into what a classifier says: nothing is impossible.
_MIXED = 0.01
# How often bags are spread again, at most, as a classifier says.
_ROUNDS = 8
_NORMAL = 1.959963984540054  # of 95%


@dataclass(frozen=True)
class Rate:
    """How many of some people something holds for, with an interval.

    The share lies between `low` and `high` in 95 of 100 samples (Wilson's interval; members of one
    group count as far as they tell of each other).
    """

    right: int
    people: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of people."""
        return self.right / self.people

    @classmethod
    def of(cls, right: NDArray[np.bool_], cluster: IntArray) -> Rate:
        """Count people; those of one cluster are drawn together."""
        n = len(right)
        share = float(right.mean())
        each = np.bincount(cluster, right - share)
        apart = float((each**2).sum()) / n**2
        worth = min(share * (1 - share) / apart, n) if apart > 0 else len(np.unique(cluster))
        middle = (share + _NORMAL**2 / (2 * worth)) / (1 + _NORMAL**2 / worth)
        half = sqrt(share * (1 - share) / worth + _NORMAL**2 / (4 * worth**2))
        half *= _NORMAL / (1 + _NORMAL**2 / worth)
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return cls(int(right.sum()), n, min(low, share), max(high, share))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "share": self.share}


@dataclass(frozen=True, eq=False, repr=False)
class InferenceAttack(Result):
    """How many people classifiers guess right, with a release and without it: estimates.

    Attributes
    ----------
    name, sensitive : str
    columns : tuple of str
        What is known of everybody.
    attack : Rate
        By a classifier that was trained on the other groups of the release as published, and by
        the bag of the person's own group.
    statistics : Rate
        By that classifier alone.
    baseline : Rate
        By a classifier of the same kind that never saw the release: it was trained on who has
        what, of the control, or of other people of the table.
    groups : Rate
        By the group's most frequent value.
    excess, low, high : float
        What share of the people that the baseline does not guess the attack does, net:
        (attack - baseline) / (1 - baseline), and its interval of 95%.
    at_risk, at_risk_before : Rate
        Of whose value the attack, or the baseline, is so much surer than its frequency makes
        anybody: (sure - frequent) / (1 - frequent) is above `threshold`.
    threshold : float
    control : int or None
        How many people the baseline was trained on who are not in the table.
    learned_from : int
        How many people each classifier was trained on, at most.
    classifier : str
    seed : int
    """

    format = "foreknow inference"

    name: str
    sensitive: str
    columns: tuple[str, ...]
    attack: Rate
    statistics: Rate
    baseline: Rate
    groups: Rate
    excess: float
    low: float
    high: float
    at_risk: Rate
    at_risk_before: Rate
    threshold: float
    control: int | None
    learned_from: int
    classifier: str
    seed: int

    def _content(self) -> dict[str, Any]:
        rates = ("attack", "statistics", "baseline", "groups", "at_risk", "at_risk_before")
        return {
            "release": self.name,
            "sensitive": self.sensitive,
            "by": list(self.columns),
            "estimate": True,
            **{name: getattr(self, name).to_dict() for name in rates},
            "excess": {"share": self.excess, "low": self.low, "high": self.high},
            "threshold": self.threshold,
            "control": self.control,
            "learned_from": self.learned_from,
            "classifier": self.classifier,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return (
            f"InferenceAttack({self.name}: guesses about {self.attack.share:.1%} right, "
            f"{self.baseline.share:.1%} without the release)"
        )


@hinted
def inference_attack(
    release: Any,
    people: Any,
    control: Any = None,
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    members: str | Path | None = None,
    sensitive: str | None = None,
    threshold: Number = "0.3",
    classifier: Any = None,
    seed: int = 0,
) -> InferenceAttack:
    """Train a classifier on a release, and count how many people it guesses right.

    The groups are dealt out into three parts. To guess the people of one, the classifier is trained
    on the others as they are published: bags are spread over the members of their groups, and
    generalized labels are boxes. What it says of everybody in a group is then put together with the
    group's bag. It is compared with one that was trained on who has what, without the release.

    Parameters
    ----------
    release : Publication, folder that `publish` wrote, or generalized Release
    people : Microdata, path or frame
        The table that the release was made of: who has what is only counted.
    control : Microdata, path or frame, optional
        People who are not in the table, with the same columns, for the baseline. Without it the
        baseline is trained on other people of the table.
    policy : Policy, path or mapping, optional
        Says how `people` is read, where the certificate does not say it all.
    members : path, optional
        The owner's ``members.parquet`` of a folder; the one of ``FOLDER.owner`` when left out.
    sensitive : str, optional
        Of several sensitive columns, the one that is guessed.
    threshold : number
        From which share of the way to certainty on people count as at risk.
    classifier : object, optional
        Of scikit-learn, with ``sample_weight`` and ``predict_proba``; extremely randomized trees
        when left out.
    seed : int
        For the parts, for samples where there are many people, and for the trees.

    Returns
    -------
    InferenceAttack
        Shown by ``print(found.summary())``, ``found.to_html(path)`` and ``found.to_json(path)``.

    Raises
    ------
    InputError
        If scikit-learn is not installed, the table is another one, people have several values, or
        there are too few of them.

    Examples
    --------
    >>> from foreknow import sample
    >>> from foreknow.publishing.publish import publish
    >>> made = publish(sample.table_path(), sample.policy_path(), seed=1)
    >>> found = inference_attack(made, sample.table_path())
    >>> found.attack.people, found.attack.share > found.statistics.share
    (4000, True)
    """
    whole_number(seed, "the seed", 0)
    at = as_threshold(threshold)
    case = _case(release, people, policy, members, sensitive)
    outside = None if control is None else _control(control, case)
    make = _Maker.of(classifier, case.n_values, seed)
    random = np.random.default_rng(seed)
    n_groups = int(case.groups.max()) + 1
    if n_groups < LEAST_GROUPS or len(case.groups) < LEAST_PEOPLE:
        raise DataError(
            f"{case.name} has {len(case.groups)} people in {n_groups} groups; guesses are counted "
            f"from {LEAST_PEOPLE} people and {LEAST_GROUPS} groups on"
        )
    part = (random.permutation(n_groups) % FOLDS)[case.groups]
    found: list[_Guessed] = []
    most = 0
    for fold in range(FOLDS):
        others = _some(np.flatnonzero(part != fold), case.groups, MOST_LEARNED, random)
        own = _some(np.flatnonzero(part == fold), case.groups, MOST_GUESSED, random)
        rows = others if outside is None else _some_rows(outside.truth, MOST_LEARNED, random)
        taught = case if outside is None else outside
        before = make(taught.plain[rows], taught.truth[rows])
        most = max(most, len(others), len(rows))
        found.append(_guess(case, own, others, make, before))
    each = _Guessed.joined(found)
    truth, cluster = case.truth[each.people], case.groups[each.people]
    common = np.bincount(case.truth, minlength=case.n_values)[truth] / len(case.truth)
    limit = common + float(at) * (1 - common)
    right, known = each.attack == truth, each.baseline == truth
    more, low, high = _excess(right, known, cluster)
    return InferenceAttack(
        case.name,
        case.sensitive,
        case.columns,
        attack=Rate.of(right, cluster),
        statistics=Rate.of(each.statistics == truth, cluster),
        baseline=Rate.of(known, cluster),
        groups=Rate.of(each.groups == truth, cluster),
        excess=more,
        low=low,
        high=high,
        at_risk=Rate.of(each.attack_sure > limit, cluster),
        at_risk_before=Rate.of(each.before_sure > limit, cluster),
        threshold=float(at),
        control=None if outside is None else len(outside.truth),
        learned_from=most,
        classifier=make.name,
        seed=seed,
    )


# ---- who is guessed, and what is known of them ------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Case:
    """People of a release: the group of each, what each has, and what is known of each."""

    name: str
    sensitive: str
    columns: tuple[str, ...]
    groups: IntArray
    truth: IntArray
    n_values: int
    plain: FloatArray  # what is known of each, exactly
    exact: FloatArray  # the same as a classifier of the release knows it
    boxes: FloatArray | None  # of each, what is published of their group; None: as exact
    microdata: Microdata
    domain: tuple[str, ...]

    def laid(self, some: IntArray, *, published: bool = False) -> _Laid:
        """Some whole groups by kinds of people, as they are, or as far as their columns show."""
        shown = self.boxes if published and self.boxes is not None else self.exact
        kinds, kind = np.unique(shown[some], axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        group = np.unique(self.groups[some], return_inverse=True)[1].reshape(-1)
        n_groups = int(group.max()) + 1
        members = count_pairs(group, kind, n_groups, len(kinds))
        bags = count_pairs(group, self.truth[some], n_groups, self.n_values)
        groups = SignatureGroups(*members, *bags)
        return _Laid(kinds, kind, group, Layout.of(groups, LEARNING), self.n_values)


@dataclass(frozen=True, eq=False)
class _Laid:
    """Some groups, and kinds of people in them: those who are alike by what is known."""

    kinds: FloatArray
    kind: IntArray  # of everybody
    group: IntArray
    layout: Layout
    n_values: int

    def posteriors(self, chances: FloatArray) -> Expected:
        """How likely people of each kind of each group are to have what, by what is likely."""
        return self.layout.expected(chances[self.layout.signature, self.layout.value])

    def spread(self, posteriors: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """Known columns, values, and how many people have both."""
        layout, shape = self.layout, (len(self.kinds), self.n_values)
        weight = layout.times[layout.case] * layout.people * posteriors
        at = layout.signature * self.n_values + layout.value
        found = np.bincount(at, weight, minlength=shape[0] * shape[1]).reshape(shape)
        row, value = np.nonzero(found)
        return self.kinds[row], value.astype(np.int64), np.asarray(found[row, value], np.float64)


@dataclass(frozen=True, eq=False)
class _Outside:
    plain: FloatArray
    truth: IntArray


def _case(release: Any, people: Any, policy: Any, members: Any, sensitive: str | None) -> _Case:
    """Find everybody's group, and lay out what is known of them."""
    opened, microdata, groups = _placed(release, people, policy, members)
    schema = microdata.schema
    if schema.semantics != "single":
        raise UnsupportedError("a classifier guesses one value per person")
    column = next((c for c in microdata.sensitives if c.name == (sensitive or c.name)), None)
    if sensitive is not None and sensitive not in schema.sensitives:
        hint = did_you_mean(sensitive, schema.sensitives)
        raise InputError(f"{sensitive!r} is no sensitive column of the release{hint}")
    if column is None or (sensitive is None and len(schema.sensitives) > 1):
        raise InputError(
            f"say which column is guessed: sensitive = {' or '.join(map(repr, schema.sensitives))}"
        )
    counts, truth = opened.seen(column.name, []).counts, column.codes.astype(np.int64)
    if held_values(counts, groups, truth, column.domain) is None:
        raise _other(microdata)
    generalized = opened.by_values
    known = opened.layout.seen(column.name).known
    beside = known if generalized else dict.fromkeys((*schema.other, *known))
    more = [microdata.column(name) for name in beside]
    exact, boxes, plain = [], [], []
    labels: Any = counts.groups
    for attribute in microdata.attributes:
        plain.append(_exactly(attribute, attribute.codes, boxed=False))
        if not generalized:
            continue
        place = opened.group_columns.index(attribute.name)
        own = [label[place] if isinstance(label, tuple) else label for label in labels]
        shown, inside = covered(microdata, attribute.name, dict.fromkeys(own))
        exact.append(_exactly(shown, shown.codes, boxed=True))
        at = {label: i for i, label in enumerate(inside)}
        each = np.stack([_boxed(shown, mask) for mask in inside.values()])
        boxes.append(each[np.array([at[label] for label in own])][groups])
    aside = [_labels(codes, len(values)) for codes, values in more]
    if known:  # who differs in what is known is told apart
        divide = [microdata.column(name) for name in known]
        sizes = [counts.n_groups, *(len(values) for _, values in divide)]
        groups = combine([groups, *(codes for codes, _ in divide)], sizes)[0].astype(np.int64)
    base = np.hstack([*plain, *aside])
    return _Case(
        opened.name,
        column.name,
        (*schema.quasi_identifiers, *beside),
        groups,
        truth,
        len(column.domain),
        np.hstack(plain),
        np.hstack([*exact, *aside]) if generalized else base,
        np.hstack([*boxes, *aside]) if generalized else None,
        microdata,
        tuple(map(str, column.domain)),
    )


def _placed(
    release: Any, people: Any, policy: Any, members: Any
) -> tuple[Release, Microdata, IntArray]:
    """A release, its people, and the position of everybody's group in the counts."""
    rules = None if policy is None else Policy.of(policy)
    if isinstance(release, (str, Path)):
        own = OwnRelease.open(release, members, None if rules is None else rules.needed_schema)
        microdata = _as_microdata(people, table_schema(rules, own.published.certificate))
        own.refuse_other(microdata)
        return own.published.release, microdata, own.groups[microdata.kept]
    if members is not None:
        raise InputError("members is for a folder that publish wrote")
    if hasattr(release, "certificate") and hasattr(release, "audit"):
        microdata = _as_microdata(people, (rules or release.audit.policy).needed_schema)
        known, opened = release.certificate, release.release
        parts = release._placed.members()
        groups = np.concatenate([groups_of(p, known, opened.counts, escaped=False) for p in parts])
        if len(groups) != microdata.n_rows:
            raise _other(microdata)
        return opened, microdata, groups[microdata.kept]
    if not isinstance(release, Release) or not release.by_values:
        raise InputError(
            "give what fk.publish returned, the folder that it wrote, or a generalized Release: "
            f"of a {type(release).__name__}, who is in which group is not known"
        )
    if rules is None and not isinstance(people, Microdata):
        raise InputError("say how people is read: policy=, or fk.Microdata(table, schema)")
    microdata = _as_microdata(people, None if rules is None else rules.needed_schema)
    return release, microdata, placed(release, microdata)


def _as_microdata(people: Any, schema: Any) -> Microdata:
    return people if isinstance(people, Microdata) else Microdata(people, schema)


def _other(people: Microdata) -> DataError:
    return DataError(
        f"{people.name}, read as the policy says, is not the table that the release was made of"
    )


def _control(control: Any, case: _Case) -> _Outside:
    """People outside, as what is known of those inside is laid out; unknown values are dropped."""
    schema = case.microdata.schema
    own = _as_microdata(control, schema)
    if set(own.schema.quasi_identifiers) != set(schema.quasi_identifiers):
        raise DataError(f"{own.name}: control has other quasi-identifiers than the people")
    column = next((c for c in own.sensitives if c.name == case.sensitive), None)
    if column is None or own.schema.semantics != "single":
        raise DataError(f"{own.name} has no sensitive column {case.sensitive!r}")
    at = {value: i for i, value in enumerate(case.domain)}
    truth = np.array([at.get(str(value), -1) for value in column.domain])[column.codes]
    parts = []
    for attribute in case.microdata.attributes:
        (theirs,) = (a for a in own.attributes if a.name == attribute.name)
        parts.append(_exactly(attribute, *_translated(theirs, attribute), boxed=False))
    kept = truth >= 0
    if kept.sum() < LEAST_PEOPLE:
        raise DataError(
            f"{own.name}: {int(kept.sum())} people have values of the table; it takes "
            f"{LEAST_PEOPLE} to learn from"
        )
    return _Outside(np.hstack(parts)[kept], truth[kept].astype(np.int64))


def _translated(theirs: Attribute, ours: Attribute) -> tuple[IntArray, FloatArray]:
    """Codes of theirs in our domain, -1 where it has none; and where they lie."""
    at = {str(value): i for i, value in enumerate(ours.domain)}
    code = np.array([at.get(str(value), -1) for value in theirs.domain], dtype=np.int64)
    lie = np.where(code >= 0, ours.positions[np.maximum(code, 0)], -1.0)
    if ours.order == theirs.order == "ordered" and not ours.ancestors:
        lie = np.where(code >= 0, lie, theirs.positions)  # numbers and dates lie where they lie
    return code[theirs.codes], lie[theirs.codes]


# ---- features -----------------------------------------------------------------------------------


def _exactly(
    attribute: Attribute, codes: NDArray[Any], lie: FloatArray | None = None, *, boxed: bool
) -> FloatArray:
    """A column of people as numbers: where they lie, from and to; or which label they have."""
    if attribute.order == "nominal" and len(attribute.domain) <= _MOST_LABELS:
        return _labels(codes, len(attribute.domain))
    lie = attribute.positions[codes] if lie is None else lie
    return np.stack([lie, attribute.ends[codes]], axis=1) if boxed else lie[:, None]


def _boxed(attribute: Attribute, inside: NDArray[np.bool_]) -> FloatArray:
    """The same of a label: from the first to the last of what it stands for; or their shares."""
    if attribute.order == "nominal" and len(attribute.domain) <= _MOST_LABELS:
        return np.asarray(inside / max(inside.sum(), 1))
    codes = np.flatnonzero(inside)
    return np.array([attribute.positions[codes[0]], attribute.ends[codes[-1]]])


def _labels(codes: NDArray[Any], size: int) -> FloatArray:
    if size > _MOST_LABELS:
        return codes[:, None].astype(float)
    found: FloatArray = np.zeros((len(codes), size))
    held = np.flatnonzero(codes >= 0)
    found[held, codes[held]] = 1.0
    return found


# ---- guesses ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Maker:
    """How classifiers are made: as given, or trees whose leaves have so many people."""

    given: Any
    trees: Any
    n_values: int
    seed: int

    @classmethod
    def of(cls, given: Any, n_values: int, seed: int) -> _Maker:
        """Ask for scikit-learn, and check what was given."""
        try:
            trees = import_module("sklearn.ensemble").ExtraTreesClassifier
        except ImportError:
            raise InputError('classifiers need a package: pip install "foreknow[learn]"') from None
        known = isinstance(given, type) or not hasattr(given, "predict_proba")
        if given is not None and known:
            raise InputError(
                "classifier must be one of scikit-learn with predict_proba, such as "
                f"RandomForestClassifier(), not {given!r}"
            )
        return cls(given, trees, n_values, seed)

    @property
    def name(self) -> str:
        """What it is called."""
        return type(self.given).__name__ if self.given is not None else str(self.trees.__name__)

    def __call__(
        self, known: FloatArray, values: IntArray, weights: FloatArray | None = None
    ) -> _Trained:
        """Train one on people, some of whom count for less than one."""
        weights = np.ones(len(values)) if weights is None else weights
        if self.given is None:
            leaf = min(_LEAF / weights.sum(), 0.5)
            model = self.trees(_TREES, min_weight_fraction_leaf=leaf, random_state=self.seed)
        else:
            model = deepcopy(self.given)
            if "random_state" in model.get_params():
                model.set_params(random_state=self.seed)
        try:
            model.fit(known, values, sample_weight=weights)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name} cannot be trained: {error}") from None
        overall = np.bincount(values, weights, minlength=self.n_values) / weights.sum()
        return _Trained(model, overall)


@dataclass(frozen=True)
class _Trained:
    model: Any
    overall: FloatArray

    def chances(self, known: FloatArray) -> FloatArray:
        """How likely each value is for people."""
        found = np.zeros((len(known), len(self.overall)))
        found[:, self.model.classes_] = self.model.predict_proba(known)
        return np.asarray((1 - _MIXED) * found + _MIXED * self.overall)


@dataclass(frozen=True, eq=False)
class _Guessed:
    """Of people: what is guessed four ways, and how sure two of them are of what is true."""

    people: IntArray
    attack: IntArray
    statistics: IntArray
    baseline: IntArray
    groups: IntArray
    attack_sure: FloatArray
    before_sure: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[_Guessed]) -> _Guessed:
        """Those of several parts."""
        names = cls.__dataclass_fields__
        return cls(**{n: np.concatenate([getattr(part, n) for part in parts]) for n in names})


def _attacker(
    case: _Case, laid: _Laid, others: IntArray, make: _Maker
) -> tuple[_Trained, Expected]:
    """A classifier of a release, and what it makes of groups that it was not trained on."""
    shown = case.laid(others, published=True)
    trained = make(*shown.spread(shown.layout.alone))
    found = laid.posteriors(trained.chances(laid.kinds))
    for _ in range(_ROUNDS if case.boxes is None else 0):  # members with one box are alike
        again = make(*shown.spread(shown.posteriors(trained.chances(shown.kinds)).posteriors))
        after = laid.posteriors(again.chances(laid.kinds))
        if laid.layout.times @ after.weights <= laid.layout.times @ found.weights:
            break
        trained, found = again, after
    return trained, found


def _guess(
    case: _Case, own: IntArray, others: IntArray, make: _Maker, before: _Trained
) -> _Guessed:
    """Guess the people of some whole groups by what others teach."""
    laid = case.laid(own)
    attacker, found = _attacker(case, laid, others, make)
    layout, truth = laid.layout, case.truth[own]
    # Of each case, a table of kinds and values; everybody's row of it.
    n_kinds = len(laid.kinds)
    table = np.zeros((len(layout.cases.signatures), case.n_values))
    cell = np.cumsum(np.diff(layout.case * n_kinds + layout.signature, prepend=-1) != 0)
    table[cell - 1, layout.value] = found.posteriors
    which = np.repeat(np.arange(layout.cases.n_groups), np.diff(layout.cases.offsets))
    keys = which * n_kinds + layout.cases.signatures
    row = np.searchsorted(keys, layout.case_of[laid.group] * n_kinds + laid.kind)
    held = np.zeros((int(laid.group.max()) + 1, case.n_values))
    np.add.at(held, (laid.group, truth), 1.0)
    known = before.chances(case.plain[own])
    return _Guessed(
        own,
        table.argmax(axis=1)[row],
        attacker.chances(laid.kinds).argmax(axis=1)[laid.kind],
        known.argmax(axis=1),
        held.argmax(axis=1)[laid.group],
        table[row, truth],
        known[np.arange(len(own)), truth],
    )


def _some(rows: IntArray, groups: IntArray, most: int, random: np.random.Generator) -> IntArray:
    """People of whole groups, drawn at random where there are more."""
    if len(rows) <= most:
        return rows
    distinct, of_row = np.unique(groups[rows], return_inverse=True)
    order = random.permutation(len(distinct))
    sizes = np.bincount(of_row.reshape(-1))[order]
    enough = int(np.searchsorted(np.cumsum(sizes), most)) + 1
    kept = np.zeros(len(distinct), dtype=bool)
    kept[order[:enough]] = True
    return rows[kept[of_row.reshape(-1)]]


def _some_rows(truth: IntArray, most: int, random: np.random.Generator) -> IntArray:
    order = random.permutation(len(truth))[:most]
    return np.sort(order)


def _excess(
    attack: NDArray[np.bool_], baseline: NDArray[np.bool_], cluster: IntArray
) -> tuple[float, float, float]:
    """What the attack adds to the baseline, as a share of what is left, and its interval."""
    left = int((~baseline).sum())
    if not left:
        return 0.0, 0.0, 0.0
    more = (attack.astype(float) - baseline).sum() / left
    pull = (attack.astype(float) - baseline) - more * ~baseline
    spread = sqrt(float((np.bincount(cluster, pull) ** 2).sum())) / left
    return float(more), float(more - _NORMAL * spread), min(float(more + _NORMAL * spread), 1.0)
