"""Who is counted where: from a raw table and, once there is one, the groups as they are written."""

from fractions import Fraction

from tests.crossings.definitions import OF_SIZES
from tests.crossings.worlds import Member

SHOWN = "shown once"


def text_of(value):
    return None if value is None else str(value)


def people_of(case, rows):
    """The rows that are published, by their numbers; missing and shared values as the schema says.

    The sensitive values of a row are a tuple: one of them where everybody has one.
    """
    schema, columns = case.schema, sensitives(case)
    label = schema.get("missing")
    label = label["label"] if isinstance(label, dict) else None
    found, seen = {}, set()
    for number, raw in enumerate(rows, start=1):
        row = dict(raw)
        for name in columns:
            own = row[name]
            if semantics_of(case, name) != "single":
                row[name] = tuple(own)
                continue
            if own in schema.get("reading", {}).get("missing", ()):
                own = None
            row[name] = (label if own is None else own,)
        if schema.get("missing") == "drop" and any(row[name] == (None,) for name in columns):
            continue
        if "shared" in schema:
            home = row["home"]
            row["home_shown"] = "here" if home not in seen else SHOWN
            seen.add(home)
            if row["home_shown"] == SHOWN:
                for name in schema["shared"]["values"]:
                    row[name] = (SHOWN,)
        found[number] = row
    return found


def sensitives(case):
    own = case.schema["sensitive"]
    return own if isinstance(own, list) else [own]


def semantics_of(case, name):
    own = case.schema.get("semantics", "single")
    return own.get(name, "single") if isinstance(own, dict) else own


def shared_in(case, name):
    return name in case.schema.get("shared", {}).get("values", ())


def published_beside(case):
    """The columns, beside the quasi-identifiers, that are published as they are."""
    shown = ["home_shown"] if "shared" in case.schema else []
    return [*case.schema.get("other", ()), *shown]


def known_of(case, place):
    """The columns that divide groups: what is known of everybody, and stands beside the secret.

    `place` is "raw", "owner" (of a release) or "files".
    """
    secret, others = case.secret, [name for name in sensitives(case) if name != case.secret]
    unlinked = case.publish.get("unlinked", ()) if place != "raw" else ()
    named = case.asked.get("knowing")
    if case.asked.get("criterion") in ("k_map", "delta_presence"):
        named = []  # of a population, no more is known than its columns
    if named is None:
        sizes = counts_sizes(case)
        named = [*published_beside(case), *([] if sizes else others)]
    if "shared" in case.schema and not counts_sizes(case):
        named = [*named, "home_shown"]  # everybody is taken to know it
    if place == "files":
        named = [name for name in named if name not in case.hidden]
    if place == "raw":
        return list(dict.fromkeys(named))
    bucketized = case.publish["form"] == "bucketized"
    if secret in unlinked and (bucketized or not counts_sizes(case)):
        return []
    if bucketized:
        named = [name for name in named if name in others]
    elif any(semantics_of(case, name) != "single" for name in sensitives(case)):
        singles = [name for name in others if semantics_of(case, name) == "single"]
        named = [
            name for name in named if name in singles and semantics_of(case, secret) == "single"
        ]
    return [name for name in dict.fromkeys(named) if name not in unlinked]


def counts_sizes(case):
    """Whether a criterion is asked that is about numbers of people."""
    return case.asked.get("criterion") in OF_SIZES


def conditions_met(where, row):
    """Whether a rule is about somebody."""
    for name, asked in where.items():
        if isinstance(asked, dict):
            own = Fraction(row[name])
            if own < asked.get("from", own) or own > asked.get("to", own):
                return False
        elif row[name] not in asked:
            return False
    return True


def ruled_beside(case, known, place):
    """The columns with rules that stand beside the secret, and of which nobody knows more."""
    unlinked = case.publish.get("unlinked", ()) if place != "raw" else ()
    if case.secret in unlinked:
        return []
    ruled = {rule.get("sensitive", case.secret) for rule in case.schema.get("impossible", ())}
    return sorted(ruled - {case.secret, *unlinked, *known})


def cannot_have(case, row, place, columns):
    """The values of some sensitive columns that somebody cannot have, as far as it is known."""
    found = set()
    for rule in case.schema.get("impossible", ()):
        if rule.get("sensitive", case.secret) not in columns:
            continue
        bare = case.schema.get("other", ())
        if case.publish["form"] == "bucketized":
            bare = [*bare, *case.schema["quasi_identifiers"]]
        if place == "files" and not {*rule["where"]} <= {*bare}:
            continue
        if conditions_met(rule["where"], row):
            found |= {*rule["values"]}
    return frozenset(found)


def priors_of(case, row):
    return tuple(
        (own["value"], Fraction(own["probability"]))
        for own in case.priors
        if own["sex"] == row["sex"]
    )


def groups_of(case, people, label_of, place, rules=None):
    """The groups of a requirement: lists of members, of everybody who shows the secret column.

    `rules` is the place where it is known who cannot have what; the same when left out.
    """
    known, found = known_of(case, place), {}
    beside = [] if counts_sizes(case) else ruled_beside(case, known, place)
    others = case.asked.get("knowing", published_beside(case))
    bare = [name for name in others if name in case.schema.get("other", ())]
    recognized = [*case.schema["quasi_identifiers"], *bare]
    for number, row in people.items():
        if row[case.secret] == (SHOWN,) and not counts_sizes(case):
            continue
        key = (label_of(number, row), *(row[name] for name in known))
        person = row["pid"] if case.schema.get("unit") == "row" and place != "files" else number
        member = Member(
            str(person),
            row[case.secret],
            cannot_have(case, row, rules or place, [case.secret]),
            priors_of(case, row) if case.priors else (),
            row.get("home", ""),
            tuple(text_of(row[name]) for name in recognized),
            tuple(row[name][0] for name in beside),
            cannot_have(case, row, rules or place, beside),
        )
        found.setdefault(key, []).append(member)
    return found


def raw_label(case):
    """In a raw table people with equal quasi-identifiers are a group."""
    return lambda number, row: tuple(
        text_of(row[name]) for name in case.schema["quasi_identifiers"]
    )


def secrets_of(case, groups):
    """The secrets that are asked about, by name: sets of values."""
    values = sorted({v for group in groups for member in group for v in member.values})
    asked = case.asked
    if "values" in asked:
        return {v: frozenset([v]) for v in asked["values"] if v in values}
    if "except" in asked:
        return {v: frozenset([v]) for v in values if v not in asked["except"]}
    if "any_of" in asked:
        sets = asked["any_of"] if isinstance(asked["any_of"], dict) else {"": asked["any_of"]}
        return {
            name: own
            for name, given in sets.items()
            if (own := frozenset(v for v in values if _is_in(v, given)))
        }
    if "within" in asked:
        return {f"{min(own)} ...": own for own in _windows(values, asked["within"])}
    return {v: frozenset([v]) for v in values}


def _is_in(value, given):
    if isinstance(given, dict):
        if not value.isdigit():
            return False
        own = Fraction(value)
        return given.get("from", own) <= own <= given.get("to", own)
    return value in given


def _windows(values, within):
    """The sets of numbers that lie in a window which begins at one of them; texts by themselves."""
    numbers = sorted({v for v in values if v.isdigit()}, key=int)
    found = {frozenset([v]) for v in values}
    for begin in numbers:
        low = Fraction(begin)
        high = low * Fraction(3, 2) if within == "50%" else low + within
        found.add(frozenset(v for v in numbers if low <= int(v) <= high))
    return sorted(found, key=sorted)
