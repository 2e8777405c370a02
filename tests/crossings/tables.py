"""Tables and policies, drawn so that features meet: small uneven groups, few values."""

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
from tests.crossings.definitions import CRITERIA, OF_POPULATION, number_of

ILL = ["Flu", "Fever", "Gout", "HIV", "Burn"]  # "F*" stands for two of them
KINDS = [[own, "few" if i % 2 else "many", "*"] for i, own in enumerate([*ILL, "Ovary", "unknown"])]
# Texts that files escape or quote, or that look like something else.
ODD = ["=Flu", "Fe,ver", 'G"out', "01", "1.50"]
PAY = ["1000", "1500", "2000", "5000"]
JOBS = ["cook", "nurse"]
ODD_JOBS = ["-cook", "a | b"]
RARE = "Ovary"  # what men cannot have
# Numbers that lie near each other, and how wide windows of them are: some end at a value.
NEAR = {
    "plain": (PAY, [500, 1000, "50%", 499]),
    "near": (["100", "110", "121", "90", "99"], [10, 11, "10%", "9%", "10.1%", "21%"]),
    "signed": (["-110", "-100", "0", "100", "110"], [10, "10%", "9.9%", 100, 200]),
    "parts": (["0.5", "1", "1.5", "1.65", "2.5"], ["0.5", "10%", "1/2", 1, "50%"]),
}
DAYS = ["2023-12-31", "2024-01-01", "2024-01-31", "2024-02-29", "2024-03-01"]
NEAR_DAYS = [1, "30 days", 29, "60 days", "1 day"]

PLAIN = {
    "unit": "person",
    "semantics": "single",
    "missing": "none",
    "blank": "none",
    "impossible": "none",
    "rules": "one",
    "columns": "one",
    "names": "plain",
    "typed": "text",
    "rounding": "none",
    "job": "none",
    "knowing": "default",
    "secret": "every",
    "adversary": "facts",
    "amount": "few",
    "also": "nothing",
    "form": "generalized",
    "labels": "exact",
    "method": "mondrian",
    "suppression": "none",
    "format": "csv",
    "releases": "one",
}
# What else a dimension may be, with how often; what is left is plain.
OTHERS = {
    "unit": {"cases": 0.12, "shared": 0.12},
    "semantics": {"set": 0.12, "multiset": 0.12},
    "missing": {"label": 0.08, "drop": 0.08, "spelled": 0.08},
    "blank": {"qi": 0.08},
    "impossible": {"own": 0.1, "beside": 0.06, "conditions": 0.06, "both": 0.06},
    "rules": {"two": 0.1},
    "columns": {"linked": 0.15, "unlinked": 0.15},
    "names": {"odd": 0.1},
    "typed": {"numbers": 0.08, "comma": 0.05, "alike": 0.06, "dates": 0.06},
    "rounding": {"some": 0.08},
    "job": {"other": 0.3, "hidden": 0.15, "shuffled": 0.08, "blank": 0.08},
    "knowing": {"none": 0.35, "named": 0.25},
    "secret": {
        "value": 0.15,
        "except": 0.1,
        "any_of": 0.15,
        "sets": 0.1,
        "within": 0.12,
        "pattern": 0.08,
        "label": 0.08,
    },
    "adversary": {
        "implications": 0.1,
        "negations": 0.1,
        "priors": 0.12,
        "binary": 0.06,
        "facts on priors": 0.12,
        "criterion": 0.15,
    },
    "amount": {"links": 0.15, "many": 0.1},
    "also": {"criterion": 0.1, "knowledge": 0.1, "points": 0.1},
    "form": {"bucketized": 0.25},
    "labels": {"mask": 0.15, "tree": 0.15, "intervals": 0.15, "dates": 0.12, "range": 0.15},
    "method": {"fulldomain": 0.2, "anatomy": 0.05},
    "suppression": {"some": 0.12, "cells": 0.12},
    "format": {"parquet": 0.2},
    "releases": {"after": 0.06, "three": 0.04, "added": 0.05},
}
MANY = ("priors", "binary", "facts on priors")


@dataclass
class Case:
    """A raw table, its schema, and what is asked of it; without a limit."""

    seed: int
    of: dict  # the choice for each dimension
    rows: list  # dicts, in the order of the table
    schema: dict
    asked: dict  # a [[require]] table without its limit
    publish: dict
    secret: str  # the sensitive column that is asked about
    hidden: tuple = ()  # columns without a role
    population: list = field(default_factory=list)
    priors: list = field(default_factory=list)  # rows of (sex, value, probability)
    later: list = field(default_factory=list)  # tables of newcomers: the rows of each
    added: str = ""  # the column that the first release lacks
    also: list = field(default_factory=list)  # the same case with other requirements
    points: list = field(default_factory=list)  # further amounts of facts, with limits of their own

    @property
    def table(self):
        return arrow(self.rows)


def arrow(rows):
    """Rows as an Arrow table: everything is text, but lists and numbers."""
    return pa.Table.from_pylist(rows)


def choices(rng):
    """The choice for each dimension: about half are plain."""
    calm = rng.random()  # how much of the rest stays plain
    drawn = dict(PLAIN)
    for name, others in OTHERS.items():
        at, keep = rng.random(), calm * 0.9
        for value, share in others.items():
            at -= share
            if at < 0:
                if rng.random() >= keep:
                    drawn[name] = value
                break
    return drawn


def sizes_of(rng):
    """Uneven groups of two to nine people, sixteen at most together."""
    sizes = [rng.choice([4, 5, 6, 7, 8, 9])]
    while sum(sizes) < 12 and rng.random() < 0.6:
        sizes.append(rng.choice([2, 3, 4, 5, 6, 7]))
    return sizes


def values_of(rng, size, names):
    """Values of a group: one is common, others are rare; or all alike."""
    names = rng.sample(names, rng.choice([2, 3, 4, 4, 5]) if len(names) > 4 else len(names))
    share = rng.choice([0, 0, 0.3, 0.6])
    even = [names[i % len(names)] for i in range(size)]
    return [names[0] if rng.random() < share else own for own in even]


def few_of(rng, size, names):
    """Values of a column that does not divide a group much: often one."""
    first, second = rng.sample(names, 2)
    share = rng.choice([0, 0, 0, 0.3, 0.5])
    return [second if rng.random() < share else first for _ in range(size)]


KNOWLEDGE = [*OTHERS["adversary"]][:-1]
VALUES = [
    (name, value)
    for name, others in OTHERS.items()
    for value in (others if name != "adversary" else [*KNOWLEDGE, *CRITERIA])
]
PAIRS = [(one, other) for one, other in combinations(VALUES, 2) if one[0] != other[0]]


def drawn(seed, attempt=0):
    """The case of a seed: two features that meet and little else, or many features.

    Further attempts have the same features and another table.
    """
    rng = random.Random(seed)
    if seed % 2:
        of = PLAIN | dict(PAIRS[seed // 2 % len(PAIRS)])
        if rng.random() < 0.3 and of["knowing"] == "default":
            of["knowing"] = "none"
        if rng.random() < 0.3 and of["secret"] == "every":
            of["secret"] = "value"
        complete(of)
        return made(random.Random(f"{seed} {attempt}"), seed, of)
    of = choices(rng)
    if rng.random() < 0.9:
        settle(of)
    elif of["semantics"] != "single" and of["columns"] == "one":
        plain(of, "secret" if of["secret"] == "within" else "typed")  # lists are of illnesses
    if of["adversary"] in MANY:
        facts = of["adversary"] == "facts on priors" and rng.random() < 0.5
        of["method"] = of["method"] if facts else "art"
        of["form"] = "bucketized" if not facts and rng.random() < 0.7 else of["form"]
    return made(random.Random(f"{seed} {attempt}"), seed, of)


def complete(of):
    """Add to two features what they need to mean anything."""
    if of["rules"] == "two" and of["impossible"] == "none":
        of["impossible"] = "own"
    if of["secret"] in ("pattern", "label"):
        of["names"] = "plain" if of["secret"] == "label" else of["names"]
    if (of["typed"] != "text" and of["secret"] != "within") or of["job"] == "shuffled":
        of["columns"] = "linked" if of["columns"] == "one" else of["columns"]
    if of["knowing"] == "named" and of["columns"] == "one" and of["job"] == "none":
        of["job"] = "other"
    if of["semantics"] != "single" and of["secret"] == "within":
        of["columns"] = "linked" if of["columns"] == "one" else of["columns"]
    if of["impossible"] in ("beside", "both") and of["columns"] == "one":
        of["columns"] = "linked"
    if of["rounding"] != "none":
        of["columns"] = "linked" if of["columns"] == "one" else of["columns"]
    if of["adversary"] in ("priors", "binary") and of["method"] == "mondrian":
        of["method"] = "art"
    if of["method"] in ("art", "anatomy") and of["labels"] == "exact":
        of["form"] = "bucketized"
    if of["suppression"] != "none" and of["method"] not in ("mondrian", "fulldomain"):
        of["suppression"] = "none"
    if of["releases"] == "added":
        of["blank"] = "none"
        of["job"] = "other" if of["job"] == "none" else of["job"]


NO_RULES = ("within", "sets", "label")


def settle(of):
    """Leave out of the features what never goes together; one in ten cases is left as drawn."""
    by_priors = of["adversary"] in MANY
    if of["semantics"] != "single":
        plain(of, "missing", "unit", "impossible", "form", "method", "releases")
        of["adversary"] = "facts" if of["adversary"] != "criterion" else "criterion"
        of["secret"] = "every" if of["secret"] in ("within", "any_of", "label") else of["secret"]
    elif by_priors:
        plain(of, "unit", "impossible", "method", "columns", "suppression", "releases")
        of["secret"] = "every" if of["secret"] == "within" else of["secret"]
    if of["typed"] != "text" and of["secret"] != "within" and of["columns"] == "one":
        plain(of, "typed")
    if of["rules"] == "two" and of["impossible"] == "none":
        plain(of, "rules")
    if of["unit"] == "shared":
        plain(of, "form", "columns" if of["columns"] == "unlinked" else "form")
        of["secret"] = "every" if of["secret"] == "within" else of["secret"]
    if of["unit"] == "cases":
        plain(of, "impossible" if of["adversary"] != "facts" else "unit")
    if of["impossible"] != "none":
        plain(of, "secret" if of["secret"] in NO_RULES else "method", "method")
        of["adversary"] = (
            "facts" if of["adversary"] not in ("negations", "criterion") else of["adversary"]
        )
        if of["impossible"] in ("beside", "both"):
            of["columns"] = "linked"
            of["knowing"] = "none" if of["knowing"] == "default" else of["knowing"]
    if of["adversary"] == "implications" and of["secret"] == "within":
        plain(of, "secret")
    if of["method"] == "anatomy":
        of["form"] = "bucketized"
        plain(of, "columns", "unit")
    if of["form"] == "bucketized":
        plain(of, "labels")
    if of["releases"] == "added":
        plain(of, "unit", "semantics", "impossible", "rules", "form", "blank")
        of["columns"] = "linked" if of["columns"] == "unlinked" else of["columns"]
        of["job"] = "other" if of["job"] == "shuffled" else of["job"]
    if of["columns"] == "one" and of["knowing"] == "named" and of["job"] == "none":
        of["job"] = "other"


def plain(of, *names):
    for name in names:
        of[name] = PLAIN[name]


def made(rng, seed, of):
    """A case with these features, where they go together."""
    near = NEAR[rng.choice([*NEAR]) if of["secret"] == "within" else "plain"]
    if of["typed"] == "dates":
        near = DAYS, NEAR_DAYS
    secret = "ill"
    if (of["columns"] != "one" and rng.random() < 0.5) or of["secret"] == "within":
        secret = "pay"
    rows = people(rng, of, near[0], secret)
    if of["secret"] == "within" and of["columns"] == "one":
        for row in rows:
            row.pop("ill")
    schema = roles(rng, of, rows, secret)
    asked = {"sensitive": secret} if of["columns"] != "one" else {}
    priors = []
    asked |= knowledge(rng, of, rows, secret, priors)
    asked |= about(rng, of, rows, secret, near[1])
    asked |= known(rng, of, schema, secret)
    publish = options(rng, of, schema, rows)
    case = Case(seed, of, rows, schema, asked, publish, secret, priors=priors)
    case.hidden = tuple(
        name for name in ("sex", "job") if name in rows[0] and not role(schema, name)
    )
    case.population = population(rng, case)
    for letter in {"after": "n", "three": "nm", "added": "n"}.get(of["releases"], ""):
        case.later.append(newcomers(rng, people(rng, of, near[0], secret), letter, rows))
    if of["releases"] == "added":
        # Where conditions and priors use all columns, the second release only has other people.
        case.added = rng.choice(columns_to_add(case) or [""])
    beside(rng, case)
    if of["typed"] == "numbers":
        as_floats(case)
    for row in [*rows, *(row for own in case.later for row in own)]:
        spell(rng, of, row)
    return case


def columns_to_add(case):
    """The columns that a first release may lack."""
    shown = [*case.schema["quasi_identifiers"][:2], *case.schema.get("other", ())]
    conditions = {name for rule in case.schema.get("impossible", ()) for name in rule["where"]}
    used = conditions | {name for row in case.priors for name in row}
    if case.of["adversary"] == "levels":  # a criterion of the first release needs the age
        used.add("age")
    results = [name for name in shown if name not in used]
    return results + [
        name for name in ("ill", "pay") if name in case.rows[0] and name != case.secret
    ]


def lacking(case, column):
    """The same case without a column, and without what is asked about it."""
    schema = dict(case.schema)
    for role in ("quasi_identifiers", "other", "sensitive"):
        if isinstance(schema.get(role), list):
            schema[role] = [name for name in schema[role] if name != column]
    if len(schema["sensitive"]) == 1:
        (schema["sensitive"],) = schema["sensitive"]
    for key in ("hierarchies", "types"):
        if key in schema:
            schema[key] = {name: own for name, own in schema[key].items() if name != column}
    rules = []
    for rule in schema.pop("impossible", ()):
        if column not in (rule.get("sensitive", case.secret), *rule["where"]):
            rules.append(rule)
    if rules:
        schema["impossible"] = rules
    publish = dict(case.publish)
    for key in ("labels", "round"):
        if key in publish:
            publish[key] = {name: own for name, own in publish[key].items() if name != column}
    asked = dict(case.asked)
    if "knowing" in asked:
        asked["knowing"] = [name for name in asked["knowing"] if name != column]
    if column in ("ill", "pay"):
        asked.pop("sensitive", None)
    rows = [{name: own for name, own in row.items() if name != column} for row in case.rows]
    also = [lacking(own, column) for own in case.also if own.secret != column]
    changed = {"schema": schema, "publish": publish, "asked": asked, "rows": rows, "also": also}
    return replace(case, **changed, added="")


def newcomers(rng, rows, letter, published):
    """Rows of other people with the same columns; and of cases and households some that were."""
    for row in rows:
        row["pid"] = letter + row["pid"]
        if "home" in row:
            row["home"] = letter + row["home"]
    rows = [{name: row[name] for name in published[0]} for row in rows]
    people = [row["pid"] for row in published]
    if len({*people}) < len(people):  # a later case of somebody
        rows.append({**rows[0], "pid": rng.choice(people)})
    if "home" in published[0]:  # somebody who lives with them, and has what they share
        rows.append({**rng.choice(published), "pid": f"{letter}beside"})
    return rows


def beside(rng, case):
    """Ask for something else, too."""
    of, secret, rows = case.of, case.secret, case.rows
    if of["also"] == "points" and "facts" in case.asked and not case.priors:
        case.points = [amounts(rng, of) for _ in range(rng.choice([1, 2]))]
    sensitive = {"sensitive": secret} if of["columns"] != "one" else {}
    if of["also"] == "criterion":
        asked = {**sensitive, "criterion": rng.choice([*CRITERIA]), "knowing": []}
        if rng.random() < 0.5:
            asked.pop("knowing")
        if any("home" not in row for row in rows) and asked["criterion"] == "households":
            asked["criterion"] = "k_anonymity"
        case.also.append(replace(case, asked=asked, also=[], points=[], priors=[]))
    if of["also"] == "knowledge":
        others = [name for name in ("ill", "pay") if name in rows[0] and name != secret]
        kind = rng.choice(["facts", "facts", "implications", "negations"])
        asked = {kind: amounts(rng, of) if kind == "facts" else {"k": rng.choice([0, 1, 2])}}
        if others and rng.random() < 0.7:
            secret = others[0]
        asked |= {"sensitive": secret} if of["columns"] != "one" else {}
        values = values_in(rows, secret)
        if rng.random() < 0.5 and values:
            asked["values"] = [rng.choice(values)]
        if rng.random() < 0.5:
            asked["knowing"] = []
        case.also.append(replace(case, asked=asked, secret=secret, also=[], points=[], priors=[]))


def as_floats(case):
    """Let what is asked of pay name floats as they print."""

    def floats(values):
        return [str(float(value)) if number_of(value) is not None else value for value in values]

    for own in (case, *case.also):
        if own.secret != "pay":
            continue
        for key in {"values", "except", "any_of"} & {*own.asked}:
            given = own.asked[key]
            if isinstance(given, list):
                own.asked[key] = floats(given)
            else:
                lists = {name: each for name, each in given.items() if isinstance(each, list)}
                own.asked[key] = given | {name: floats(each) for name, each in lists.items()}
        for prior in own.priors:
            (prior["value"],) = floats([prior["value"]])
    for rule in case.schema.get("impossible", ()):
        if rule.get("sensitive", case.secret) == "pay":
            rule["values"] = floats(rule["values"])


def spell(rng, of, row):
    """Write an amount of money as a number, with a comma, or in several ways."""
    own = row.get("pay")
    if own in (None, "NA") or number_of(own) is None or of["typed"] in ("text", "dates"):
        return
    if of["typed"] == "numbers":
        row["pay"] = float(own)
    elif of["typed"] == "comma":
        row["pay"] = own.replace(".", ",") if rng.random() < 0.6 or "." in own else own + ",0"
    else:
        row["pay"] = own if rng.random() < 0.5 else own + ("0" if "." in own else ".0")


def role(schema, name):
    """Whether a column has a role that publishes it."""
    return name in schema["quasi_identifiers"] or name in schema.get("other", ())


def people(rng, of, pays_of, secret):
    """The rows of a raw table."""
    rows, zips, ages = [], ["02139", "02138", "02215", "94103"], [21, 24, 33, 38, 47, 52]
    days = ["2024-01-05", "2024-01-20", "2024-03-02", "2025-02-11"]
    needs_sex = of["impossible"] != "none" or of["adversary"] in MANY
    number = 0
    for size in sizes_of(rng):
        own = {"zip": rng.choice(zips), "age": rng.choice(ages)}
        if of["labels"] == "dates":
            own["came"] = rng.choice(days)
        ills, pays = (
            values_of(rng, size, names) if name == secret else few_of(rng, size, names)
            for name, names in (("ill", names_of(of)), ("pay", pays_of))
        )
        jobs = few_of(rng, size, ODD_JOBS if of["names"] == "odd" else JOBS)
        for ill, pay, job in zip(ills, pays, jobs, strict=True):
            number += 1
            row = {"pid": f"p{number}x", **own}
            if needs_sex:
                row["sex"] = rng.choice("fm")
            if of["job"] != "none":
                row["job"] = job
            row["ill"] = ill
            if of["columns"] != "one" or of["secret"] == "within":
                row["pay"] = pay
            rows.append(row)
    for column in ruled_columns(of, rows[0]):
        for row in rows:
            if row["sex"] == "f" and rng.random() < 0.4:
                row[column] = RARE if column == "ill" else rare_pay(of)
        for row in rows:  # the second rule, about young people
            if of["rules"] == "two" and row["age"] < 30 and row[column] in ("Gout", pays_of[0]):
                row[column] = names_of(of)[0] if column == "ill" else pays_of[1]
    rng.shuffle(rows)
    if of["unit"] == "cases":
        for _ in range(rng.choice([1, 2, 3])):  # two cases of one person
            rng.choice(rows)["pid"] = rng.choice(rows)["pid"]
        for row in rows:  # sex belongs to a person
            if "sex" in row and of["impossible"] == "none":
                row["sex"] = "f" if int(row["pid"][1:-1]) % 2 else "m"
    gaps(rng, of, rows)
    if of["unit"] == "shared" or of["adversary"] in ("criterion", *CRITERIA):
        for row in rows:
            row["home"] = f"h{rng.randint(1, max(2, len(rows) * 2 // 3))}x"
        if of["unit"] == "shared":
            share(rows, of)
    lists_of_values(rng, of, rows)
    return rows


def ruled_columns(of, row):
    """The sensitive columns with rules on who cannot have a value."""
    if of["impossible"] == "none":
        return []
    if "pay" not in row:
        return ["ill"]
    return {"beside": ["pay"], "both": ["ill", "pay"]}.get(of["impossible"], ["ill"])


def names_of(of):
    """What illnesses are called."""
    return ODD if of["names"] == "odd" else ILL


def rare_pay(of):
    """What men cannot earn."""
    return "2030-01-01" if of["typed"] == "dates" else "9000"


def first_pay(of):
    """What young people cannot earn, by a second rule."""
    return DAYS[0] if of["typed"] == "dates" else PAY[0]


def share(rows, of):
    """Let all of a household have one value of the last sensitive column."""
    column = "pay" if "pay" in rows[0] else "ill"
    first = {}
    for row in rows:
        row[column] = first.setdefault(row["home"], row[column])
    if of["impossible"] != "none":
        for row in rows:
            row["sex"] = "f" if row[column] in (RARE, rare_pay(of)) else row["sex"]


def lists_of_values(rng, of, rows):
    """Let people have several values of `ill`, in lists."""
    if of["semantics"] == "single" or "ill" not in rows[0]:
        return
    for row in rows:
        more = [row["ill"]] + rng.choices(names_of(of)[:3], k=rng.choice([0, 0, 1]))
        if of["semantics"] == "set":
            more = sorted(set(more))
        row["ill"] = [] if rng.random() < 0.25 else more[:2]


def gaps(rng, of, rows):
    """Let some sensitive values be missing."""
    if of["job"] == "blank":
        for row in rows:
            row["job"] = row["job"] if rng.random() < 0.8 else None
    known = of["impossible"] == "none" and of["adversary"] not in (*MANY, *OF_POPULATION)
    if of["blank"] == "qi" and known:
        for row in rows:  # whose age, or where they live, is not known
            if rng.random() < 0.2:
                row[rng.choice(["age", "zip"])] = None
    if of["missing"] == "none" or of["semantics"] != "single":
        return
    columns = [name for name in ("ill", "pay") if name in rows[0]]
    for row in rows:
        for name in columns:
            if rng.random() < 0.15:
                written = of["missing"] == "spelled" and of["typed"] != "numbers"
                row[name] = "NA" if written else None


def roles(rng, of, rows, secret):
    """The schema."""
    columns = [name for name in ("ill", "pay") if name in rows[0]]
    schema = {"identifiers": ["pid"], "quasi_identifiers": ["zip", "age"]}
    if of["labels"] == "dates":
        schema["quasi_identifiers"] = ["came", "zip"]
    other = []
    if of["job"] not in ("none", "hidden"):
        other.append("job")
    if "sex" in rows[0]:
        place = rng.choice(["other", "other", "hidden", "qi"])
        if of["adversary"] in MANY:
            place = "qi" if of["method"] == "art" else "other"
        if place == "other":
            other.append("sex")
        elif place == "qi":
            schema["quasi_identifiers"].append("sex")
    if other:
        schema["other"] = other
    schema["sensitive"] = columns[0] if len(columns) == 1 else columns
    hierarchies = {}
    if of["labels"] in ("mask", "range", "intervals", "dates"):
        hierarchies["zip"] = {"mask": 5}
    if of["labels"] == "tree":
        tree = [["02139", "021", "East", "*"], ["02138", "021", "East", "*"]]
        hierarchies["zip"] = {
            "rows": [*tree, ["02215", "022", "East", "*"], ["94103", "941", "West", "*"]]
        }
    if of["labels"] == "intervals":
        hierarchies["age"] = {"intervals": [10, 20]}
    if of["labels"] == "dates":
        hierarchies["came"] = {"dates": ["month", "year"]}
    if of["secret"] == "label" and "ill" in columns:
        hierarchies["ill"] = {"rows": KINDS}
    if hierarchies:
        schema["hierarchies"] = hierarchies
    if "pay" in columns:
        schema["types"] = {"pay": "date" if of["typed"] == "dates" else "number"}
    if of["typed"] == "comma":
        schema["reading"] = {"decimal": ","}
    if of["semantics"] != "single":
        schema["person"] = "pid"
        schema["semantics"] = of["semantics"]
        if len(columns) > 1:
            schema["semantics"] = {"ill": of["semantics"]}
    if of["unit"] == "cases":
        schema |= {"person": "pid", "unit": "row"}
    if of["unit"] == "shared":
        schema["shared"] = {"by": "home", "values": [columns[-1]]}
    if of["missing"] == "label":
        schema["missing"] = {"label": "unknown"}
    elif of["missing"] == "drop":
        schema["missing"] = "drop"
    elif of["missing"] == "spelled":
        schema["reading"] = schema.get("reading", {}) | {"missing": ["NA"]}
        schema["missing"] = rng.choice(["drop", {"label": "unknown"}])
    for column in ruled_columns(of, rows[0]):
        rare = RARE if column == "ill" else rare_pay(of)
        rule = {"values": [rng.choice([rare, rare, "Ov*"]) if column == "ill" else rare]}
        rule["where"] = {"sex": ["m"]}
        if of["impossible"] == "conditions":
            rule["where"] = rng.choice(
                [{"sex": ["m"], "age": {"from": 30}}, {"sex": ["m"], "zip": ["02139", "02138"]}]
            )
        rules = [rule]
        if of["rules"] == "two":
            value = "Gout" if column == "ill" else first_pay(of)
            rules.append({"values": [value], "where": {"age": {"to": 29}}})
        for own in rules if len(columns) > 1 else ():
            own["sensitive"] = column
        schema.setdefault("impossible", []).extend(rules)
    return schema


def amounts(rng, of, most=2):
    """How much somebody knows."""
    drawn = {name: rng.choice([0, 0, 0, 1, 1, most]) for name in "lkm"}
    if of["amount"] == "links":
        drawn["m"] = rng.choice([1, most])
    if of["amount"] == "many":
        drawn = {"l": rng.choice([1, 2, 3]), "k": rng.choice([1, 2, 3]), "m": rng.choice([0, 1])}
    return drawn


def values_in(rows, column):
    """The values that somebody has, by their text."""
    results = set()
    for row in rows:
        own = row[column] if isinstance(row[column], list) else [row[column]]
        results |= {value for value in own if value not in (None, "NA")}
    return sorted(results)


def knowledge(rng, of, rows, secret, priors):
    """The adversary, or a criterion."""
    kind = of["adversary"]
    if kind == "facts":
        return {"facts": amounts(rng, of)}
    if kind in ("implications", "negations"):
        return {kind: {"k": rng.choice([0, 1, 1, 2])}}
    if kind == "criterion":
        of["adversary"] = kind = rng.choice([*CRITERIA])
    if kind in CRITERIA:
        return {"criterion": kind}
    values = [*values_in(rows, secret), *(["unknown"] if of["missing"] != "none" else [])]
    by = ["sex"]
    if of["method"] == "art" and of["labels"] != "dates" and rng.random() < 0.3:
        by = ["sex", "age"]
    for who in sorted({tuple(row[name] for name in by) for row in rows}):
        shares = [rng.randint(1, 6) for _ in values]
        for value, share in zip(values, shares, strict=True):
            if kind != "binary" and rng.random() < 0.03 and len(values) > 2:
                share = 0
            own = dict(zip(by, who, strict=True))
            chance = str(Fraction(share, sum(shares)))
            priors.append({**own, "value": value, "probability": chance})
    asked = {"priors": {"semantics": "binary" if kind == "binary" else "joint"}}
    if kind == "facts on priors":
        own = amounts(rng, of | {"amount": "few" if of["amount"] == "many" else of["amount"]}, 1)
        if rng.random() < 0.3:
            asked["priors"]["semantics"] = "binary"
        asked["facts"] = own if any(own.values()) else {"l": 1}
    return asked


def about(rng, of, rows, secret, widths):
    """The values that are hidden."""
    values, kind = values_in(rows, secret), of["secret"]
    if not values or kind == "every":
        return {}
    if kind == "value":
        return {"values": rng.sample(values, rng.randint(1, min(2, len(values))))}
    if kind == "except":
        return {"except": [rng.choice(values)]} if len(values) > 1 else {}
    if kind == "within":
        return {"within": rng.choice(widths)}
    if kind == "label" and secret == "ill":
        labels = {own for value, own, _ in KINDS if value in values}
        most = {"except": [rng.choice(sorted(labels))]} if len(labels) > 1 else {}
        return rng.choice([{"any_of": "few"}, {"any_of": "many"}, {"at_level": 1, **most}])
    if kind == "pattern" and secret == "ill":
        one = {"values": ["F*"]}, {"except": ["F*"]}, {"any_of": ["F*", "HIV"]}, {"any_of": ["F*"]}
        return rng.choice(one)
    if len(values) < 3:
        return {}
    if kind in ("any_of", "label", "pattern"):
        if secret == "pay" and of["typed"] != "dates" and rng.random() < 0.5:
            low, high = sorted(rng.sample([number_of(value) for value in values], 2))
            return {"any_of": {"low": {"to": number(low)}, "high": {"from": number(high)}}}
        return {"any_of": rng.sample(values, 2)}
    rest = rng.sample(values, len(values))
    return {"any_of": {"one": rest[:2], "other": rest[2:]}}


def number(amount):
    """A fraction as a policy may have it."""
    return int(amount) if amount.denominator == 1 else float(amount)


def known(rng, of, schema, secret):
    """The columns that are known of everybody."""
    if of["knowing"] == "default":
        return {}
    if of["knowing"] == "none":
        return {"knowing": []}
    columns = schema["sensitive"] if isinstance(schema["sensitive"], list) else []
    named = [name for name in columns if name != secret]
    named += ["job"] * (of["job"] != "none")
    named += [name for name in ("sex",) if name in schema.get("other", ())]
    return {"knowing": rng.sample(named, rng.randint(1, len(named)))} if named else {}


def options(rng, of, schema, rows):
    """The table [publish]."""
    publish = {"form": of["form"], "method": of["method"]}
    if of["format"] == "parquet":
        publish["format"] = "parquet"
    if of["columns"] == "unlinked":
        publish["unlinked"] = rng.choice([["ill"], ["pay"], ["ill", "pay"]])
    if of["rounding"] != "none" and of["typed"] != "dates" and "pay" in schema["sensitive"]:
        publish["round"] = {"pay": step_of(rows)}
    if of["job"] == "shuffled" and "job" in schema.get("other", ()):
        publish["unlinked"] = [*publish.get("unlinked", ()), "job"]
    if of["form"] == "generalized":
        lists = [
            name
            for name in schema["quasi_identifiers"]
            if name not in schema.get("hierarchies", {})
        ]
        style = "range" if of["labels"] == "range" else "exact"
        publish["labels"] = {name: style if name == "age" else "exact" for name in lists}
    if of["suppression"] != "none" and of["method"] in ("mondrian", "fulldomain"):
        publish[of["method"]] = {"suppression": rng.choice([0.2, 0.4])}
        if of["suppression"] == "cells":
            publish[of["method"]]["local_suppression"] = True
    return publish


STEPS = [Fraction(500), Fraction(10), Fraction(1), Fraction(1, 2), Fraction(1, 20)]


def step_of(rows):
    """The largest step of which every amount of money is a multiple."""
    amounts = [amount for row in rows if (amount := number_of(row["pay"] or "")) is not None]
    return next(
        number(step)
        for step in STEPS
        if all(not (amount / step).denominator - 1 for amount in amounts)
    )


def unrounded(case, rows):
    """A raw table of which `publish` rounds amounts of money to those of these rows."""
    step = Fraction(str(case.publish.get("round", {}).get("pay", 0)))
    if not step:
        return arrow(rows)
    rng, results = random.Random(case.seed), []
    for row in rows:
        comma = isinstance(row["pay"], str) and "," in row["pay"]
        amount = number_of(str(row["pay"]).replace(",", "."))
        own = dict(row)
        if amount is not None:
            away = 1 if amount > 0 else -1 if amount < 0 else 0  # halves are rounded away from 0
            part = rng.choice([0, 0, Fraction(1, 4), Fraction(-1, 4), Fraction(-away, 2)])
            if not part:
                results.append(own)
                continue
            text = f"{float(amount + step * part):.10f}".rstrip("0").rstrip(".")
            own["pay"] = float(text) if isinstance(row["pay"], float) else text
            if comma:
                own["pay"] = text.replace(".", ",") if "." in text else text + ",0"
        results.append(own)
    return arrow(results)


def population(rng, case):
    """Everybody's quasi-identifiers: the table's people, and others like them."""
    columns = case.schema["quasi_identifiers"]
    rows = [{name: row[name] for name in columns} for row in case.rows]
    more = [dict(rng.choice(rows)) for _ in range(rng.randint(0, len(rows)))]
    for row in more:  # somebody like nobody of the table, perhaps in a label
        if row.get("age") and rng.random() < 0.3:
            row["age"] = rng.choice([20, 30, 35, 60])
    return rows + more
