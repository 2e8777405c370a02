"""What an adversary can find out at most, by listing worlds: slow, plain, in fractions.

A release is a list of groups, and a group is a list of members. A world gives the values of each
group to its members. Groups are dealt independently of each other, so each is listed by itself:
what is known of other groups can only make the linked people there likelier to be without the
secret. Of a group, the people who are spoken of are dealt to one by one, in every way; the rest
is counted. Nothing here knows the library or its formulas.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import lcm
from typing import NamedTuple

from tests.oracle.implications import chances_of, odds_of

ONE = Fraction(1)


class Member(NamedTuple):
    """Somebody of a group: who, what they have, what they cannot have, and their priors."""

    person: str
    values: tuple  # one of them where everybody has one
    cannot: frozenset = frozenset()
    priors: tuple = ()  # pairs of a value and its prior
    home: str = ""
    alike: tuple = ()  # what people are recognized by
    # what stands beside the value in a row, where somebody cannot have all of it; and what that is
    beside: tuple = ()
    barred: frozenset = frozenset()

    @property
    def dealt(self):
        """What worlds give to them: their value, with what stands beside it."""
        return (self.values[0], *self.beside) if self.beside else self.values[0]


def seen(value):
    """The part of what is dealt that is asked about, and known of people."""
    return value[0] if isinstance(value, tuple) else value


class NoWorldError(Exception):
    """Nobody can have what their group has."""


class Facts(NamedTuple):
    """How many values are ruled out, how many people are known, and how many are linked."""

    l: int = 0  # noqa: E741
    k: int = 0
    m: int = 0


# ---- one group, in which everybody has one value -----------------------------------------------


class Kinds(NamedTuple):
    """The members of a group who cannot be told apart, its bag, and of which kind each is."""

    kinds: tuple  # (the weight of each value, how many people)
    bag: tuple  # (value, how often)
    of: list


def kinds_of(group, secret, reading):
    """The kinds of a group; by binary priors everybody has the secret, or not."""
    bag = Counter(member.dealt for member in group)
    own = [_weights(member, sorted(bag), secret, reading) for member in group]
    every = sorted(set(own))
    counted = tuple((kind, own.count(kind)) for kind in every)
    return Kinds(counted, tuple(sorted(bag.items())), [every.index(kind) for kind in own])


def _weights(member, values, secret, reading):
    """How much each value weighs for somebody: a whole number, 0 for what cannot be."""
    priors = dict(member.priors)
    if priors and reading == "binary":
        share = sum((p for v, p in priors.items() if v in secret), Fraction(0))
        priors = {v: share if v in secret else 1 - share for v in map(seen, values)}
    results = [priors[seen(v)] if priors else ONE for v in values]
    whole = lcm(*(weight.denominator for weight in results))
    return tuple(
        0 if is_impossible(member, v) else int(weight * whole)
        for v, weight in zip(values, results, strict=True)
    )


def is_impossible(member, value):
    """Whether somebody cannot have what is dealt."""
    if isinstance(value, tuple) and not member.barred.isdisjoint(value[1:]):
        return True
    return seen(value) in member.cannot


@cache
def ways(counts, people):
    """The weight of all ways to deal what is left of a bag to people of some kinds."""
    if not people:
        return 1
    (weights, many), *others = people
    rest = ((weights, many - 1), *others) if many > 1 else tuple(others)
    return sum(
        weight * ways((*counts[:i], counts[i] - 1, *counts[i + 1 :]), rest)
        for i, weight in enumerate(weights)
        if weight and counts[i]
    )


def dealt(kinds, bag, spoken):
    """What the people who are spoken of may have, and how much each way weighs.

    `spoken` are the kinds of these people; a way is the tuple of what they have.
    """
    left = list(kinds)
    for at in spoken:
        left[at] = left[at][0], left[at][1] - 1
    rest = tuple((weights, many) for weights, many in left if many)
    values, counts = [value for value, _ in bag], tuple(count for _, count in bag)
    result = {(): (1, counts)}
    for at in spoken:
        after = {}
        for way, (weight, counts) in result.items():
            for i, own in enumerate(kinds[at][0]):
                if own and counts[i]:
                    fewer = (*counts[:i], counts[i] - 1, *counts[i + 1 :])
                    after[(*way, values[i])] = weight * own, fewer
        result = after
    return {way: weight * ways(counts, rest) for way, (weight, counts) in result.items()}


def choices_of(kinds, target, most_known, most_linked):
    """Each choice of known and of linked people beside a target: the kinds of both."""
    free = [many - (position == target) for position, (_, many) in enumerate(kinds)]
    every = [
        [(k, m) for k in range(most_known + 1) for m in range(most_linked + 1) if k + m <= own]
        for own in free
    ]
    for chosen in product(*every):
        known = [position for position, (k, _) in enumerate(chosen) for _ in range(k)]
        linked = [position for position, (_, m) in enumerate(chosen) for _ in range(m)]
        if len(known) <= most_known and len(linked) <= most_linked:
            yield known, linked


@cache
def odds_in(kinds, bag, secret, most):
    """Of each kind, the least odds against a target's secret, by how many are known and linked.

    None of a kind that cannot have the secret.
    """
    others = sorted({seen(value) for value, _ in bag} - secret)
    ruled = [
        combination
        for n in range(min(most.l, len(others)) + 1)
        for combination in combinations(others, n)
    ]
    results = []
    for target in range(len(kinds)):
        best = {}
        for known, linked in choices_of(kinds, target, most.k, most.m):
            hits, misses = Counter(), {}
            for way, weight in dealt(kinds, bag, [target, *known, *linked]).items():
                own, *rest = map(seen, way)
                told, linked_ones = tuple(rest[: len(known)]), rest[len(known) :]
                if own in secret:
                    hits[told] += weight
                elif secret.isdisjoint(linked_ones):
                    misses.setdefault(told, Counter())[own] += weight
            at = len(known), len(linked)
            for told, hit in hits.items():
                missed = misses.get(told, {})
                for out in ruled if hit else ():
                    odds = Fraction(sum(w for v, w in missed.items() if v not in out), hit)
                    best[at] = min(best.get(at, odds), odds)
        results.append(best or None)
    return results


@cache
def without_in(kinds, bag, secret, most):
    """The least chance that no linked person has the secret, by how many are known and linked."""
    best = {}
    for known, linked in choices_of(kinds, None, most.k, most.m):
        total, free = Counter(), Counter()
        for way, weight in dealt(kinds, bag, [*known, *linked]).items():
            every = tuple(map(seen, way))
            told = every[: len(known)]
            total[told] += weight
            if secret.isdisjoint(every[len(known) :]):
                free[told] += weight
        at = len(known), len(linked)
        for told, weight in total.items():
            if weight:
                chance = Fraction(free[told], weight)
                best[at] = min(best.get(at, chance), chance)
    return best


@cache
def negated_in(kinds, bag, secret, most):
    """The surest of one group after at most so many negations about any of its members."""
    values, best = sorted({seen(value) for value, _ in bag}), Fraction(0)
    for target in range(len(kinds)):
        for others, _ in choices_of(kinds, target, most, 0):
            counts = Counter()
            for way, weight in dealt(kinds, bag, [target, *others]).items():
                counts[tuple(map(seen, way))] += weight
            atoms = [*product(range(1 + len(others)), values)]
            for n in range(len(others), most + 1):
                for chosen in combinations(atoms, n):
                    left = [
                        (way[0], weight)
                        for way, weight in counts.items()
                        if all(way[person] != value for person, value in chosen)
                    ]
                    total = sum(weight for _, weight in left)
                    if total:
                        hit = sum(weight for own, weight in left if own in secret)
                        best = max(best, Fraction(hit, total))
    return best


# ---- one group, in which people may have several values ----------------------------------------


@cache
def holders(size, count, known, linked, semantics):
    """How many ways there are that the target has a value, any known person, any linked one."""
    roles = ["target"] + ["known"] * known + ["linked"] * linked
    roles += ["nobody"] * (size - len(roles))
    if semantics == "multiset":  # each occurrence goes to anybody
        result = Counter({frozenset(): 1})
        for _ in range(count):
            after = Counter()
            for has, many in result.items():
                for role in roles:
                    after[has | {role}] += many
            result = after
        return result
    result = Counter({(frozenset(), count): 1})  # as many people as there are occurrences
    for role in roles:
        after = Counter()
        for (has, left), many in result.items():
            after[has, left] += many
            if left:
                after[has | {role}, left - 1] += many
        result = after
    return Counter({has: many for (has, left), many in result.items() if not left})


@cache
def odds_of_many(size, bag, semantics, secret, most):
    """`odds_in` and `without_in` of a group in which people may have several values."""
    counts = Counter(bag)
    lacking = []  # how likely the target lacks each other value
    for value in sorted(set(bag) - {secret}):
        result = holders(size, counts[value], 0, 0, semantics)
        lacks = sum(many for has, many in result.items() if "target" not in has)
        lacking.append(Fraction(lacks, sum(result.values())))
    odds, without = {}, {}
    for k, m in product(range(most.k + 1), range(most.m + 1)):
        if k + m > size:
            continue
        if k + m < size:
            result = holders(size, counts[secret], k, m, semantics)
            told = {has: many for has, many in result.items() if "known" not in has}
            hit = sum(many for has, many in told.items() if "target" in has)
            missed = sum(many for has, many in told.items() if not has & {"target", "linked"})
            for n in range(min(most.l, len(lacking)) + 1) if hit else ():
                for chosen in combinations(lacking, n):
                    own = Fraction(missed, hit)
                    for chance in chosen:
                        own *= chance
                    odds[k, m] = min(odds.get((k, m), own), own)
        # No target here: the first of the roles is one of those who are spoken of, or nobody.
        of_rest = _without_of_many(size, counts[secret], k, m, semantics)
        if of_rest is not None:
            without[k, m] = of_rest
    return [odds or None], without


def _without_of_many(size, count, known, linked, semantics):
    if known + linked == 0:
        return ONE
    one_known = known > 0
    result = holders(size, count, known - one_known, linked - (not one_known), semantics)
    first = "known" if one_known else "linked"
    counts = Counter()
    for has, many in result.items():
        counts[frozenset(first if role == "target" else role for role in has)] += many
    total = sum(count for has, count in counts.items() if "known" not in has)
    free = sum(count for has, count in counts.items() if not has & {"known", "linked"})
    return Fraction(free, total) if total else None


# ---- all groups -------------------------------------------------------------------------------


def sure_of(groups, secret, most, semantics="single", reading="joint"):
    """How sure somebody becomes at most that each member has one of the values of `secret`.

    A list, one for each group, of fractions in the order of its members.
    """
    tables, placed = [], []
    for group in groups:
        if semantics == "single":
            kinds, bag, own = kinds_of(group, secret, reading)
            if not ways(tuple(count for _, count in bag), kinds):
                raise NoWorldError
            tables.append((odds_in(kinds, bag, secret, most), without_in(kinds, bag, secret, most)))
        else:
            name = min(secret)
            bag = [name if v in secret else v for member in group for v in member.values]
            own = [0] * len(group)
            tables.append(odds_of_many(len(group), tuple(sorted(bag)), semantics, name, most))
        placed.append(own)
    results = []
    for position, (odds, _) in enumerate(tables):
        elsewhere = [without for i, (_, without) in enumerate(tables) if i != position]
        rest = _together(elsewhere, most)
        sure = [Fraction(0) if odd is None else 1 / (1 + _least(odd, rest, most)) for odd in odds]
        results.append([sure[kind] for kind in placed[position]])
    return results


def _least(own, rest, most):
    return min(
        odds * chance
        for (k, m), odds in own.items()
        for (k2, m2), chance in rest.items()
        if k + k2 <= most.k and m + m2 <= most.m
    )


def _together(tables, most):
    """The least chance of all linked people, for each number of known and linked ones."""
    rest = {(0, 0): ONE}
    for table in tables:
        after = {}
        for (k, m), chance in rest.items():
            for (k2, m2), more in table.items():
                if k + k2 <= most.k and m + m2 <= most.m:
                    key = k + k2, m + m2
                    after[key] = min(after.get(key, ONE), chance * more)
        rest = after
    return rest


def surest(groups, secret, most, semantics="single", reading="joint"):
    """How sure somebody becomes at most that anybody has one of the values of `secret`."""
    result = sure_of(groups, secret, most, semantics, reading)
    return max((p for own in result for p in own), default=Fraction(0))


def added_up(groups, sure):
    """The highest sum over the cases of a person, and never above 1."""
    sums = Counter()
    for group, own in zip(groups, sure, strict=True):
        for member, sure in zip(group, own, strict=True):
            sums[member.person] += sure
    return min(ONE, max(sums.values(), default=Fraction(0)))


def most_times(groups, secret, most, reading="joint"):
    """How many times as likely as by its prior something becomes, at most."""
    result = sure_of(groups, secret, most, "single", reading)
    best = Fraction(0)
    for group, own in zip(groups, result, strict=True):
        for member, sure in zip(group, own, strict=True):
            prior = sum((p for v, p in member.priors if v in secret), Fraction(0))
            if prior:
                best = max(best, sure / prior)
    return best


def surest_by_negations(groups, secret, most):
    """The same for somebody who knows at most so many times that a person lacks a value."""
    results = [kinds_of(group, secret, "joint") for group in groups]
    return max(negated_in(result.kinds, result.bag, secret, most) for result in results)


def sure_by_implications(groups, secret, most):
    """How sure somebody becomes of each group's members by so many implications; a set is one."""
    names = sorted({v for group in groups for member in group for v in member.values})
    letter = {v: "A" if v in secret else chr(ord("a") + i) for i, v in enumerate(names)}
    bags = ["".join(sorted(letter[m.values[0]] for m in group)) for group in groups]
    results = []
    for position, bag in enumerate(bags):
        if "A" not in bag:
            results.append([Fraction(0)] * len(bag))
            continue
        odds = odds_of(bag, "A", most)
        for other in bags[:position] + bags[position + 1 :]:
            spent = chances_of(other, most)
            odds = [min(odds[k - h] * spent[h] for h in range(k + 1)) for k in range(most + 1)]
        results.append([1 / (1 + odds[most])] * len(bag))
    return results


def surest_by_implications(groups, secret, most):
    """The highest of these."""
    return max(own[0] for own in sure_by_implications(groups, secret, most))
