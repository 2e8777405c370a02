"""Whom somebody cannot tell apart in a release that was written, by looking at every row for each.

Files are lists of rows, each a mapping of column to text. Nothing here knows the library.
"""

from fractions import Fraction


def candidates(people, known, target):
    """The rows that may be the target's, to somebody who knows some of its columns as published."""
    return [row for row in people if all(row[name] == target[name] for name in known)]


def fewest(people, known):
    """How many candidates there are at least, whoever is looked for."""
    return min(len(candidates(people, known, target)) for target in people)


def alone(people, known):
    """How many people have no other candidate."""
    return sum(len(candidates(people, known, target)) == 1 for target in people)


def over(people, known, k):
    """People with fewer candidates than k."""
    return sum(len(candidates(people, known, target)) < k for target in people)


def fewest_in_population(people, known, everybody, covers):
    """How many of a population a published row can be at least; `covers(label, value)`."""
    return min(
        sum(all(covers(row[name], own[name]) for name in known) for own in everybody)
        for row in people
    )


def presence(people, known, everybody, covers):
    """How sure one is at least and at most that somebody of a population is in the table.

    Each row is of one of those whom it can be, all as likely; no two rows of different labels can
    be of the same person.
    """
    chances = []
    for own in everybody:
        rows = [r for r in people if all(covers(r[name], own[name]) for name in known)]
        among = [o for o in everybody if all(o[name] == own[name] for name in known)]
        if rows:
            row = rows[0]
            among = [o for o in everybody if all(covers(row[n], o[n]) for n in known)]
        chances.append(Fraction(len(rows), len(among)))
    return min(chances), max(chances)
