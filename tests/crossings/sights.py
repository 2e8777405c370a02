"""Who is counted where: from a raw table and, once there is one, the groups as they are written."""

from fnmatch import fnmatchcase
from fractions import Fraction

from tests.crossings.definitions import OF_POPULATION, OF_SIZES, number_of
from tests.crossings.worlds import Member

SHOWN = "shown once"


def text_of(value):
    return None if value is None else str(value)


def plain_value(case, name, own):
    """A sensitive value as it is published: a number in one spelling."""
    if own is None or "types" not in case.schema or name not in case.schema["types"]:
        return own
    text = str(own)
    if case.schema.get("reading", {}).get("decimal") == ",":
        text = text.replace(",", ".")
    amount = number_of(text)
    if amount is None or "-" in text[1:] or isinstance(own, float):
        return text  # a float as it prints
    return str(int(amount)) if amount.denominator == 1 else text.rstrip("0")


def people_of(case, rows):
    """The rows that are published, by their numbers; missing and shared values as the schema says.

    The sensitive values of a row are a tuple: one of them where everybody has one.
    """
    schema, columns = case.schema, sensitives(case)
    label = schema.get("missing")
    label = label["label"] if isinstance(label, dict) else None
    results, seen = {}, set()
    for number, raw in enumerate(rows, start=1):
        row = dict(raw)
        for name in columns:
            own = row[name]
            if semantics_of(case, name) != "single":
                row[name] = tuple(sorted(own))  # a bag, whatever its order
                continue
            if own in schema.get("reading", {}).get("missing", ()):
                own = None
            row[name] = (label if own is None else plain_value(case, name, own),)
        if schema.get("missing") == "drop" and any(row[name] == (None,) for name in columns):
            continue
        if "shared" in schema:
            home = row["home"]
            row["home_shown"] = "here" if home not in seen else SHOWN
            seen.add(home)
            if row["home_shown"] == SHOWN:
                for name in schema["shared"]["values"]:
                    row[name] = (SHOWN,)
        results[number] = row
    return results


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
    if case.asked.get("criterion") in OF_POPULATION:
        named = []  # of a population, no more is known than its columns
    if named is None:
        sizes = counts_sizes(case)
        named = [*published_beside(case), *([] if sizes else others)]
    if "shared" in case.schema and not counts_sizes(case):
        named = [*named, "home_shown"]  # everybody is taken to know it
    if place == "files":
        named = [name for name in named if name not in case.hidden]
    if place == "counts":
        return []
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


def rules_on(case, place, columns):
    """The rules on some sensitive columns, as far as it is known whom they are about."""
    bare = case.schema.get("other", ())
    if case.publish["form"] == "bucketized":
        bare = [*bare, *case.schema["quasi_identifiers"]]
    every = case.schema.get("impossible", ())
    rules = [rule for rule in every if rule.get("sensitive", case.secret) in columns]
    if place == "files" and not all({*rule["where"]} <= {*bare} for rule in rules):
        return []  # then all of them are the publisher's word
    return rules


def cannot_have(case, row, rules, name):
    """The values of a sensitive column that somebody cannot have, by some rules."""
    results = set()
    for rule in rules:
        if rule.get("sensitive", case.secret) == name and conditions_met(rule["where"], row):
            results |= {*rule["values"]}
    if any("*" in result for result in results):  # such as Ov*
        every = {row[name] for row in case.rows if isinstance(row[name], str)}
        results = {value for value in every if _is_in(value, results)}
    return frozenset(results)


def priors_of(case, row):
    return tuple(
        (prior["value"], Fraction(prior["probability"]))
        for prior in case.priors
        if all(prior[name] == row[name] for name in prior if name not in ("value", "probability"))
    )


def groups_of(case, people, label_of, place, rules=None):
    """The groups of a requirement: lists of members, of everybody who shows the secret column.

    `rules` is the place where it is known who cannot have what; the same when left out.
    """
    known, results = known_of(case, place), {}
    beside = [] if counts_sizes(case) else ruled_beside(case, known, place)
    every_rule = rules_on(case, rules or place, [case.secret, *beside])
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
            cannot_have(case, row, every_rule, case.secret),
            priors_of(case, row) if case.priors else (),
            row.get("home", ""),
            tuple(text_of(row[name]) for name in recognized),
            tuple(next(iter(row[name]), "") for name in beside),
            frozenset().union(*(cannot_have(case, row, every_rule, name) for name in beside)),
        )
        results.setdefault(key, []).append(member)
    return results


def raw_label(case):
    """In a raw table people with equal quasi-identifiers are a group."""
    return lambda number, row: tuple(
        text_of(row[name]) for name in case.schema["quasi_identifiers"]
    )


def secrets_of(case, groups):
    """The secrets that are asked about, by name: sets of values."""
    values = sorted({v for group in groups for member in group for v in member.values})
    asked, tree = case.asked, case.schema.get("hierarchies", {}).get("ill", {}).get("rows", ())
    labels = {}  # of a hierarchy of the sensitive column, in which no label is below two others
    for value, label, _ in tree:
        if value in values:
            labels.setdefault(label, set()).add(value)
    if "values" in asked:
        return {v: frozenset([v]) for v in values if _is_in(v, asked["values"])}
    if "at_level" in asked:
        left_out = asked.get("except", ())
        return {name: frozenset(label) for name, label in labels.items() if name not in left_out}
    if "except" in asked:
        return {v: frozenset([v]) for v in values if not _is_in(v, asked["except"])}
    if isinstance(asked.get("any_of"), str):
        own = labels.get(asked["any_of"])
        return {asked["any_of"]: frozenset(own)} if own else {}
    if "any_of" in asked:
        sets = asked["any_of"] if isinstance(asked["any_of"], dict) else {"": asked["any_of"]}
        return {
            name: own
            for name, given in sets.items()
            if (own := frozenset(v for v in values if _is_in(v, given)))
        }
    if "within" in asked:
        return {" ".join(sorted(window)): window for window in _windows(values, asked["within"])}
    return {v: frozenset([v]) for v in values}


def _is_in(value, given):
    """Whether a value is one of a list, begins as one of its patterns says, or is in a range."""
    if isinstance(given, dict):
        amount = number_of(value)
        if amount is None:
            return False
        low, high = (Fraction(given[end]) if end in given else amount for end in ("from", "to"))
        return low <= amount <= high
    return any(value == own or (own[-1] == "*" and fnmatchcase(value, own)) for own in given)


def _windows(values, within):
    """The sets of numbers that lie in a window which begins at one of them; texts by themselves."""
    amounts = {v: amount for v in values if (amount := number_of(v)) is not None}
    results = {frozenset([v]) for v in values}
    wide = str(within).removesuffix("days").removesuffix("day").strip()
    for low in amounts.values():
        if wide.endswith("%"):
            times = 1 + Fraction(wide[:-1]) / 100
            high = low * times if low >= 0 else low / times
        else:
            high = low + Fraction(wide)
        results.add(frozenset(v for v, amount in amounts.items() if low <= amount <= high))
    return sorted(results, key=sorted)
