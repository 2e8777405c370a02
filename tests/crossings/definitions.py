"""Criteria by their definitions, in fractions.

Each has three functions: what the groups of a release attain; a setting, which is what they attain
or a step beyond; and whether what is attained keeps a setting.
"""

import datetime as dt
import re
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from tests.oracle.labels import least_work, levels_apart


def number_of(value):
    """The number that a text is, or the day in days; None of any other text."""
    if re.fullmatch(r"-?\d+([.]\d+)?", value):
        return Fraction(value)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return Fraction(dt.date.fromisoformat(value).toordinal())
    return None


def bags_of(groups):
    return [Counter(v for member in group for v in member.values) for group in groups.values()]


def shares_of(bag):
    total = sum(bag.values())
    return {value: Fraction(n, total) for value, n in bag.items()}


def whole(bags):
    return shares_of(sum(bags, Counter()))


def sizes_of(case, groups):
    """How many people each group has: different ones, where rows are cases."""
    if case.schema.get("unit") == "row":
        return [len({member.person for member in group}) for group in groups.values()]
    return [len(group) for group in groups.values()]


class Criterion(NamedTuple):
    """How a criterion is measured, drawn and kept; `reached` is the figure of a verdict."""

    attained: Any  # (case, groups) -> what is attained
    drawn: Any  # (rng, attained) -> a [[require]] table
    keeps: Any  # (attained, table) -> bool
    reached: Any = None  # (attained) -> Fraction


def more(rng, attained):
    """A setting that must be reached: what is attained, or one more."""
    return int(attained) + rng.choice([0, 1])


def less(rng, attained, step=Fraction(1, 1000)):
    """A setting that must not be exceeded: what is attained, or a step less."""
    return str(attained - step * (attained >= step and rng.random() < 0.5))


def of_number(key, attained):
    """A criterion that is a whole number, which must be reached."""
    return Criterion(
        attained,
        lambda rng, least: {key: more(rng, least)},
        lambda least, table: least >= table[key],
        Fraction,
    )


def of_least(key, setting, attained, **others):
    """A criterion of a table in which a whole number must be reached."""
    return Criterion(
        attained,
        lambda rng, least: {key: {setting: more(rng, least), **others}},
        lambda least, table: least >= table[key][setting],
        Fraction,
    )


def of_distance(far):
    """t-closeness, of which `far` says how far a group is, and the settings of the distance."""
    return Criterion(
        far,
        lambda rng, far: {"t_closeness": {"t": less(rng, far[0]), **far[1]}},
        lambda far, table: far[0] <= Fraction(table["t_closeness"]["t"]),
        lambda far: far[0],
    )


def least_size(case, groups):
    return min(sizes_of(case, groups))


def classes_of(case, groups):
    """The people who look alike: those of a group, or in the bucketized form by exact values."""
    if not is_bucketized(case, groups):
        return groups
    results = {}
    for group in groups.values():
        for member in group:
            results.setdefault((member.alike,), []).append(member)
    return results


def is_bucketized(case, groups):
    """Whether groups have numbers in place of a label of each quasi-identifier."""
    number = len(case.schema["quasi_identifiers"])
    return number > 1 and any(len(key[0]) == 1 for key in groups)


def least_alike(case, groups):
    return min(sizes_of(case, classes_of(case, groups)))


def least_households(case, groups):
    return min(len({member.home for member in group}) for group in groups.values())


def of_bags(case, groups):
    return bags_of(groups)


def least_kinds(case, groups):
    return min(map(len, bags_of(groups)))


def keeps_entropy(bags, table):
    """Each group's entropy is at least ln(l): total^total >= l^total n^n ..."""
    n = table["l_diversity"]["l"]
    for bag in bags:
        total = sum(bag.values())
        if total**total < n**total * prod(own**own for own in bag.values()):
            return False
    return True


def _rates(bags, n):
    tops = [sorted(bag.values(), reverse=True) for bag in bags]
    return [Fraction(top[0], sum(top[n - 1 :])) if top[n - 1 :] else None for top in tops]


def draw_recursive(rng, bags):
    n = rng.choice([2, 2, 3])
    known = [rate for rate in _rates(bags, n) if rate is not None]
    c = max(known, default=Fraction(1)) + rng.choice([0, 1, Fraction(1, 1000)])
    return {"l_diversity": {"l": n, "kind": "recursive", "c": str(c)}}


def keeps_recursive(bags, table):
    """The most frequent value is below c times the sum from the l-th on."""
    own = table["l_diversity"]
    return all(r is not None and r < Fraction(own["c"]) for r in _rates(bags, own["l"]))


def alpha_and_k(case, groups):
    return max(max(shares_of(bag).values()) for bag in bags_of(groups)), least_alike(case, groups)


def far_equal(case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    return max(sum(abs(shares_of(bag).get(v, 0) - q[v]) for v in q) / 2 for bag in bags), {}


def in_order(values):
    return sorted(values, key=lambda v: (number_of(v) is None, number_of(v) or 0, v))


def far_ordered(case, groups):
    bags = bags_of(groups)
    q, far = whole(bags), Fraction(0)
    order = in_order(q)
    for bag in bags:
        gaps = [shares_of(bag).get(v, 0) - q[v] for v in order]
        work = sum(map(abs, accumulate(gaps)))
        far = max(far, work / (len(order) - 1) if len(order) > 1 else Fraction(0))
    return far, {"distance": "ordered", "order": order}


def tree_of(values):
    return [[v, "few" if i % 2 else "many", "*"] for i, v in enumerate(sorted(values))]


def far_in_tree(case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    rows = tree_of(q)
    distance, height = levels_apart(rows)
    values = sorted(q)
    far = max(least_work(shares_of(bag), q, values, distance, height) for bag in bags)
    return far, {"distance": "hierarchical", "tree": rows}


def most_above(case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    return max((p - q[v]) / q[v] for bag in bags for v, p in shares_of(bag).items())


def draw_beta(rng, most):
    beta = less(rng, most)
    return {"beta_likeness": {"beta": beta if Fraction(beta) else "1/1000", "enhanced": False}}


def times_of(case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    return [shares_of(bag).get(v, Fraction(0)) / q[v] for bag in bags for v in q]


# e^delta is not rational: a hair below and above ln 2, where no ratio of few people is between.
FACTORS = {"0.6931": Fraction(19999, 10000), "0.6932": Fraction(2), "1.5": Fraction(448, 100)}


def keeps_delta(times, table):
    factor = FACTORS[table["delta_disclosure"]["delta"]]
    return all(1 / factor <= time <= factor for time in times)


def risks(case, groups):
    sizes = [len(group) for group in classes_of(case, groups).values()]
    return {
        "prosecutor": Fraction(1, min(sizes)),
        "average": Fraction(len(sizes), sum(sizes)),
        "uniqueness": Fraction(sizes.count(1), sum(sizes)),
    }


def draw_risk(rng, found):
    name = rng.choice([*found])
    return {"risk": {name: less(rng, found[name])}}


def keeps_risk(found, table):
    return all(found[name] <= Fraction(limit) for name, limit in table["risk"].items())


def in_label(case, name, label, value):
    """Whether a value of a quasi-identifier lies in a label, as this generator's are written."""
    label = label or "missing"
    if value is None:
        return label == "*" or "missing" in label
    value, label = str(value), label.removesuffix(" or missing")
    if label in (value, "*"):
        return True
    hierarchy = case.schema.get("hierarchies", {}).get(name, {})
    if "mask" in hierarchy:
        stem = label.rstrip("*")
        return stem != label and value.startswith(stem)
    if "rows" in hierarchy:
        return any(row[0] == value and label in row for row in hierarchy["rows"])
    if "dates" in hierarchy:
        return value.startswith(label)
    if match := re.fullmatch(r"(\d+) or more", label):
        return Fraction(match[1]) <= Fraction(value)
    if " to " in label:
        low, high = label.split(" to ")
        return Fraction(low) <= Fraction(value) <= Fraction(high)
    return value in label.split(" | ")


def matches(case, labels):
    """How many of the population fit each label; how many fit none; whether anyone fits two."""
    names = case.schema["quasi_identifiers"]
    counts, outside, twice = Counter(), 0, False
    for person in case.population:
        fits = [
            label
            for label in set(labels)
            if all(
                in_label(case, name, part, person[name])
                for name, part in zip(names, label, strict=False)
            )
        ]
        counts.update(fits)
        outside += not fits
        twice |= len(fits) > 1
    return counts, outside, twice


def labels_of(case, groups):
    """How many people have each label; in the bucketized form, each combination of exact values."""
    number = len(case.schema["quasi_identifiers"])
    if is_bucketized(case, groups):
        return Counter(member.alike[:number] for group in groups.values() for member in group)
    return Counter({key[0]: 0 for key in groups})


def fewest_matches(case, groups):
    labels = labels_of(case, groups)
    found, _, _ = matches(case, [*labels])
    return min(found[label] for label in labels)


def presence(case, groups):
    exact = labels_of(case, groups)
    found, outside, twice = matches(case, [*exact])
    pairs = [(len(group), found[key[0]]) for key, group in groups.items()]
    if is_bucketized(case, groups):
        pairs = [(n, found[label]) for label, n in exact.items()]
    rates = [Fraction(n, of) for n, of in pairs]
    return Fraction(0) if outside else min(rates), max(rates), twice


def population_risks(case, groups):
    exact = labels_of(case, groups)
    found, _, _ = matches(case, [*exact])
    sizes = exact if is_bucketized(case, groups) else {key[0]: 0 for key in groups}
    if not is_bucketized(case, groups):
        for key, group in groups.items():
            sizes[key[0]] += len(group)
    total = sum(n for label, n in sizes.items() if found[label] == 1)
    return {
        "journalist": Fraction(1, min(found[label] for label in sizes)),
        "uniqueness": Fraction(total, sum(sizes.values())),
    }


def draw_population_risk(rng, found):
    name = rng.choice([*found])
    return {"population_risk": {name: less(rng, found[name])}}


def keeps_population_risk(found, table):
    own = {name: limit for name, limit in table["population_risk"].items() if name in found}
    return all(found[name] <= Fraction(limit) for name, limit in own.items())


def ways_of_levels(case):
    """What a policy may say of levels of this case's columns."""
    names = case.schema["quasi_identifiers"]
    hierarchies = case.schema.get("hierarchies", {})
    ways = [{"age": {"top": top}} for top in (24, 38, 40, 53) if "age" in names]
    if hierarchies.get("zip", {}).keys() & {"mask", "rows"}:
        ways += [{"zip": {"at_least": level}} for level in (1, 2)]
    return ways or [{"zip": {"at_least": 1}}]


def parts_of(label):
    return [*dict.fromkeys(label.split(" | "))]


def shows(case, name, label, own):
    """Whether a label shows more than it may: a number from the top on, or a finer node."""
    label = (label or "missing").removesuffix(" or missing")
    if label in ("*", "missing"):
        return False
    if "top" in own:
        if match := re.fullmatch(r"(\d+) or more", label):
            return int(match[1]) > own["top"]
        ends = [int(end) for part in parts_of(label) for end in re.findall(r"\d+", part)]
        return max(ends) >= own["top"]
    hierarchy, level = case.schema["hierarchies"][name], own["at_least"]
    if "mask" in hierarchy:
        return not label.endswith("*" * level)
    return any(label == cell for row in hierarchy["rows"] for cell in row[:level])


def who_shows(case, groups):
    """How many people show too much, by each way to ask it."""
    results = []
    names = case.schema["quasi_identifiers"]
    for way in ways_of_levels(case):
        many = 0
        for key, group in groups.items():
            for member in group:
                label = member.alike if is_bucketized(case, groups) else key[0]
                many += any(
                    shows(case, name, label[names.index(name)], own) for name, own in way.items()
                )
        results.append((way, many))
    return results


def keeps_levels(found, table):
    return not {str(way): many for way, many in found}[str(table["levels"])]


def draw_presence(rng, found):
    low, high, _ = found
    low = low if rng.random() < 0.5 else Fraction(0)
    high = max(low, Fraction(less(rng, high)))
    return {"delta_presence": {"lowest": str(low), "highest": str(high)}}


def keeps_presence(found, table):
    least, most, twice = found
    low, high = (Fraction(table["delta_presence"][name]) for name in ("lowest", "highest"))
    if twice:
        return low == 0 and high == 1
    return low <= least and most <= high


CRITERIA = {
    "k_anonymity": of_number("k_anonymity", least_alike),
    "group_size": of_number("group_size", least_size),
    "households": of_least("k_anonymity", "k", least_households, of="home"),
    "distinct": of_least("l_diversity", "l", least_kinds),
    "entropy": Criterion(
        of_bags,
        lambda rng, bags: {"l_diversity": {"l": rng.choice([1, 2, 2, 3]), "kind": "entropy"}},
        keeps_entropy,
    ),
    "recursive": Criterion(of_bags, draw_recursive, keeps_recursive),
    "alpha_k": Criterion(
        alpha_and_k,
        lambda rng, own: {"alpha_k": {"alpha": less(rng, own[0]), "k": more(rng, own[1])}},
        lambda own, table: (
            own[0] <= Fraction(table["alpha_k"]["alpha"]) and own[1] >= table["alpha_k"]["k"]
        ),
    ),
    "t_equal": of_distance(far_equal),
    "t_ordered": of_distance(far_ordered),
    "t_tree": of_distance(far_in_tree),
    "beta_likeness": Criterion(
        most_above,
        draw_beta,
        lambda most, table: most <= Fraction(table["beta_likeness"]["beta"]),
        Fraction,
    ),
    "delta_disclosure": Criterion(
        times_of,
        lambda rng, _: {"delta_disclosure": {"delta": rng.choice([*FACTORS])}},
        keeps_delta,
    ),
    "risk": Criterion(risks, draw_risk, keeps_risk),
    "levels": Criterion(
        who_shows, lambda rng, found: {"levels": rng.choice(found)[0]}, keeps_levels
    ),
    "population_risk": Criterion(population_risks, draw_population_risk, keeps_population_risk),
    "k_map": of_least("k_map", "k", fewest_matches),
    "delta_presence": Criterion(presence, draw_presence, keeps_presence),
}
OF_POPULATION = {"k_map", "delta_presence", "population_risk"}
OF_SIZES = {"k_anonymity", "group_size", "households", "risk", "levels", *OF_POPULATION}
