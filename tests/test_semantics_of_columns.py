"""Several sensitive columns, of which a person may have several values: counted and published."""

import csv
import json
import random
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.many_worlds import worlds as many_worlds
from tests.oracle.sights import joint_bags, joint_worlds
from tests.oracle.worlds import worlds

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import CertificateError, DataError, PolicyError, UnsupportedError

bags = st.lists(st.sampled_from("ab"), max_size=2)
person = st.fixed_dictionaries(
    {"ill": bags, "drug": bags, "pay": st.sampled_from("12"), "job": st.sampled_from("xy")}
)
releases = st.lists(st.lists(person, min_size=1, max_size=3), min_size=1, max_size=2)
sights = st.tuples(
    st.sampled_from(["ill", "drug", "pay"]),
    st.one_of(st.none(), st.sets(st.sampled_from(["ill", "drug", "pay", "job"]))),
)
SETS = {"ill": "set", "drug": "set"}
BAGS = {"ill": "multiset", "drug": "set"}


def as_sets(groups, semantics):
    """What a person has, in one order; of a set, each value once."""

    def own(name, values):
        if name in semantics:
            return sorted(set(values) if semantics[name] == "set" else values)
        return values

    return [[{name: own(name, p[name]) for name in p} for p in rows] for rows in groups]


def listed(groups):
    """One row per person, with lists."""
    table = defaultdict(list)
    for number, rows in enumerate(groups):
        for row in rows:
            table["qi"].append(str(number))
            for name, value in row.items():
                table[name].append(value)
    kinds = {name: pa.list_(pa.string()) for name in ("ill", "drug")}
    return pa.table({n: pa.array(of, kinds.get(n, pa.string())) for n, of in table.items()})


def long(groups):
    """A row for each value, in which others are empty or repeated; rows in any order."""
    draw, rows = random.Random(str(groups)), []
    for number, members in enumerate(groups):
        for place, p in enumerate(members):
            for i in range(max(len(p["ill"]), len(p["drug"]), 1)):
                row = {"pid": f"{number}-{place}", "qi": str(number)}
                row |= {name: p[name] for name in ("pay", "job")}
                for name in SETS:
                    spare = draw.choice([None, *p[name]])
                    row[name] = p[name][i] if i < len(p[name]) else spare
                rows.append(row)
    draw.shuffle(rows)
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in rows[0]})


@examples(3000, daily=60, deadline=None)
@given(releases, sights, st.sampled_from([SETS, BAGS]))
def test_worlds_are_those_of_the_groups_that_are_counted(groups, sight, semantics):
    groups, (secret, knowing) = as_sets(groups, semantics), sight
    beside = [name for name in ("ill", "drug", "pay", "job") if name != secret]
    known = beside if knowing is None else [name for name in beside if name in knowing]
    how = {"sensitive": ["ill", "drug", "pay"], "other": ["job"], "semantics": semantics}
    opened = [fk.Release.from_generalized(listed(groups), quasi_identifiers=["qi"], **how)]
    if semantics is SETS:
        table = long(groups)
        opened.append(
            fk.Release.from_generalized(table, quasi_identifiers=["qi"], person="pid", **how)
        )
    own = semantics.get(secret, "single")
    truth = (
        joint_worlds(groups, secret, known)
        if own == "single"
        else joint_bags(groups, secret, known, own)
    )
    for release in opened:
        if not any(row[secret] for rows in groups for row in rows):
            continue
        counts = release.seen(secret, None if knowing is None else known).counts
        assert counts.semantics == own
        columns = ["qi", *release.layout.seen(secret, None if knowing is None else known).known]
        labels = [label if isinstance(label, tuple) else (label,) for label in counts.groups]
        rank = {label: g for g, label in enumerate(labels)}
        everybody = [
            {"qi": str(number), **row} for number, rows in enumerate(groups) for row in rows
        ]
        key = [
            tuple(json.dumps(row[c]) if c in semantics else row[c] for c in columns)
            for row in everybody
        ]
        assert Counter(key) == dict(zip(labels, counts.sizes.tolist(), strict=True))
        order = sorted(range(len(key)), key=lambda i: rank[key[i]])
        found = Counter()
        for world, times in truth.items():
            found[tuple(world[i] for i in order)] += times
        counted = [list(Counter(counts.bag(g)).elements()) for g in range(counts.n_groups)]
        sized = [(int(n), tuple(bag)) for n, bag in zip(counts.sizes, counted, strict=True)]
        every = Counter(worlds(counted)) if own == "single" else many_worlds(sized, own)
        ways, total = every.total(), found.total()
        assert found.keys() == every.keys()
        assert all(times * ways == every[world] * total for world, times in found.items())
        asked = fk.Requirement(
            fk.Facts(0),
            below="1/2",
            sensitive=secret,
            knowing=None if knowing is None else known,
        )
        (verdict,) = fk.audit(release, fk.Policy([asked])).verdicts
        total = sum(truth.values())
        chance = Counter()
        for world, times in truth.items():
            for i, has in enumerate(world):
                for value in has if own != "single" else [has]:
                    chance[i, value] += times
        worst = max((Fraction(n, total) for n in chance.values()), default=Fraction(0))
        assert verdict.disclosure.exact == worst
        assert verdict.safe == (worst < Fraction(1, 2))


def register(n=240, seed=1, twice=False):
    draw, rows = random.Random(seed), []
    for p in range(n):
        own = draw.sample(["flu", "hiv", "cold", "gout"], draw.choice([0, 1, 1, 2]))
        own += own[:1] * (twice and draw.random() < 0.3)
        shared = {
            "pid": f"p{p}",
            "age": draw.randint(20, 59),
            "pay": draw.choice(["low", "mid", "high"]),
            "race": draw.choice("abc"),
            "job": draw.choice("xy"),
        }
        rows += [{**shared, "ill": value} for value in own or [None]]
    draw.shuffle(rows)
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def schema(semantics=None, **more):
    return fk.Schema(
        quasi_identifiers=["age"],
        sensitive=["ill", "pay", "race"],
        semantics=semantics or {"ill": "set"},
        person="pid",
        other=["job"],
        hierarchies={"age": {"intervals": [5, 10, 20]}},
        **more,
    )


def read(folder, part):
    with (folder / f"{part}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("form", ["generalized"])
@pytest.mark.parametrize("how", ["set", "multiset"])
def test_published_files_hold_for_each_column_by_its_own_semantics(method, form, how, tmp_path):
    table = register(twice=how == "multiset")
    asked = [
        fk.Requirement(fk.Facts(0), below="9/10", sensitive="ill", knowing=["pay"]),
        fk.Requirement(fk.Facts(0), below="9/10", sensitive="pay"),
        fk.Requirement(fk.Facts(0), below="9/10", sensitive="race", knowing=[]),
        fk.Requirement(fk.KAnonymity(4) if form == "generalized" else fk.GroupSize(4), knowing=[]),
    ]
    rules = fk.Policy(asked, schema({"ill": how}), fk.PublishOptions(form=form))
    made = fk.publish(fk.Microdata(table, rules.schema), rules, method=method, seed=1)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    fk.verify(tmp_path / "out", rules)
    assert fk.audit(tmp_path / "out", rules).safe
    groups = ["age"] if form == "generalized" else ["group"]
    people = Counter(tuple(row[g] for g in groups) for row in read(tmp_path / "out", "people"))
    assert sum(people.values()) == 240
    assert min(people.values()) >= 4
    linked, apart = read(tmp_path / "out", "sensitive"), read(tmp_path / "out", "sensitive2")
    assert set(linked[0]) == {*groups, "pay", "race", "count"}
    assert set(apart[0]) == {*groups, "ill", "count"}
    worst = dict.fromkeys(("ill", "pay", "race"), Fraction(0))
    counted = Counter()
    for row in apart:  # what is published apart is not divided by what is known
        group, count = tuple(row[g] for g in groups), int(row["count"])
        counted["ill", row["ill"]] += count
        size = people[group]
        chance = Fraction(count, size) if how == "set" else 1 - Fraction(size - 1, size) ** count
        worst["ill"] = max(worst["ill"], chance)
    for secret, known in (("pay", ["race"]), ("race", [])):
        cells = defaultdict(Counter)
        for row in linked:
            label = tuple(row[name] for name in (*groups, *known))
            cells[label][row[secret]] += int(row["count"])
            counted[secret, row[secret]] += int(row["count"])
        for cell in cells.values():
            worst[secret] = max(worst[secret], Fraction(max(cell.values()), cell.total()))
    for verdict in made.audit.verdicts:
        if verdict.of_groups:
            continue
        assert verdict.disclosure.exact == worst[verdict.requirement.sensitive] < Fraction(9, 10)
    once = {row["pid"]: row for row in table.to_pylist()}
    for name, rows in (("ill", table.to_pylist()), ("pay", once.values()), ("race", once.values())):
        for value, count in Counter(row[name] for row in rows if row[name]).items():
            assert counted[name, value] == count


def test_a_search_over_sets_and_single_values_finds_as_much_as_over_each(tmp_path):
    """Each requirement alone allows at least the groups that all together do."""
    table, asked = register(400), []
    asked.append(fk.Requirement(fk.Facts(1, 1, 1), below="9/10", sensitive="ill"))
    asked.append(fk.Requirement(fk.Facts(1, 1, 1), below="9/10", sensitive="pay"))
    both = fk.publish(table, fk.Policy(asked, schema()), seed=1).audit
    alone = [fk.publish(table, fk.Policy([one], schema()), seed=1).audit for one in asked]
    assert 1 < both.counts.n_groups <= min(each.counts.n_groups for each in alone)
    roles = fk.Schema(
        quasi_identifiers=["age"],
        sensitive="ill",
        semantics="set",
        person="pid",
        hierarchies={"age": {"intervals": [5, 10, 20]}},
    )
    (required,) = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="9/10")], roles).requirements
    only = fk.publish(table, fk.Policy([required], roles), seed=1).audit
    assert only.counts.n_groups == alone[0].counts.n_groups


def test_a_certificate_that_lies_about_semantics_is_refused(tmp_path):
    asked = [fk.Requirement(fk.Facts(0), below="9/10", sensitive="ill")]
    fk.publish(register(), fk.Policy(asked, schema()), seed=1).write(tmp_path / "out")
    place = tmp_path / "out" / "certificate.json"
    text = place.read_text()
    for said in ('"multiset"', '"single"', '"set"', '{"pay": "set"}', '{"ill": "sets"}', "{}"):
        table = json.loads(text)
        table["release"]["semantics"] = json.loads(said)
        table["policy"]["schema"]["semantics"] = json.loads(said)
        place.write_text(json.dumps(table))
        with pytest.raises(CertificateError):
            fk.verify(tmp_path / "out")
    place.write_text(text)
    assert fk.verify(tmp_path / "out").semantics == {"ill": "set"}


def test_in_a_table_what_stands_beside_a_set_is_known_of_everybody():
    table = pa.table(
        {
            "age": ["20"] * 4,
            "pid": ["1", "2", "3", "4"],
            "ill": [["hiv"], ["hiv"], ["flu"], []],
            "job": ["x", "x", "y", "y"],
        }
    )
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["job"]}
    release = fk.Release.from_generalized(table, person="pid", semantics="set", **roles)
    policy = fk.Policy([fk.Requirement(fk.Facts(0), below="3/4")])
    assert fk.audit(release, policy).verdicts[0].disclosure.exact == 1  # those with job x
    nobody = fk.Policy([fk.Requirement(fk.Facts(0), below="3/4", knowing=[])])
    found = fk.audit(release, nobody)
    assert found.verdicts[0].disclosure.exact == Fraction(1, 2)
    assert found.scope.assumed == {"ill": ("job",)}


def test_rows_of_one_person_agree_in_what_has_one_value():
    table = pa.table({"age": [1, 1], "pid": [7, 7], "ill": ["flu", "hiv"], "pay": ["low", "mid"]})
    roles = fk.Schema(
        quasi_identifiers=["age"],
        sensitive=["ill", "pay"],
        semantics={"ill": "set"},
        person="pid",
    )
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=1, sensitive="pay")], roles)
    with pytest.raises(DataError, match=r"'low'.*'mid'"):
        fk.audit(table, rules)
    with pytest.raises(DataError, match=r"'low'.*'mid'"):
        fk.publish(table, rules)


def test_what_is_not_served_is_refused_with_what_would_work():
    with pytest.raises(SchemaError, match=r"'il'.*'ill'"):
        schema({"il": "set"})
    with pytest.raises(SchemaError, match="'sets'"):
        schema({"ill": "sets"})
    assert schema("set").semantics == {"ill": "set", "pay": "set", "race": "set"}
    assert schema({"ill": "single"}).semantics == "single"
    both = {"ill": "multiset", "pay": "set"}
    asked = fk.Requirement(fk.Facts(), below=1, sensitive="ill")
    with pytest.raises(SchemaError, match="give lists, one row per person"):
        fk.publish(register(), fk.Policy([asked], schema(both)))
    with pytest.raises(SchemaError, match="needs person = "):
        _ = (
            fk.Release.from_generalized(
                register().drop_columns(["pid"]),
                quasi_identifiers=["age"],
                sensitive=["ill", "pay"],
                semantics={"ill": "set"},
            )
            .seen("ill")
            .counts
        )
    for method in ("anatomy", "art", "safe"):
        with pytest.raises(
            (UnsupportedError, PolicyError),
            match=r"several|priors|one value each",
        ):
            fk.publish(register(), fk.Policy([asked], schema()), method=method)
    windows = fk.Requirement(fk.Facts(), below="1/2", sensitive="ill", any_of=["flu", "hiv"])
    with pytest.raises(UnsupportedError, match="set"):
        fk.publish(register(), fk.Policy([windows], schema()))


def test_a_policy_file_says_it(tmp_path):
    (tmp_path / "p.toml").write_text(
        """[schema]
quasi_identifiers = ["age"]
sensitive = ["ill", "pay"]
semantics = { ill = "set" }
person = "pid"

[[require]]
sensitive = "ill"
facts = { l = 0 }
below = 0.9
"""
    )
    policy = fk.Policy.load(tmp_path / "p.toml")
    assert policy.schema.several == {"ill": "set"}
    assert fk.Policy.from_dict(policy.to_dict()).to_dict() == policy.to_dict()
    made = fk.publish(register(), policy, seed=1)
    made.audit.to_html(tmp_path / "a.html")
    words = (tmp_path / "a.html").read_text()
    assert "several of the values of ill, each once, or none (set)" in words


@pytest.mark.parametrize("name", ["ill", "pay"])
def test_k_anonymity_counts_people_who_look_alike_by_all_that_is_known(name):
    table = register()
    asked = fk.Requirement(fk.KAnonymity(2), knowing=[name])
    roles = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"], "person": "pid"}
    release = fk.Release.from_generalized(table, semantics={"ill": "set"}, **roles)
    (found,) = fk.audit(release, fk.Policy([asked])).criteria
    persons = defaultdict(set)
    for row in table.to_pylist():
        persons[row["pid"], row["age"], row["pay"]].add(row["ill"])
    alike = Counter((p[1], p[2] if name == "pay" else frozenset(has)) for p, has in persons.items())
    assert found.reached == min(alike.values())
    one = fk.Release.from_generalized(
        table, quasi_identifiers=["age"], sensitive="ill", person="pid", semantics="set"
    )
    if name == "ill":
        assert fk.audit(one, fk.Policy([asked])).criteria[0].found == found.found


@pytest.mark.parametrize("order", [["ill", "pay"], ["pay", "ill"]])
def test_groups_in_which_nobody_has_any_are_said_of_that_column_whichever_is_first(order, tmp_path):
    table = pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(12)],
            "age": [1] * 6 + [50] * 6,
            "ill": [[]] * 6 + [["Flu"], []] * 3,
            "pay": ["low", "high"] * 6,
        }
    )
    roles = fk.Schema(
        person="name", quasi_identifiers=["age"], sensitive=order, semantics={"ill": "set"}
    )
    rules = [fk.Requirement(fk.Facts(), "9/10", sensitive=name, knowing=[]) for name in order]
    fk.publish(table, fk.Policy(rules, roles), labels={"age": "exact"}).save(tmp_path / "out")
    said = "6 people are in groups in which nobody has any ill: that they have none can be read"
    written = fk.audit(tmp_path / "out", fk.Policy(rules))
    for found in (fk.audit(table, fk.Policy(rules, roles)), written):
        notes = [note for note in found.notes if "nobody has any" in note]
        assert notes == [f"{said} from the release."]
    assert fk.verify(tmp_path / "out").scope.without == {"ill": 6}


def test_a_set_of_which_nobody_has_anything_is_audited():
    table = pl.DataFrame(
        {"name": ["a", "b"], "age": [1, 1], "ill": [None, None], "pay": ["x", "y"]},
        schema_overrides={"ill": pl.List(pl.String)},
    )
    for sensitive, semantics in (("ill", "set"), (["pay", "ill"], {"ill": "set"})):
        roles = fk.Schema(
            person="name", quasi_identifiers=["age"], sensitive=sensitive, semantics=semantics
        )
        rule = fk.Requirement(fk.Facts(1, 1, 1), "1/2", sensitive="ill")
        (verdict,) = fk.audit(table, fk.Policy([rule], roles)).verdicts
        assert (verdict.value, verdict.disclosure.exact, verdict.safe) == (None, 0, True)
