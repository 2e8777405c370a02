"""How easily people are recognized: every person by themselves, in exact fractions."""

from fractions import Fraction


def alike(rows, columns):
    """Of each row, how many rows have the same texts in these columns, itself included."""
    keys = [tuple(row[name] for name in columns) for row in rows]
    return [sum(other == key for other in keys) for key in keys]


def figures(rows, columns):
    """The highest risk of a person, the average of everybody's, and the share of the unique."""
    many = alike(rows, columns)
    risks = [Fraction(1, one) for one in many]
    unique = sum(one == 1 for one in many)
    return {
        "prosecutor": max(risks),
        "average": sum(risks) / len(risks),
        "uniqueness": Fraction(unique, len(rows)),
    }


def figures_in(rows, people, covers):
    """The same against a population: `covers(row, person)` says who could be a row."""
    many = [sum(covers(row, person) for person in people) for row in rows]
    return {
        "journalist": max(Fraction(1, one) for one in many),
        "uniqueness": Fraction(sum(one == 1 for one in many), len(rows)),
    }


def first_of(found, asked, strict):
    """What is attained, and whether all hold: the first that fails, else the first asked."""
    names = [name for name in found if name in asked]
    failing = [
        name
        for name in names
        if found[name] > asked[name] or (strict and found[name] == asked[name])
    ]
    return found[(failing or names)[0]], not failing
