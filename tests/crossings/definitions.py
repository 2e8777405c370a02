"""Criteria by their definitions, in fractions: what the groups of a release attain, and a setting.

Each criterion is a function of (rng, case, sight) that returns a [[require]] table, and whether it
holds; the settings are what the groups attain, or a step beyond.
"""

from collections import Counter
from fractions import Fraction
from itertools import accumulate
from math import prod

from tests.oracle.transport import least_work, levels_apart


def bags_of(groups):
    return [Counter(member.values[0] for member in group) for group in groups.values()]


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


def at_least(rng, attained):
    """A setting that must be reached: what is attained, or one more."""
    over = rng.random() < 0.5
    return int(attained) + over, not over


def at_most(rng, attained, step=Fraction(1, 1000)):
    """A setting that must not be exceeded: what is attained, or a step less."""
    if attained >= step and rng.random() < 0.5:
        return str(attained - step), False
    return str(attained), True


def k_anonymity(rng, case, groups):
    k, holds = at_least(rng, min(sizes_of(case, groups)))
    return {"k_anonymity": k}, holds


def group_size(rng, case, groups):
    k, holds = at_least(rng, min(sizes_of(case, groups)))
    return {"group_size": k}, holds


def distinct(rng, case, groups):
    n, holds = at_least(rng, min(map(len, bags_of(groups))))
    return {"l_diversity": {"l": n}}, holds


def entropy(rng, case, groups):
    """Each group's entropy is at least ln(l): total^total >= l^total n^n ..."""
    n = rng.choice([1, 2, 2, 3])

    def keeps(bag):
        total = sum(bag.values())
        return total**total >= n**total * prod(own**own for own in bag.values())

    return {"l_diversity": {"l": n, "kind": "entropy"}}, all(map(keeps, bags_of(groups)))


def recursive(rng, case, groups):
    """The most frequent value is below c times the sum from the l-th on."""
    n = rng.choice([2, 2, 3])
    tops = [sorted(bag.values(), reverse=True) for bag in bags_of(groups)]
    rates = [Fraction(top[0], sum(top[n - 1 :])) if top[n - 1 :] else None for top in tops]
    known = [rate for rate in rates if rate is not None]
    c = max(known, default=Fraction(1)) + rng.choice([0, 1, Fraction(1, 1000)])
    holds = len(known) == len(rates) and max(known) < c
    return {"l_diversity": {"l": n, "kind": "recursive", "c": str(c)}}, holds


def alpha_k(rng, case, groups):
    share = max(max(shares_of(bag).values()) for bag in bags_of(groups))
    alpha, keeps = at_most(rng, share)
    k, reaches = at_least(rng, min(map(len, groups.values())))
    return {"alpha_k": {"alpha": alpha, "k": k}}, keeps and reaches


def t_equal(rng, case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    far = max(
        sum(abs(shares_of(bag).get(v, 0) - q[v]) for v in q) / 2 for bag in bags
    )
    t, holds = at_most(rng, far)
    return {"t_closeness": {"t": t}}, holds


def t_ordered(rng, case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    order = sorted(q, key=lambda v: (not v.isdigit(), int(v) if v.isdigit() else 0, v))
    far = Fraction(0)
    for bag in bags:
        gaps = [shares_of(bag).get(v, 0) - q[v] for v in order]
        work = sum(map(abs, accumulate(gaps)))
        far = max(far, work / (len(order) - 1) if len(order) > 1 else Fraction(0))
    t, holds = at_most(rng, far)
    return {"t_closeness": {"t": t, "distance": "ordered", "order": order}}, holds


def t_tree(rng, case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    values = sorted(q)
    rows = [[v, "few" if i % 2 else "many", "*"] for i, v in enumerate(values)]
    distance, height = levels_apart(rows)
    far = max(least_work(shares_of(bag), q, values, distance, height) for bag in bags)
    t, holds = at_most(rng, far)
    return {"t_closeness": {"t": t, "distance": "hierarchical", "tree": rows}}, holds


def beta_likeness(rng, case, groups):
    bags = bags_of(groups)
    q = whole(bags)
    most = max((p - q[v]) / q[v] for bag in bags for v, p in shares_of(bag).items())
    beta, holds = at_most(rng, most)
    if not Fraction(beta):
        beta, holds = "1/1000", True
    return {"beta_likeness": {"beta": beta, "enhanced": False}}, holds


def delta_disclosure(rng, case, groups):
    """The limits are 2 and 1/2: e^delta is not rational, so a hair from ln 2 on either side."""
    bags = bags_of(groups)
    q = whole(bags)
    times = [shares_of(bag).get(v, Fraction(0)) / q[v] for bag in bags for v in q]
    delta, over, under = rng.choice([("0.6931", 2, "below"), ("0.6932", 2, "at"), ("1.5", 4, "far")])
    if under == "far":  # e^1.5 is between 4.48 and 4.49
        holds = all(Fraction(100, 449) < r < Fraction(448, 100) for r in times)
    elif under == "at":
        holds = all(Fraction(1, over) <= r <= over for r in times)
    else:
        holds = all(Fraction(1, over) < r < over for r in times)
    return {"delta_disclosure": {"delta": delta}}, holds


def risk(rng, case, groups):
    sizes = [len(group) for group in groups.values()]
    found = {
        "prosecutor": Fraction(1, min(sizes)),
        "average": Fraction(len(sizes), sum(sizes)),
        "uniqueness": Fraction(sizes.count(1), sum(sizes)),
    }
    name = rng.choice([*found])
    limit, holds = at_most(rng, found[name])
    return {"risk": {name: limit}}, holds


def households(rng, case, groups):
    homes = {str(number): row["home"] for number, row in enumerate(case.rows, start=1)}
    least = min(len({homes[member.person] for member in group}) for group in groups.values())
    k, holds = at_least(rng, least)
    return {"k_anonymity": {"k": k, "of": "home"}}, holds


def in_label(case, name, label, value):
    """Whether a value of a quasi-identifier lies in a label, as this generator's are written."""
    value = str(value)
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
    if " to " in label:
        low, high = label.split(" to ")
        return Fraction(low) <= Fraction(value) <= Fraction(high)
    return value in label.split(" | ")


def matches(case, labels):
    """How many of the population fit each label; how many fit none; whether anyone fits two."""
    names = case.schema["quasi_identifiers"]
    found, outside, twice = Counter(), 0, False
    for person in case.population:
        fits = [
            label
            for label in labels
            if all(in_label(case, n, part, person[n]) for n, part in zip(names, label, strict=True))
        ]
        found.update(fits)
        outside += not fits
        twice |= len(fits) > 1
    return found, outside, twice


def k_map(rng, case, groups):
    found, _, _ = matches(case, [key[0] for key in groups])
    k, holds = at_least(rng, min(found[key[0]] for key in groups))
    return {"k_map": {"k": k}}, holds


def delta_presence(rng, case, groups):
    labels = [key[0] for key in groups]
    found, outside, twice = matches(case, labels)
    rates = [Fraction(len(group), found[key[0]]) for key, group in groups.items()]
    high, holds = at_most(rng, max(rates))
    low = Fraction(0)
    if not outside and rng.random() < 0.5:
        low = min(rates)
    if twice:
        holds = not low and Fraction(high) == 1
    return {"delta_presence": {"lowest": str(low), "highest": high}}, holds and low <= Fraction(high)


CRITERIA = {
    own.__name__: own
    for own in (
        k_anonymity,
        group_size,
        distinct,
        entropy,
        recursive,
        alpha_k,
        t_equal,
        t_ordered,
        t_tree,
        beta_likeness,
        delta_disclosure,
        risk,
        households,
        k_map,
        delta_presence,
    )
}
OF_SIZES = {"k_anonymity", "group_size", "households", "risk", "k_map", "delta_presence"}
