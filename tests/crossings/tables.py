"""Tables and policies, drawn so that features meet: small uneven groups, few values."""

import random
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
from tests.crossings.definitions import CRITERIA

ILL = ["Flu", "Cold", "Gout", "HIV", "Burn"]
PAY = ["1000", "1500", "2000", "5000"]
JOBS = ["cook", "nurse"]
RARE = "Ovary"  # what men cannot have

PLAIN = {
    "unit": "person",
    "semantics": "single",
    "missing": "none",
    "impossible": "none",
    "columns": "one",
    "job": "none",
    "knowing": "default",
    "secret": "every",
    "adversary": "facts",
    "form": "generalized",
    "labels": "exact",
    "method": "mondrian",
    "suppression": "none",
    "releases": "one",
}
# What else a dimension may be, with how often; what is left is plain.
OTHERS = {
    "unit": {"cases": 0.12, "shared": 0.12},
    "semantics": {"set": 0.12, "multiset": 0.12},
    "missing": {"label": 0.08, "drop": 0.08, "spelled": 0.08},
    "impossible": {"own": 0.1, "beside": 0.06, "conditions": 0.06},
    "columns": {"linked": 0.15, "unlinked": 0.15},
    "job": {"other": 0.3, "hidden": 0.15},
    "knowing": {"none": 0.35, "named": 0.25},
    "secret": {"value": 0.15, "except": 0.1, "any_of": 0.15, "sets": 0.1, "within": 0.12},
    "adversary": {
        "implications": 0.1,
        "negations": 0.1,
        "priors": 0.12,
        "binary": 0.06,
        "facts on priors": 0.12,
        "criterion": 0.15,
    },
    "form": {"bucketized": 0.25},
    "labels": {"mask": 0.15, "tree": 0.15, "intervals": 0.15, "dates": 0.12, "range": 0.15},
    "method": {"fulldomain": 0.2, "anatomy": 0.05},
    "suppression": {"some": 0.15},
    "releases": {"after": 0.08},
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
    later: list = field(default_factory=list)  # rows of a table of newcomers

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
    """Uneven groups of two to seven people, twelve at most together."""
    sizes = [rng.choice([4, 5, 6, 7, 7])]
    while sum(sizes) < 11 and rng.random() < 0.65:
        sizes.append(rng.choice([2, 3, 4, 5, 6]))
    return sizes


def values_of(rng, size, names):
    """Values of a group: one is common, others are rare; or all alike."""
    names = rng.sample(names, rng.choice([2, 3, 4, 4, 5]) if len(names) > 4 else len(names))
    share = rng.choice([0, 0, 0.3, 0.6])
    even = [names[i % len(names)] for i in range(size)]
    return [names[0] if rng.random() < share else own for own in even]


KNOWLEDGE = [*OTHERS["adversary"]][:-1]
VALUES = [
    (name, value)
    for name, others in OTHERS.items()
    for value in (others if name != "adversary" else [*KNOWLEDGE, *CRITERIA])
]
PAIRS = [(one, other) for one, other in combinations(VALUES, 2) if one[0] != other[0]]


def drawn(seed):
    """The case of a seed: two features that meet and little else, or many features."""
    rng = random.Random(seed)
    if seed % 2:
        of = PLAIN | dict(PAIRS[seed // 2 % len(PAIRS)])
        if rng.random() < 0.3 and of["knowing"] == "default":
            of["knowing"] = "none"
        if rng.random() < 0.3 and of["secret"] == "every":
            of["secret"] = "value"
        complete(of)
        return made(rng, seed, of)
    of = choices(rng)
    if rng.random() < 0.9:
        settle(of)
    if of["adversary"] in MANY:
        facts = of["adversary"] == "facts on priors" and rng.random() < 0.5
        of["method"] = of["method"] if facts else "art"
        of["form"] = "bucketized" if not facts and rng.random() < 0.7 else of["form"]
    return made(rng, seed, of)


def complete(of):
    """Add to two features what they need to mean anything."""
    if of["knowing"] == "named" and of["columns"] == "one" and of["job"] == "none":
        of["job"] = "other"
    if of["semantics"] != "single" and of["secret"] == "within":
        of["columns"] = "linked" if of["columns"] == "one" else of["columns"]
    if of["impossible"] == "beside" and of["columns"] == "one":
        of["columns"] = "linked"
    if of["adversary"] in ("priors", "binary") and of["method"] == "mondrian":
        of["method"] = "art"
    if of["method"] in ("art", "anatomy") and of["labels"] == "exact":
        of["form"] = "bucketized"
    if of["suppression"] == "some" and of["method"] not in ("mondrian", "fulldomain"):
        of["suppression"] = "none"


def settle(of):
    """Leave out of the features what never goes together; one in ten cases is left as drawn."""
    by_priors = of["adversary"] in MANY
    if of["semantics"] != "single":
        plain(of, "missing", "unit", "impossible", "form", "method", "releases")
        of["adversary"] = "facts" if of["adversary"] != "criterion" else "criterion"
        of["secret"] = "every" if of["secret"] == "within" else of["secret"]
    elif by_priors:
        plain(of, "unit", "impossible", "method", "columns", "suppression", "releases")
        of["secret"] = "every" if of["secret"] == "within" else of["secret"]
    if of["unit"] == "shared":
        plain(of, "form", "columns" if of["columns"] == "unlinked" else "form", "releases")
        of["secret"] = "every" if of["secret"] == "within" else of["secret"]
    if of["unit"] == "cases":
        plain(of, "releases", "impossible" if of["adversary"] != "facts" else "unit")
    if of["impossible"] != "none":
        plain(
            of, "secret" if of["secret"] in ("within", "sets") else "method", "releases", "method"
        )
        of["adversary"] = (
            "facts" if of["adversary"] not in ("negations", "criterion") else of["adversary"]
        )
        if of["impossible"] == "beside":
            of["columns"] = "linked"
            of["knowing"] = "none" if of["knowing"] == "default" else of["knowing"]
    if of["adversary"] == "implications" and of["secret"] == "within":
        plain(of, "secret")
    if of["method"] == "anatomy":
        of["form"] = "bucketized"
        plain(of, "columns", "unit")
    if of["form"] == "bucketized":
        plain(of, "labels")
    if of["columns"] == "one" and of["knowing"] == "named" and of["job"] == "none":
        of["job"] = "other"


def plain(of, *names):
    for name in names:
        of[name] = PLAIN[name]


def made(rng, seed, of):
    """A case with these features, where they go together."""
    rows = people(rng, of)
    secret = "ill"
    if (of["columns"] != "one" and rng.random() < 0.5) or of["secret"] == "within":
        secret = "pay"
    if of["secret"] == "within" and of["columns"] == "one":
        for row in rows:
            row.pop("ill")
    schema = roles(rng, of, rows, secret)
    asked = {"sensitive": secret} if of["columns"] != "one" else {}
    priors = []
    asked |= knowledge(rng, of, rows, secret, priors)
    asked |= about(rng, of, rows, secret)
    asked |= known(rng, of, schema, secret)
    publish = options(rng, of, schema)
    case = Case(seed, of, rows, schema, asked, publish, secret, priors=priors)
    case.hidden = tuple(
        name for name in ("sex", "job") if name in rows[0] and not role(schema, name)
    )
    case.population = population(rng, case)
    if of["releases"] == "after":
        case.later = [dict(row) for row in people(rng, of)]
        for row in case.later:
            row["pid"] = "n" + row["pid"]
            if "home" in row:
                row["home"] = "n" + row["home"]
            for name in {*row} - {*rows[0]}:
                row.pop(name)
    return case


def role(schema, name):
    """Whether a column has a role that publishes it."""
    return name in schema["quasi_identifiers"] or name in schema.get("other", ())


def people(rng, of):
    """The rows of a raw table."""
    rows, zips, ages = [], ["02139", "02138", "02215", "94103"], [21, 24, 33, 38, 47, 52]
    days = ["2024-01-05", "2024-01-20", "2024-03-02", "2025-02-11"]
    needs_sex = of["impossible"] != "none" or of["adversary"] in MANY
    number = 0
    for size in sizes_of(rng):
        own = {"zip": rng.choice(zips), "age": rng.choice(ages)}
        if of["labels"] == "dates":
            own["came"] = rng.choice(days)
        ills, pays = values_of(rng, size, ILL), values_of(rng, size, PAY)
        for ill, pay in zip(ills, pays, strict=True):
            number += 1
            row = {"pid": f"p{number}x", **own}
            if needs_sex:
                row["sex"] = rng.choice("fm")
            if of["job"] != "none":
                row["job"] = rng.choice(JOBS)
            row["ill"] = ill
            if of["columns"] != "one" or of["secret"] == "within":
                row["pay"] = pay
            rows.append(row)
    if of["impossible"] != "none":
        column = "ill" if "pay" not in rows[0] or of["impossible"] != "beside" else "pay"
        for row in rows:
            if row["sex"] == "f" and rng.random() < 0.4:
                row[column] = RARE if column == "ill" else "9000"
    rng.shuffle(rows)
    if of["unit"] == "cases":
        for row in rows:
            row["pid"] = f"p{rng.randint(1, 2 * len(rows))}x"
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


def share(rows, of):
    """Let all of a household have one value of the last sensitive column."""
    column = "pay" if "pay" in rows[0] else "ill"
    first = {}
    for row in rows:
        row[column] = first.setdefault(row["home"], row[column])
    if of["impossible"] != "none":
        for row in rows:
            row["sex"] = "f" if row[column] in (RARE, "9000") else row["sex"]


def lists_of_values(rng, of, rows):
    """Let people have several values of `ill`, in lists."""
    if of["semantics"] == "single" or "ill" not in rows[0]:
        return
    for row in rows:
        more = [row["ill"]] + rng.choices(ILL[:3], k=rng.choice([0, 0, 1]))
        if of["semantics"] == "set":
            more = sorted(set(more))
        row["ill"] = [] if rng.random() < 0.25 else more[:2]


def gaps(rng, of, rows):
    """Let some sensitive values be missing."""
    if of["missing"] == "none" or of["semantics"] != "single":
        return
    columns = [name for name in ("ill", "pay") if name in rows[0]]
    for row in rows:
        for name in columns:
            if rng.random() < 0.15:
                row[name] = "NA" if of["missing"] == "spelled" else None


def roles(rng, of, rows, secret):
    """The schema."""
    columns = [name for name in ("ill", "pay") if name in rows[0]]
    schema = {"identifiers": ["pid"], "quasi_identifiers": ["zip", "age"]}
    if of["labels"] == "dates":
        schema["quasi_identifiers"] = ["came", "zip"]
    other = []
    if of["job"] == "other":
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
    if hierarchies:
        schema["hierarchies"] = hierarchies
    if "pay" in columns:
        schema["types"] = {"pay": "number"}
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
        schema["reading"] = {"missing": ["NA"]}
        schema["missing"] = rng.choice(["drop", {"label": "unknown"}])
    if of["impossible"] != "none":
        column = "ill" if "pay" not in rows[0] or of["impossible"] != "beside" else "pay"
        rule = {"values": [RARE if column == "ill" else "9000"], "where": {"sex": ["m"]}}
        if of["impossible"] == "conditions":
            rule["where"] = rng.choice(
                [{"sex": ["m"], "age": {"from": 30}}, {"sex": ["m"], "zip": ["02139", "02138"]}]
            )
        if len(columns) > 1:
            rule["sensitive"] = column
        schema["impossible"] = [rule]
    return schema


def amounts(rng, most=2):
    return {name: rng.choice([0, 0, 0, 1, 1, most]) for name in "lkm"}


def values_in(rows, column):
    """The values that somebody has, by their text."""
    found = set()
    for row in rows:
        own = row[column] if isinstance(row[column], list) else [row[column]]
        found |= {value for value in own if value not in (None, "NA")}
    return sorted(found)


def knowledge(rng, of, rows, secret, priors):
    """The adversary, or a criterion."""
    kind = of["adversary"]
    if kind == "facts":
        return {"facts": amounts(rng)}
    if kind in ("implications", "negations"):
        return {kind: {"k": rng.choice([0, 1, 1, 2])}}
    if kind == "criterion":
        of["adversary"] = kind = rng.choice([*CRITERIA])
    if kind in CRITERIA:
        return {"criterion": kind}
    values = [*values_in(rows, secret), *(["unknown"] if of["missing"] != "none" else [])]
    for sex in "fm":
        shares = [rng.randint(1, 6) for _ in values]
        for value, share in zip(values, shares, strict=True):
            if kind != "binary" and rng.random() < 0.03 and len(values) > 2:
                share = 0
            chance = Fraction(share, sum(shares))
            priors.append({"sex": sex, "value": value, "probability": str(chance)})
    asked = {"priors": {"semantics": "binary" if kind == "binary" else "joint"}}
    if kind == "facts on priors":
        own = amounts(rng, 1)
        if rng.random() < 0.3:
            asked["priors"]["semantics"] = "binary"
        asked["facts"] = own if any(own.values()) else {"l": 1}
    return asked


def about(rng, of, rows, secret):
    """The values that are hidden."""
    values, kind = values_in(rows, secret), of["secret"]
    if not values or kind == "every":
        return {}
    if kind == "value":
        return {"values": rng.sample(values, rng.randint(1, min(2, len(values))))}
    if kind == "except":
        return {"except": [rng.choice(values)]} if len(values) > 1 else {}
    if kind == "within":
        return {"within": rng.choice([500, 1000, "50%"])}
    if len(values) < 3:
        return {}
    if kind == "any_of":
        if secret == "pay" and rng.random() < 0.4:
            return {"any_of": {"low": {"to": 1500}}}
        return {"any_of": rng.sample(values, 2)}
    rest = rng.sample(values, len(values))
    return {"any_of": {"one": rest[:2], "other": rest[2:]}}


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


def options(rng, of, schema):
    """The table [publish]."""
    publish = {"form": of["form"], "method": of["method"]}
    if of["columns"] == "unlinked":
        publish["unlinked"] = rng.choice([["ill"], ["pay"], ["ill", "pay"]])
    if of["form"] == "generalized":
        lists = [
            name
            for name in schema["quasi_identifiers"]
            if name not in schema.get("hierarchies", {})
        ]
        style = "range" if of["labels"] == "range" else "exact"
        publish["labels"] = {name: style if name == "age" else "exact" for name in lists}
    if of["suppression"] == "some" and of["method"] in ("mondrian", "fulldomain"):
        publish[of["method"]] = {"suppression": rng.choice([0.2, 0.4])}
    return publish


def population(rng, case):
    """Everybody's quasi-identifiers: the table's people, and others like them."""
    columns = case.schema["quasi_identifiers"]
    rows = [{name: row[name] for name in columns} for row in case.rows]
    more = [dict(rng.choice(rows)) for _ in range(rng.randint(0, len(rows)))]
    return rows + more
